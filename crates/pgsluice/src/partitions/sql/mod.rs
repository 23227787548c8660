//! The statements that make partitions and drop them, and the questions about their bounds.

mod arithmetic;
pub(crate) mod drops;
mod series;
pub(crate) mod steps;
