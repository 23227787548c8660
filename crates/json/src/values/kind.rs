//! Kinds of columns: the values of a program that a type can hold.

use pgsluice_core::types::{Column, ColumnType, TypeStructure};

/// A type, as far as it matters for the values of a program. A domain has the kind of its base type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// Character strings.
    Text,
    Bool,
    /// `smallint`, `integer` and `bigint`.
    Int,
    /// `double precision`, which differs from `real` for values of single precision.
    Double,
    /// `numeric`, `real`, `oid` and `money`.
    Number,
    Bytea,
    Date,
    Time,
    Timetz,
    Timestamp,
    Timestamptz,
    Interval,
    Uuid,
    /// `inet` and `cidr`.
    Network,
    Json,
    /// `json` and `jsonb`, if a string is the JSON text rather than a JSON string.
    Document,
    /// Built-in types with their own syntax, which no number represents.
    BuiltIn,
    Array(Box<ValueKind>),
    Composite(Vec<(String, ValueKind)>),
    /// A type that pgsluice does not know, such as an enum or a type of an extension.
    Other,
}

impl ValueKind {
    /// Returns the kind of a type; `json` is the kind to use for json and jsonb.
    pub(crate) fn from_type(ty: &ColumnType, json: &Self) -> Self {
        let base = ty.base();
        match &base.structure {
            TypeStructure::Array { element, .. } => {
                Self::Array(Box::new(Self::from_type(element, json)))
            }
            TypeStructure::Composite(columns) => {
                let kind =
                    |column: &Column| (column.name.clone(), Self::from_type(&column.ty, json));
                Self::Composite(columns.iter().map(kind).collect())
            }
            TypeStructure::Plain if matches!(base.oid, 114 | 3802) => json.clone(),
            TypeStructure::Plain => Self::from_oid(base.oid),
            TypeStructure::Enum | TypeStructure::Domain(_) => Self::Other,
        }
    }

    /// Returns the kind of a built-in type: `src/include/catalog/pg_type.dat`, PostgreSQL 13 to 18.
    fn from_oid(oid: u32) -> Self {
        match oid {
            18 | 19 | 25 | 1042 | 1043 => Self::Text,
            16 => Self::Bool,
            20 | 21 | 23 => Self::Int,
            701 => Self::Double,
            26 | 700 | 790 | 1700 => Self::Number,
            17 => Self::Bytea,
            1082 => Self::Date,
            1083 => Self::Time,
            1266 => Self::Timetz,
            1114 => Self::Timestamp,
            1184 => Self::Timestamptz,
            1186 => Self::Interval,
            2950 => Self::Uuid,
            650 | 869 => Self::Network,
            // tid, xml, the geometric types, macaddr8, macaddr, bit and varbit.
            27 | 142 | 600..=604 | 628 | 718 | 774 | 829 | 1560 | 1562 => Self::BuiltIn,
            // pg_lsn, the types of text search, ranges, jsonpath and multiranges.
            3220 | 3614 | 3615 | 3904..=3927 | 4072 | 4451 | 4532..=4536 => Self::BuiltIn,
            _ => Self::Other,
        }
    }

    /// Whether a number is a value of the type, or its text.
    pub(crate) fn takes_numbers(&self) -> bool {
        matches!(
            self,
            Self::Text
                | Self::Bool
                | Self::Int
                | Self::Double
                | Self::Number
                | Self::Json
                | Self::Document
                | Self::Other
        )
    }

    /// Whether a boolean is a value of the type, or its text.
    pub(crate) fn takes_booleans(&self) -> bool {
        matches!(self, Self::Text | Self::Bool | Self::Json | Self::Document | Self::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(oid: u32, structure: TypeStructure) -> ColumnType {
        ColumnType { oid, modifier: -1, name: String::new(), structure }
    }

    #[test]
    fn a_domain_is_of_the_kind_below_it() {
        let date = ty(1082, TypeStructure::Plain);
        assert_eq!(
            ValueKind::from_type(
                &ty(9, TypeStructure::Domain(date.clone().into())),
                &ValueKind::Json
            ),
            ValueKind::Date
        );
        let array = ty(1182, TypeStructure::Array { delimiter: b',', element: date.into() });
        assert_eq!(
            ValueKind::from_type(&array, &ValueKind::Json),
            ValueKind::Array(ValueKind::Date.into())
        );
        assert_eq!(
            ValueKind::from_type(&ty(99_999, TypeStructure::Plain), &ValueKind::Json),
            ValueKind::Other
        );
        assert_eq!(
            ValueKind::from_type(&ty(1560, TypeStructure::Enum), &ValueKind::Json),
            ValueKind::Other
        );
    }

    #[test]
    fn numbers_are_no_times() {
        for kind in [
            ValueKind::Date,
            ValueKind::Interval,
            ValueKind::Bytea,
            ValueKind::Network,
            ValueKind::BuiltIn,
        ] {
            assert!(!kind.takes_numbers() && !kind.takes_booleans(), "{kind:?}");
        }
        assert!(ValueKind::Int.takes_numbers() && !ValueKind::Int.takes_booleans());
    }
}
