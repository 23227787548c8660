//! Where payloads go. So far there is one end, [`copy`]: a COPY into the payload's node.

pub(crate) mod copy;
mod lines;
pub(crate) mod refusal;
