//! The assignment of keys to columns. Each key is looked up once for all lines.

use std::collections::HashMap;
use std::sync::Arc;

use pgsluice_core::leads::{Lead, Leads};

use crate::target::KeyTarget;

/// The column that a key belongs to, or why it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goes {
    /// The column at this index. If `is_alike`, the key differs from the column's name in case.
    To { place: usize, is_alike: bool },
    /// This column of the table, which the rows do not have.
    LeftOut(usize),
    /// Either of two columns of the table.
    Either(usize, usize),
    /// No column.
    Nowhere,
}

/// The assignment of keys to columns.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    leads: Arc<Leads>,
    /// The index in a row for each column of the table that rows have.
    places: Arc<HashMap<usize, usize>>,
}

impl Paths {
    /// Assigns keys to the columns of rows, whose names are `columns` in their order.
    pub(crate) fn new<'c>(leads: Arc<Leads>, columns: impl Iterator<Item = &'c str>) -> Self {
        let by_name: HashMap<&str, usize> =
            leads.columns().iter().map(String::as_str).zip(0..).collect();
        let places = columns.enumerate();
        let places = places.filter_map(|(place, name)| Some((*by_name.get(name)?, place)));
        let places = places.collect::<HashMap<_, _>>().into();
        Self { leads, places }
    }

    /// Assigns each key to the column of its target.
    pub(crate) fn of_keys(targets: &[KeyTarget]) -> Self {
        let keys: Vec<String> = targets.iter().map(|target| target.key.clone()).collect();
        let leads = Arc::new(Leads::new(&keys, HashMap::new()));
        Self::new(leads, keys.iter().map(String::as_str))
    }

    /// Looks up a key.
    pub(crate) fn of(&self, key: &str) -> Goes {
        let lead = self.leads.of(key, |_| false);
        match (lead, lead.column().and_then(|column| self.places.get(&column))) {
            (lead, Some(place)) => {
                Goes::To { place: *place, is_alike: matches!(lead, Lead::Alike(_)) }
            }
            (Lead::Either(one, other), _) => Goes::Either(one, other),
            (lead, None) => lead.column().map_or(Goes::Nowhere, Goes::LeftOut),
        }
    }

    /// Returns the name of a column of the table.
    pub(crate) fn column(&self, column: usize) -> &str {
        self.leads.columns().get(column).map_or("", String::as_str)
    }
}
