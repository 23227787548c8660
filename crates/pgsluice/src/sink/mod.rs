//! Where payloads go: [`copy`], a COPY into the payload's node or the table that is built for it, or
//! [`null`].

pub(crate) mod copy;
mod lines;
pub(crate) mod null;
mod refusal;
pub(crate) use refusal::{lost, moved};
mod stretch;
