//! The columns that keys of objects go to.

use std::sync::Arc;

use pgsluice_core::types::Column;
use pgsluice_core::words::Words;

use crate::copy::{DEFAULT, NULL};
use crate::shape::ValueShape;

/// A column of the rows, and the key of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTarget {
    /// The key. Each is that of one column.
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
    /// [`DEFAULT`]. COPY refuses it for a column that has no default.
    Default,
    /// The line is refused.
    Refused(Arc<Lacking>),
}

/// Why a line that lacks a key is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// The words behind "the key is missing, and".
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
    /// The line is refused.
    Refuse,
    /// They are left out.
    Ignore,
}

/// A column, and what is known of it in this row.
#[derive(Clone, Debug)]
pub(crate) struct ObjectColumn {
    pub(crate) key: String,
    pub(crate) shape: ValueShape,
    pub(crate) missing: MissingKey,
    /// Where its field stands in the row that is being written.
    pub(crate) field: Option<(usize, usize)>,
    /// The slot of the key that has it, and whether that key differs from the column's name in case.
    pub(crate) key_of_row: (usize, bool),
}
