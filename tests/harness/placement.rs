//! The rows of each leaf of one side, and the difference between two sides.
//!
//! Rows are compared as multisets: duplicates must be there equally often on both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::{Session, identifier, literal};

const SHOWN_ROWS: usize = 12;
const SHOWN_CHARACTERS: usize = 300;

/// The leaves that hold each row, given as text, and how often.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placement(BTreeMap<String, BTreeMap<String, usize>>);

impl Placement {
    /// Reads `table` of the schema `side`, without the columns in `without`.
    pub(crate) fn read(session: &Session, side: &str, table: &str, without: &[String]) -> Self {
        let columns = columns(session, table, without);
        // The side's own name is removed, so that the names of both sides are equal.
        let leaf = format!(
            "replace(CASE n.nspname WHEN {0} THEN c.relname ELSE n.nspname || '.' || c.relname \
             END, {0}, '@side@')",
            literal(side)
        );
        let sql = format!(
            "SELECT {leaf}, ROW({columns})::text FROM {table} AS \"the row\" \
             JOIN pg_class c ON c.oid = \"the row\".tableoid \
             JOIN pg_namespace n ON n.oid = c.relnamespace"
        );
        let mut rows = BTreeMap::new();
        for cells in session.rows(&sql) {
            let [Some(leaf), Some(row)] = <[_; 2]>::try_from(cells).expect("two columns") else {
                panic!("a row without a leaf");
            };
            let leaves: &mut BTreeMap<String, usize> = rows.entry(row).or_default();
            *leaves.entry(leaf).or_default() += 1;
        }
        Self(rows)
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.values().flat_map(BTreeMap::values).sum::<usize>() as u64
    }

    /// Returns `None` if both sides are equal. Otherwise returns each row that differs, with its leaves.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let rows: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let differing: Vec<&String> =
            rows.into_iter().filter(|row| self.0.get(*row) != other.0.get(*row)).collect();
        if differing.is_empty() {
            return None;
        }
        let mut text = format!("{} rows differ:\n", differing.len());
        for row in differing.iter().take(SHOWN_ROWS) {
            let shown: String = row.chars().take(SHOWN_CHARACTERS).collect();
            let _ = writeln!(text, "  row      {shown}");
            let _ = writeln!(text, "  COPY     {}", leaves(self.0.get(*row)));
            let _ = writeln!(text, "  pgsluice {}", leaves(other.0.get(*row)));
        }
        Some(text)
    }
}

fn leaves(found: Option<&BTreeMap<String, usize>>) -> String {
    let Some(found) = found else { return "nowhere".into() };
    let each = |(leaf, count): (&String, &usize)| match count {
        1 => leaf.clone(),
        count => format!("{leaf} ({count} times)"),
    };
    found.iter().map(each).collect::<Vec<_>>().join(", ")
}

fn columns(session: &Session, table: &str, without: &[String]) -> String {
    let sql = format!(
        "SELECT attname FROM pg_attribute WHERE attrelid = {}::regclass \
         AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        literal(table)
    );
    let names = session.rows(&sql).into_iter().flatten().flatten();
    let kept = names.filter(|name| !without.contains(name));
    kept.map(|name| identifier(&name)).collect::<Vec<_>>().join(", ")
}
