//! Finds the node of each row.

pub(crate) mod remote;
pub(crate) mod routing;
