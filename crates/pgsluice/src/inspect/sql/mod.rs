//! Statements of an audit.

pub(crate) mod audit;
