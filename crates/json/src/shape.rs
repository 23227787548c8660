//! Shapes: what `prepare_column_cache` in `jsonfuncs.c` finds out about a type, and no more.

use pgsluice_core::types::{ColumnType, Made};

/// How values of JSON become text for the input function of a type. Domains are as the type below them:
/// the server checks what they demand, of NULL too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueShape {
    /// By their text.
    Scalar,
    /// As the JSON that they are.
    Json,
    /// As the literal of an array.
    Array {
        /// The sign between the elements.
        delimiter: u8,
        /// The shape of the elements.
        element: Box<ValueShape>,
    },
    /// As the literal of a record with these columns.
    Composite(Vec<(String, ValueShape)>),
}

/// `JSONOID` and `JSONBOID` in `src/include/catalog/pg_type.dat`.
const JSON: [u32; 2] = [114, 3802];

impl ValueShape {
    pub(crate) fn of(ty: &ColumnType) -> Self {
        let base = ty.base();
        match &base.made {
            Made::Array { delimiter, element } => {
                Self::Array { delimiter: *delimiter, element: Box::new(Self::of(element)) }
            }
            Made::Composite(columns) => Self::Composite(
                columns.iter().map(|column| (column.name.clone(), Self::of(&column.ty))).collect(),
            ),
            _ if JSON.contains(&base.oid) => Self::Json,
            _ => Self::Scalar,
        }
    }
}
