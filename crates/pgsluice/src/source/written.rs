//! What is written of the rows of a batch: all of each or its keys, as text or encoded.

use std::sync::Arc;

use super::key_form::KeyForm;

/// What is written of each row of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// All of it, as text.
    Text,
    /// All of it, encoded. Rows are routed by these columns.
    Encoded(Arc<[bool]>, KeyForm),
    /// These columns, as text.
    Keys(Arc<[bool]>),
}

impl Written {
    /// Makes rows of `columns` columns encoded, whose keys are the columns `keys`.
    pub(crate) fn encoded(columns: usize, keys: &[usize], form: KeyForm) -> Self {
        Self::Encoded(among(columns, keys), form)
    }

    /// Writes no more than the `keys` of rows of `columns` columns.
    pub(super) fn keys(columns: usize, keys: &[usize]) -> Self {
        Self::Keys(among(columns, keys))
    }

    /// Writes the keys of rows that are encoded as text as well.
    pub(super) fn with_key_text(&self) -> Self {
        match self {
            Self::Encoded(keys, _) => Self::Encoded(Arc::clone(keys), KeyForm::Text),
            other => other.clone(),
        }
    }
}

/// Returns for each of so many columns whether it is among `some`.
fn among(columns: usize, some: &[usize]) -> Arc<[bool]> {
    (0..columns).map(|column| some.contains(&column)).collect()
}
