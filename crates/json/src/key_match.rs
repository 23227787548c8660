//! The assignment of keys to columns. Each key is looked up once for all lines.

use std::collections::HashMap;
use std::sync::Arc;

use pgsluice_core::column_lookup::{ColumnLookup, ColumnMatch};

use crate::target::KeyTarget;

/// The column that a key belongs to, or why it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyMatch {
    /// The column at this index. If `is_alike`, the key differs from the column's name in case.
    Column { place: usize, is_alike: bool },
    /// This column of the table, which the rows do not have.
    Absent(usize),
    /// Either of two columns of the table.
    Ambiguous(usize, usize),
    /// No column.
    Unknown,
}

/// The assignment of keys to columns.
#[derive(Clone, Debug)]
pub(crate) struct KeyMatcher {
    lookup: Arc<ColumnLookup>,
    /// The index in a row for each column of the table that rows have.
    places: Arc<HashMap<usize, usize>>,
}

impl KeyMatcher {
    /// Assigns keys to the columns of rows, whose names are `columns` in their order.
    pub(crate) fn new<'c>(
        lookup: Arc<ColumnLookup>,
        columns: impl Iterator<Item = &'c str>,
    ) -> Self {
        let by_name: HashMap<&str, usize> =
            lookup.columns().iter().map(String::as_str).zip(0..).collect();
        let places = columns.enumerate();
        let places = places.filter_map(|(place, name)| Some((*by_name.get(name)?, place)));
        let places = places.collect::<HashMap<_, _>>().into();
        Self { lookup, places }
    }

    /// Assigns each key to the column of its target.
    pub(crate) fn from_targets(targets: &[KeyTarget]) -> Self {
        let keys: Vec<String> = targets.iter().map(|target| target.key.clone()).collect();
        let lookup = Arc::new(ColumnLookup::new(&keys, HashMap::new()));
        Self::new(lookup, keys.iter().map(String::as_str))
    }

    /// Looks up a key.
    pub(crate) fn find(&self, key: &str) -> KeyMatch {
        let matched = self.lookup.find(key, |_| false);
        match (matched, matched.column().and_then(|column| self.places.get(&column))) {
            (matched, Some(place)) => KeyMatch::Column {
                place: *place,
                is_alike: matches!(matched, ColumnMatch::OtherCase(_)),
            },
            (ColumnMatch::Ambiguous(one, other), _) => KeyMatch::Ambiguous(one, other),
            (matched, None) => matched.column().map_or(KeyMatch::Unknown, KeyMatch::Absent),
        }
    }

    /// Returns the name of a column of the table.
    pub(crate) fn column(&self, column: usize) -> &str {
        self.lookup.columns().get(column).map_or("", String::as_str)
    }
}
