//! Names in the inputs that match no column, which `--ignore-extra` leaves out.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::shorten::{shorten_list, shorten_name};

/// The number of names that are counted.
const MAX_NAMES: usize = 10_000;

/// The number of names that are reported.
const REPORTED: usize = 100;

/// A collection of the names that are left out.
#[derive(Debug, Default)]
pub(crate) struct Extra(Mutex<KnownNames>);

#[derive(Debug, Default)]
struct KnownNames {
    names: Vec<String>,
    known: HashSet<String>,
    /// The number of names that were known before any row was read.
    ahead: usize,
}

/// The names that were left out, as `--json` prints them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ExtraNames {
    /// The first names, up to 100.
    pub extra_names: Vec<String>,
    /// The number of names; they are counted up to 10,000.
    pub extra_names_count: usize,
}

impl Extra {
    /// Begins with the names that are known before any row is read.
    pub(crate) fn new(names: &[String]) -> Self {
        let mut found = KnownNames::default();
        found.add(names);
        found.ahead = found.names.len();
        Self(Mutex::new(found))
    }

    /// Adds names.
    pub(crate) fn add(&self, names: &[String]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(names);
    }

    /// Returns a note on the names that were found later.
    pub(crate) fn note(&self) -> Option<String> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let later = &found.names[found.ahead..];
        let listed = || format!("further ignored fields: {}", shorten_list(later));
        (!later.is_empty()).then(listed)
    }

    /// Returns the names.
    pub(crate) fn names(&self) -> ExtraNames {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ExtraNames {
            extra_names: found.names.iter().take(REPORTED).cloned().collect(),
            extra_names_count: found.names.len(),
        }
    }
}

impl KnownNames {
    fn add(&mut self, names: &[String]) {
        for name in names.iter().map(|name| shorten_name(name)) {
            if self.names.len() < MAX_NAMES && self.known.insert(name.clone()) {
                self.names.push(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted_once_and_within_bounds() {
        let names = |list: &str| list.split(',').map(str::to_owned).collect::<Vec<_>>();
        let extra = Extra::new(&names("x,y"));
        assert_eq!(extra.note(), None);
        extra.add(&names("y,z,x"));
        assert_eq!(extra.note().as_deref(), Some("further ignored fields: z"));
        assert_eq!(extra.names().extra_names, ["x", "y", "z"]);
        let many: Vec<String> = (0..100_000).map(|name| name.to_string()).collect();
        extra.add(&many);
        let ExtraNames { extra_names, extra_names_count } = extra.names();
        assert_eq!((extra_names.len(), extra_names_count), (REPORTED, MAX_NAMES));
    }
}
