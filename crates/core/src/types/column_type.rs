//! The structure of a column's type, for inputs whose values are nested or typed rather than text.

/// A column of the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// Type of the column.
    pub ty: ColumnType,
}

/// A type of the server, and the types that it consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnType {
    /// `pg_type.oid`
    pub oid: u32,
    /// `pg_attribute.atttypmod`, or -1 if there is no modifier.
    pub modifier: i32,
    /// Name of the type, as `format_type` writes it.
    pub name: String,
    /// Structure of the type.
    pub structure: TypeStructure,
}

/// The structure of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeStructure {
    /// A type without parts: scalars, ranges, multiranges and all types that are not known here.
    Plain,
    /// An enum.
    Enum,
    /// A domain over the given type, which may be a domain itself.
    Domain(Box<ColumnType>),
    /// An array.
    Array {
        /// The character between the elements.
        delimiter: u8,
        /// The type of the elements, with the modifier of the array.
        element: Box<ColumnType>,
    },
    /// A composite type, with its columns except dropped ones.
    Composite(Vec<Column>),
}

impl ColumnType {
    /// Returns the type below all domains.
    #[must_use]
    pub fn base(&self) -> &Self {
        match &self.structure {
            TypeStructure::Domain(base) => base.base(),
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ColumnType, TypeStructure};

    #[test]
    fn a_domain_is_of_the_type_below_all() {
        let ty = |oid, structure| ColumnType { oid, modifier: -1, name: String::new(), structure };
        let inner = ty(7, TypeStructure::Domain(ty(23, TypeStructure::Plain).into()));
        assert_eq!(ty(8, TypeStructure::Domain(inner.into())).base().oid, 23);
    }
}
