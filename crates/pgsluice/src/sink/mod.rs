//! Where payloads go: [`copy`], a COPY into the payload's node or into the table that is built for it, or
//! [`null`].

pub(crate) mod flow;

mod context;
pub(crate) mod copy;
mod failure;
mod flush;
mod gap;
mod held;
mod key;
mod lines;
pub(crate) mod null;
pub(crate) mod refusal;
mod salvage;
mod still;
mod stretch;
mod writer;
