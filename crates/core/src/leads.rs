//! Leads: which column of a table each name in an input stands for.

use std::collections::HashMap;

/// The columns of a table, by the names that lead to them.
#[derive(Clone, Debug, Default)]
pub struct Leads {
    columns: Vec<String>,
    by_name: HashMap<String, usize>,
    /// Names that the user gives to columns.
    mapped: HashMap<String, usize>,
    /// Columns by their names in lower case, without those that have a name by the user.
    by_lower: HashMap<String, Vec<usize>>,
}

/// Where a name leads; a column is its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// To the column of just this name.
    Own(usize),
    /// To the column to which the user maps it.
    Mapped(usize),
    /// To the only column whose name differs in case only.
    Alike(usize),
    /// To one of several columns whose names differ in case only.
    Either(usize, usize),
    /// To no column.
    Nowhere,
}

impl Lead {
    /// The column, if it is one.
    #[must_use]
    pub fn column(self) -> Option<usize> {
        match self {
            Self::Own(column) | Self::Mapped(column) | Self::Alike(column) => Some(column),
            Self::Either(..) | Self::Nowhere => None,
        }
    }
}

impl Leads {
    /// Columns in their order, and the places of columns to which the user maps names.
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

    /// The columns in their order.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Finds where a name leads. Another spelling of a column's name does not lead to a column that `is_taken`.
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
