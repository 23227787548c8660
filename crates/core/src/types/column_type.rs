//! What the type of a column is made of, for inputs whose values are not text: nested and typed ones.

/// A column of the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: ColumnType,
}

/// A type of the server, and the types that it is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnType {
    /// `pg_type.oid`
    pub oid: u32,
    /// `pg_attribute.atttypmod`, or -1 where there is none.
    pub modifier: i32,
    /// Its name, as `format_type` has it.
    pub name: String,
    /// What it is made of.
    pub made: Made,
}

/// What a type is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// Nothing else: scalars, ranges and multiranges, and all that is not known here.
    Alone,
    /// An enum.
    Enum,
    /// A domain: the type below it, which may be a domain again.
    Domain(Box<ColumnType>),
    /// An array.
    Array {
        /// The sign between the elements.
        delimiter: u8,
        /// The type of the elements. The modifier is that of the array.
        element: Box<ColumnType>,
    },
    /// A composite type: its columns that are not dropped.
    Composite(Vec<Column>),
}

impl ColumnType {
    /// The type below all domains.
    #[must_use]
    pub fn base(&self) -> &Self {
        match &self.made {
            Made::Domain(base) => base.base(),
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ColumnType, Made};

    #[test]
    fn a_domain_is_of_the_type_below_all() {
        let ty = |oid, made| ColumnType { oid, modifier: -1, name: String::new(), made };
        let inner = ty(7, Made::Domain(ty(23, Made::Alone).into()));
        assert_eq!(ty(8, Made::Domain(inner.into())).base().oid, 23);
    }
}
