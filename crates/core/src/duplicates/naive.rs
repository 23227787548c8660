//! A slow and simple twin of [`super::find_duplicates`].

use super::Rule;

/// Returns for each row, a pair of key and value in the order of the input, the row that wins for its key.
#[must_use]
pub fn counting<K: PartialEq, V: PartialOrd>(rows: &[(K, V)], rule: Rule) -> Vec<usize> {
    let counts = |key: &K| {
        let mut best: Option<usize> = None;
        for (at, (_, value)) in rows.iter().enumerate().filter(|(_, (other, _))| other == key) {
            let is_better = match (best, rule) {
                (None, _) | (_, Rule::Last) => true,
                (Some(_), Rule::First) => false,
                (Some(best), Rule::Greatest) => *value > rows[best].1,
            };
            best = if is_better { Some(at) } else { best };
        }
        best
    };
    rows.iter().filter_map(|(key, _)| counts(key)).collect()
}
