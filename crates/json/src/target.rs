//! The columns that keys of objects belong to.

use std::sync::Arc;

use pgsluice_core::types::Column;
use pgsluice_core::words::Words;

use crate::copy::{DEFAULT, NULL};
use crate::shape::ValueShape;

/// A column of the rows, and the key of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTarget {
    /// The key, which belongs to only this column.
    pub key: String,
    /// The column.
    pub column: Column,
    /// Value of the column in an object that lacks the key.
    pub missing: MissingKey,
}

/// Value of a column in an object that lacks its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingKey {
    /// NULL.
    Null,
    /// [`DEFAULT`]. COPY rejects it for a column that has no default.
    Default,
    /// The line is rejected.
    Refused(Arc<MissingKeyReason>),
}

/// The reason for rejecting a line that lacks a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingKeyReason {
    /// The words after "the key is missing, and".
    pub why: String,
    /// Hint for the user.
    pub hint: Words,
}

impl MissingKey {
    pub(crate) fn field(&self) -> &'static [u8] {
        match self {
            Self::Null | Self::Refused(_) => NULL,
            Self::Default => DEFAULT,
        }
    }
}

/// Treatment of keys that match no column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownKeys {
    /// The line is rejected.
    Refuse,
    /// The keys are ignored.
    Ignore,
}

/// A column, and its state in the current row.
#[derive(Clone, Debug)]
pub(crate) struct ObjectColumn {
    pub(crate) key: String,
    pub(crate) shape: ValueShape,
    pub(crate) missing: MissingKey,
    /// The position of its field in the row being written.
    pub(crate) field: Option<(usize, usize)>,
    /// The slot of its key in the row, and whether that key differs from the column's name in case.
    pub(crate) key_of_row: (usize, bool),
}
