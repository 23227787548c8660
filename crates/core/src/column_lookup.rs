//! Column lookup: a mapping from the names in an input to the columns of a table.

use std::collections::HashMap;

/// The columns of a table, indexed by the names that lead to them.
#[derive(Clone, Debug, Default)]
pub struct ColumnLookup {
    columns: Vec<String>,
    by_name: HashMap<String, usize>,
    /// Names that the user maps to columns.
    mapped: HashMap<String, usize>,
    /// Columns by their names in lower case, without those that the user has mapped a name to.
    by_lower: HashMap<String, Vec<usize>>,
}

/// The result of looking up a name. A column is its position in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnMatch {
    /// The column with exactly this name.
    Exact(usize),
    /// The column to which the user maps this name.
    Mapped(usize),
    /// The only column whose name differs only in case.
    OtherCase(usize),
    /// Two of several columns whose names differ only in case.
    Ambiguous(usize, usize),
    /// No column.
    Unknown,
}

impl ColumnMatch {
    /// Returns the column, if the name leads to exactly one.
    #[must_use]
    pub fn column(self) -> Option<usize> {
        match self {
            Self::Exact(column) | Self::Mapped(column) | Self::OtherCase(column) => Some(column),
            Self::Ambiguous(..) | Self::Unknown => None,
        }
    }
}

impl ColumnLookup {
    /// Creates the index from the columns in order, and from the positions of columns to which the user maps
    /// names.
    #[must_use]
    pub fn new(columns: &[String], mapped: HashMap<String, usize>) -> Self {
        let by_name = columns.iter().cloned().zip(0..).collect();
        let mut by_lower: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, column) in columns.iter().enumerate() {
            if !mapped.values().any(|mapped| *mapped == place) {
                by_lower.entry(column.to_lowercase()).or_default().push(place);
            }
        }
        Self { columns: columns.to_vec(), by_name, mapped, by_lower }
    }

    /// Returns the columns in order.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Looks up a name. A name that differs from a column's name in case does not lead to a column that
    /// `is_taken`.
    #[must_use]
    pub fn find(&self, name: &str, is_taken: impl Fn(usize) -> bool) -> ColumnMatch {
        if let Some(column) = self.mapped.get(name) {
            return ColumnMatch::Mapped(*column);
        }
        if let Some(column) = self.by_name.get(name) {
            return ColumnMatch::Exact(*column);
        }
        let alike = self.by_lower.get(&name.to_lowercase());
        let mut free = alike.into_iter().flatten().copied().filter(|column| !is_taken(*column));
        match (free.next(), free.next()) {
            (Some(column), None) => ColumnMatch::OtherCase(column),
            (Some(one), Some(other)) => ColumnMatch::Ambiguous(one, other),
            (None, _) => ColumnMatch::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(columns: &[&str], mapped: &[(&str, usize)]) -> ColumnLookup {
        let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        let mapped = mapped.iter().map(|(name, column)| ((*name).to_owned(), *column));
        ColumnLookup::new(&columns, mapped.collect())
    }

    #[test]
    fn names_match_columns() {
        let lookup = lookup(&["id", "ID", "a", "Été"], &[("x", 2)]);
        let none = |_| false;
        assert_eq!(lookup.find("id", none), ColumnMatch::Exact(0));
        assert_eq!(lookup.find("iD", none), ColumnMatch::Ambiguous(0, 1));
        assert_eq!(lookup.find("iD", |column| column == 0), ColumnMatch::OtherCase(1));
        assert_eq!(lookup.find("x", none), ColumnMatch::Mapped(2));
        assert_eq!(lookup.find("a", none), ColumnMatch::Exact(2));
        assert_eq!(lookup.find("A", none), ColumnMatch::Unknown, "the column has another name");
        assert_eq!(lookup.find("été", none), ColumnMatch::OtherCase(3));
        assert_eq!(lookup.find("", none).column(), None);
    }
}
