//! The statements of a move.

pub(super) mod definitions;
pub(super) mod preflight;
pub(super) mod values;
