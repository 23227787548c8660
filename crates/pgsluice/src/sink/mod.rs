//! Where payloads go. So far there is one end, [`copy`]: a COPY into the payload's node, or into the
//! table that is built for it.

pub(crate) mod copy;
mod lines;
pub(crate) mod refusal;
