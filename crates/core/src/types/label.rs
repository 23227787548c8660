//! enum: labels, in the order and with the oids of the catalogue.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::hash;

/// The labels of one enum type; cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels(Arc<LabelTable>);

/// The position of each label in the type's order, and the oid at each position.
#[derive(PartialEq, Eq)]
struct LabelTable {
    places: HashMap<Box<[u8]>, usize>,
    oids: Vec<u32>,
}

/// Formats equal tables alike, whatever the order of the map.
impl fmt::Debug for LabelTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut labels: Vec<_> = self.places.iter().collect();
        labels.sort_unstable_by_key(|(_, place)| **place);
        let labels = labels.into_iter().map(|(label, _)| String::from_utf8_lossy(label));
        f.debug_map().entries(labels.zip(&self.oids)).finish()
    }
}

impl Labels {
    /// Creates the table from labels and their oids in ascending order of `pg_enum.enumsortorder`.
    #[must_use]
    pub fn new(labels: Vec<(String, u32)>) -> Self {
        let oids = labels.iter().map(|&(_, oid)| oid).collect();
        let places = labels.into_iter().enumerate();
        let places = places.map(|(place, (label, _))| (label.into_bytes().into(), place)).collect();
        Self(Arc::new(LabelTable { places, oids }))
    }

    /// Returns the position of a label that `enum_in` (`src/backend/utils/adt/enum.c`, PostgreSQL 13 to 18)
    /// accepts.
    pub(super) fn parse(&self, text: &[u8]) -> Option<i64> {
        self.0.places.get(text).map(|&place| place as i64)
    }

    /// Hashes like `hashenumextended` (`src/backend/access/hash/hashfunc.c`, PostgreSQL 13 to 18).
    pub(super) fn hash_extended(&self, place: i64, seed: u64) -> u64 {
        let oid = usize::try_from(place).ok().and_then(|place| self.0.oids.get(place));
        hash::uint32_extended(oid.copied().unwrap_or_default(), seed)
    }
}

#[cfg(test)]
mod tests {
    use super::Labels;
    use crate::hash;

    #[test]
    fn labels_sort_by_place_and_hash_by_oid() {
        let labels = Labels::new(vec![("sad".into(), 9), ("ok".into(), 12), ("Ok".into(), 11)]);
        assert_eq!(labels.parse(b"sad"), Some(0));
        assert_eq!(labels.parse(b"Ok"), Some(2));
        assert_eq!(labels.hash_extended(2, 5), hash::uint32_extended(11, 5));
        for text in ["", "SAD", "sad ", "happy"] {
            assert_eq!(labels.parse(text.as_bytes()), None, "{text}");
        }
    }
}
