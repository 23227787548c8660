//! Structs as composite values: the fields by their names, in the order of the type.

use crate::writer::ColumnWriter;

/// A composite type.
#[derive(Debug)]
pub(crate) struct CompositeOf {
    pub(crate) columns: Box<[ColumnOf]>,
}

/// A column of it.
#[derive(Debug)]
pub(crate) struct ColumnOf {
    /// Its type.
    pub(crate) oid: u32,
    /// The place of its field in the struct.
    pub(crate) field: usize,
    pub(crate) writer: ColumnWriter,
}
