//! Buckets: gathers the rows of each node, and chooses which rows go next.

pub(crate) mod bucketing;
pub(crate) mod filler;
pub(crate) mod message;
pub(crate) mod queue;
pub(crate) mod write;

pub(crate) mod conflicts;
mod evidence;
mod first;
mod landing;
mod payload_size;
mod shared_evidence;
mod waiting;
