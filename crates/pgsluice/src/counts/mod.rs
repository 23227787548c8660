//! The outcome of rows: counting, reconciliation and the summary.

pub(crate) mod fallbacks;
pub(crate) mod first_row;
pub(crate) mod outcome;
pub(crate) mod reconcile;
pub mod summary;
pub mod words;
