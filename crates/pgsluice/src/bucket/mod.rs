//! Gathers the rows of each node, and chooses which go next.

pub(crate) mod bucketing;
pub(crate) mod queue;
