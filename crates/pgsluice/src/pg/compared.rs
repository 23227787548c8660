//! The columns of a key with the collation and the operator class of its index. All statements take from here
//! how to compare keys.
//!
//! An index may compare a column differently from the column's own `=`. `ON CONFLICT` therefore names the
//! collation and the operator class of each column, because it would otherwise use every index on the
//! columns. Any statement that looks for a key states the collation of the index.

use crate::pg::template::eq;
use pgsluice_core::catalog::quote_identifier;

/// A column of a key, as its index compares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComparedColumn {
    pub(crate) name: String,
    /// The collation of the index as SQL, if the type has collations.
    pub(crate) collation: Option<String>,
    /// The operator class as SQL.
    pub(crate) class: String,
    /// Whether the column's own comparison is the same.
    pub(crate) is_default: bool,
}

impl ComparedColumn {
    /// Returns SQL for the column of the row `of`, with a collation that makes `=` compare like the index.
    pub(crate) fn qualify(&self, of: &str) -> String {
        let name = quote_identifier(&self.name);
        match self.collation.as_ref().filter(|_| !self.is_default) {
            Some(collation) => format!("({of}{name} COLLATE {collation})"),
            None => format!("{of}{name}"),
        }
    }

    /// Returns a condition in SQL: the rows `t` and `new` are equal in this column.
    pub(crate) fn equals(&self, new: &str) -> String {
        let name = quote_identifier(&self.name);
        format!("t.{name} {eq} {}", self.qualify(&format!("{new}.")))
    }

    /// Returns the column for `ON CONFLICT`, which then uses only indexes with the same comparison.
    pub(crate) fn arbiter(&self) -> String {
        let collation = self.collation.as_ref();
        let collation = collation.map_or_else(String::new, |name| format!(" COLLATE {name}"));
        format!("{}{collation} {}", quote_identifier(&self.name), self.class)
    }
}

/// Returns a condition in SQL: the row `t` of a table has the key of the row `new`.
pub(crate) fn has_key(key: &[ComparedColumn], new: &str, joins_nulls: bool) -> String {
    let equals = key.iter().map(|column| match joins_nulls {
        false => column.equals(new),
        true => {
            let (name, equals) = (quote_identifier(&column.name), column.equals(new));
            format!("({equals} OR t.{name} IS NULL AND {new}.{name} IS NULL)")
        }
    });
    equals.collect::<Vec<_>>().join(" AND ")
}
