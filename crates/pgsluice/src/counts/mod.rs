//! What became of rows: counted, compared and said.

pub(crate) mod fallbacks;
pub(crate) mod first_row;
pub(crate) mod outcome;
pub(crate) mod reconcile;
pub mod summary;
pub mod words;
