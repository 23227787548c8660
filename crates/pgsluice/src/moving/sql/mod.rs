//! SQL of the moves.

pub(super) mod ddl;
pub(super) mod definitions;
pub(super) mod locks;
pub(super) mod preflight;
pub(super) mod values;
