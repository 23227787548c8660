//! Shapes: the facts about a type that `prepare_column_cache` in `jsonfuncs.c` determines.

use pgsluice_core::types::{ColumnType, TypeStructure};

/// The conversion of JSON values to text for a type's input function. A domain is treated like its base type:
/// the server checks its constraints, including NOT NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueShape {
    /// The text of the value.
    Scalar,
    /// The JSON itself.
    Json,
    /// The literal of an array.
    Array {
        /// The delimiter between elements.
        delimiter: u8,
        /// The shape of the elements.
        element: Box<ValueShape>,
    },
    /// The literal of a record with these columns.
    Composite(Vec<(String, ValueShape)>),
}

/// The OIDs of json and jsonb: `JSONOID` and `JSONBOID` in `src/include/catalog/pg_type.dat`.
const JSON: [u32; 2] = [114, 3802];

impl ValueShape {
    pub(crate) fn from_type(ty: &ColumnType) -> Self {
        let base = ty.base();
        match &base.structure {
            TypeStructure::Array { delimiter, element } => {
                Self::Array { delimiter: *delimiter, element: Box::new(Self::from_type(element)) }
            }
            TypeStructure::Composite(columns) => Self::Composite(
                columns
                    .iter()
                    .map(|column| (column.name.clone(), Self::from_type(&column.ty)))
                    .collect(),
            ),
            _ if JSON.contains(&base.oid) => Self::Json,
            _ => Self::Scalar,
        }
    }
}
