//! The statements of a writer.

pub(crate) mod incarnation;
pub(crate) mod insert;
