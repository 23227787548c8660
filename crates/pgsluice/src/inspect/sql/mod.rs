//! The statements of an audit.

pub(crate) mod audit;
