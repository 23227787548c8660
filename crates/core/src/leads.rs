//! Leads: a mapping from the names in an input to the columns of a table.

use std::collections::HashMap;

/// The columns of a table, indexed by the names that lead to them.
#[derive(Clone, Debug, Default)]
pub struct Leads {
    columns: Vec<String>,
    by_name: HashMap<String, usize>,
    /// Names that the user maps to columns.
    mapped: HashMap<String, usize>,
    /// Columns by their names in lower case, without those that the user has mapped a name to.
    by_lower: HashMap<String, Vec<usize>>,
}

/// The result of looking up a name. A column is its position in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// The column with exactly this name.
    Own(usize),
    /// The column to which the user maps this name.
    Mapped(usize),
    /// The only column whose name differs only in case.
    Alike(usize),
    /// Two of several columns whose names differ only in case.
    Either(usize, usize),
    /// No column.
    Nowhere,
}

impl Lead {
    /// Returns the column, if the name leads to exactly one.
    #[must_use]
    pub fn column(self) -> Option<usize> {
        match self {
            Self::Own(column) | Self::Mapped(column) | Self::Alike(column) => Some(column),
            Self::Either(..) | Self::Nowhere => None,
        }
    }
}

impl Leads {
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
    pub fn of(&self, name: &str, is_taken: impl Fn(usize) -> bool) -> Lead {
        if let Some(column) = self.mapped.get(name) {
            return Lead::Mapped(*column);
        }
        if let Some(column) = self.by_name.get(name) {
            return Lead::Own(*column);
        }
        let alike = self.by_lower.get(&name.to_lowercase());
        let mut free = alike.into_iter().flatten().copied().filter(|column| !is_taken(*column));
        match (free.next(), free.next()) {
            (Some(column), None) => Lead::Alike(column),
            (Some(one), Some(other)) => Lead::Either(one, other),
            (None, _) => Lead::Nowhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leads(columns: &[&str], mapped: &[(&str, usize)]) -> Leads {
        let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        let mapped = mapped.iter().map(|(name, column)| ((*name).to_owned(), *column));
        Leads::new(&columns, mapped.collect())
    }

    #[test]
    fn names_lead_to_columns() {
        let leads = leads(&["id", "ID", "a", "Été"], &[("x", 2)]);
        let none = |_| false;
        assert_eq!(leads.of("id", none), Lead::Own(0));
        assert_eq!(leads.of("iD", none), Lead::Either(0, 1));
        assert_eq!(leads.of("iD", |column| column == 0), Lead::Alike(1));
        assert_eq!(leads.of("x", none), Lead::Mapped(2));
        assert_eq!(leads.of("a", none), Lead::Own(2));
        assert_eq!(leads.of("A", none), Lead::Nowhere, "the column has another name");
        assert_eq!(leads.of("été", none), Lead::Alike(3));
        assert_eq!(leads.of("", none).column(), None);
    }
}
