//! Statements that create and drop partitions, and queries about their bounds.

mod arithmetic;
pub(crate) mod drops;
mod series;
pub(crate) mod steps;
