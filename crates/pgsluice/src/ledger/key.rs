//! A partition key in the ledger: everything that determines how rows are routed by it.

use pgsluice_core::catalog::{Key, KeyColumn, Strategy};
use serde::{Deserialize, Serialize};

/// A key as text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct KeyTerms {
    strategy: String,
    /// The columns, in the form that pgsluice routes by.
    columns: Vec<String>,
    /// Their types and functions, as the server spells them.
    reads: Vec<String>,
}

impl KeyTerms {
    pub(super) fn new(key: &Key, reads: &[String]) -> Self {
        let columns = key.columns.iter().map(|column| format!("{column:?}")).collect();
        Self { strategy: key.strategy.to_string(), columns, reads: reads.to_vec() }
    }

    /// Whether it equals `key`, apart from how the server reads that.
    pub(super) fn is_of(&self, key: &Key) -> bool {
        *self == Self::new(key, &self.reads)
    }

    /// Whether the server evaluates any part of it.
    pub(super) fn is_asked(&self) -> bool {
        self.has("Asked")
    }

    /// Returns a key that routes no row further, if this is such a key; its original columns do not matter.
    pub(super) fn opaque(&self) -> Option<Key> {
        let column = || KeyColumn::Opaque { column: String::new(), why: String::new() };
        let columns = self.columns.iter().map(|_| column()).collect();
        self.has("Opaque").then_some(Key { strategy: Strategy::Range, columns })
    }

    fn has(&self, variant: &str) -> bool {
        self.columns.iter().any(|column| column.starts_with(variant))
    }

    /// Returns the reason why this key is no longer read as before; `now` is the present key of the same
    /// table, if it has one.
    pub(super) fn describe_change(&self, now: Option<Self>) -> String {
        let Some(now) = now else { return "no table has this key any more".to_owned() };
        if self.reads != now.reads {
            let only = |lines: &[String], others: &[String]| {
                let only: Vec<&str> = lines
                    .iter()
                    .filter(|line| !others.contains(line))
                    .map(String::as_str)
                    .collect();
                if only.is_empty() { "nothing".to_owned() } else { only.join("; ") }
            };
            let before = only(&self.reads, &now.reads);
            let after = only(&now.reads, &self.reads);
            return format!(
                "its key was read by {before} when the load began, and is now read by {after}"
            );
        }
        match (self.is_asked(), now.has("Opaque")) {
            (true, true) => {
                let why = now
                    .columns
                    .iter()
                    .filter_map(|column| column.split_once("why: \""))
                    .next_back();
                let why = why.map_or("", |(_, why)| why.trim_end_matches("\" }"));
                format!(
                    "the server evaluated its key when the load began, but cannot evaluate it now: \
                     {why}"
                )
            }
            (true, false) => "the server evaluates its key".to_owned(),
            (false, _) => "no table has this key any more".to_owned(),
        }
    }
}
