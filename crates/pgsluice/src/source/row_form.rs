//! The form in which rows of a batch are written: whole or only their keys, as text or encoded.

use std::sync::Arc;

use super::key_form::KeyForm;

/// The form in which rows of a batch are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RowForm {
    /// Whole rows, as text.
    Text,
    /// Whole rows, encoded. The flags mark the columns that route them.
    Encoded(Arc<[bool]>, KeyForm),
    /// Only the marked columns, as text.
    Keys(Arc<[bool]>),
}

impl RowForm {
    /// Returns the encoded form of rows with `columns` columns, which are routed by the columns `keys`.
    pub(crate) fn encoded(columns: usize, keys: &[usize], form: KeyForm) -> Self {
        Self::Encoded(among(columns, keys), form)
    }

    /// Returns the form that has only the columns `keys` of rows with `columns` columns.
    pub(super) fn keys(columns: usize, keys: &[usize]) -> Self {
        Self::Keys(among(columns, keys))
    }

    /// Returns the form that also has the keys as text, if rows are encoded.
    pub(super) fn with_key_text(&self) -> Self {
        match self {
            Self::Encoded(keys, _) => Self::Encoded(Arc::clone(keys), KeyForm::Text),
            other => other.clone(),
        }
    }
}

/// Returns for each column whether `some` contains it.
fn among(columns: usize, some: &[usize]) -> Arc<[bool]> {
    (0..columns).map(|column| some.contains(&column)).collect()
}
