//! Paths from keys to columns. Each is found once for all lines that have the key.

use std::collections::HashMap;
use std::sync::Arc;

use pgsluice_core::leads::{Lead, Leads};

use crate::target::KeyTarget;

/// The column that a key leads to, or why it leads to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goes {
    /// It is that of the column at this place. One that `is_alike` differs from the column's name in case.
    To { place: usize, is_alike: bool },
    /// It leads to this column of the table, which the rows do not have.
    LeftOut(usize),
    /// It may be either of two columns of the table.
    Either(usize, usize),
    /// It leads to no column.
    Nowhere,
}

/// Where keys lead.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    leads: Arc<Leads>,
    /// The place in a row of each column of the table that rows have.
    places: Arc<HashMap<usize, usize>>,
}

impl Paths {
    /// Leads to the columns of rows, whose names are `columns` in their order.
    pub(crate) fn new<'c>(leads: Arc<Leads>, columns: impl Iterator<Item = &'c str>) -> Self {
        let by_name: HashMap<&str, usize> =
            leads.columns().iter().map(String::as_str).zip(0..).collect();
        let places = columns.enumerate();
        let places = places.filter_map(|(place, name)| Some((*by_name.get(name)?, place)));
        let places = places.collect::<HashMap<_, _>>().into();
        Self { leads, places }
    }

    /// Leads each key to the column that it is for.
    pub(crate) fn of_keys(targets: &[KeyTarget]) -> Self {
        let keys: Vec<String> = targets.iter().map(|target| target.key.clone()).collect();
        let leads = Arc::new(Leads::new(&keys, HashMap::new()));
        Self::new(leads, keys.iter().map(String::as_str))
    }

    /// Finds the path of a key.
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

    /// The name of a column of the table.
    pub(crate) fn column(&self, column: usize) -> &str {
        self.leads.columns().get(column).map_or("", String::as_str)
    }
}
