//! Where payloads go: [`copy`], a COPY into the payload's node or into the table that is built for it, or
//! [`null`].

pub(crate) mod flow;

mod chunk_size;
mod context;
pub(crate) mod copy;
mod failure;
mod flush;
mod held;
mod judge;
mod key;
mod lines;
mod message;
pub(crate) mod null;
mod recheck;
pub(crate) mod refusal;
mod salvage;
mod writer;
