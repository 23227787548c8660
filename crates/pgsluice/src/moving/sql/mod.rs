//! Statements of moves.

pub(super) mod ddl;
pub(super) mod definitions;
pub(super) mod drain;
pub(super) mod follow;
pub(super) mod locks;
pub(super) mod log;
pub(super) mod preflight;
pub(super) mod referring;
pub(super) mod values;
