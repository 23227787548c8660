//! SQL that reads inputs.

pub(super) mod relation;
