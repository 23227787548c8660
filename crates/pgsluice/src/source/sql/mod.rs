//! The SQL of inputs.

pub(super) mod relation;
