//! Structs as composite values: fields are matched by name, and written in the order of the type.

use crate::writer::ColumnWriter;

/// A composite type.
#[derive(Debug)]
pub(crate) struct CompositeOf {
    pub(crate) columns: Box<[ColumnOf]>,
}

/// A column of a composite type.
#[derive(Debug)]
pub(crate) struct ColumnOf {
    /// The type of the column.
    pub(crate) oid: u32,
    /// The index of its field in the struct.
    pub(crate) field: usize,
    pub(crate) writer: ColumnWriter,
}
