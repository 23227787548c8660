//! Where payloads go: [`copy`], a COPY into the payload's node, or [`null`].

pub(crate) mod copy;
mod lines;
pub(crate) mod null;
mod refusal;
pub(crate) use refusal::lost;
mod stretch;
