//! A batch of one column, a column of a table, and the resulting rows.

use std::sync::Arc;

use arrow_array::{Array, FixedSizeBinaryArray, RecordBatch};
use arrow_schema::{Field, Schema};
use pgsluice_arrow::{FieldMismatch, Mapping, RowError};
use pgsluice_core::types::{Column, ColumnType, TypeStructure};

/// Returns a type without components.
pub(crate) fn ty(oid: u32) -> ColumnType {
    with_modifier(oid, -1)
}

pub(crate) fn with_modifier(oid: u32, modifier: i32) -> ColumnType {
    ColumnType { oid, modifier, name: format!("type {oid}"), structure: TypeStructure::Plain }
}

pub(crate) fn structured(oid: u32, structure: TypeStructure) -> ColumnType {
    ColumnType { oid, modifier: -1, name: format!("type {oid}"), structure }
}

pub(crate) fn array_of(oid: u32, element: ColumnType) -> ColumnType {
    structured(oid, TypeStructure::Array { delimiter: b',', element: element.into() })
}

pub(crate) fn composite_of(oid: u32, columns: Vec<(&str, ColumnType)>) -> ColumnType {
    let column = |(name, ty): (&str, _)| Column { name: name.to_owned(), ty };
    structured(oid, TypeStructure::Composite(columns.into_iter().map(column).collect()))
}

pub(crate) fn jsonb() -> ColumnType {
    ty(3802)
}

/// A written row, or the reason why it does not fit.
pub(crate) type Row<T> = Result<T, String>;

/// A mapped batch of one column.
pub(crate) struct Given {
    pub(crate) mapping: Mapping,
    batch: RecordBatch,
}

impl Given {
    pub(crate) fn new(
        array: &dyn Array,
        field: Field,
        ty: &ColumnType,
    ) -> Result<Self, FieldMismatch> {
        let schema = Arc::new(Schema::new(vec![field]));
        let column = Column { name: "c".to_owned(), ty: ty.clone() };
        let mapping = Mapping::new(&schema, &[(0, column)])?;
        let array = array.slice(0, array.len());
        let batch = RecordBatch::try_new(schema, vec![array]).expect("a batch");
        Ok(Self { mapping, batch })
    }

    /// Returns the fields in COPY BINARY; `None` is NULL.
    pub(crate) fn binary(&self) -> Vec<Row<Option<Vec<u8>>>> {
        let bound = self.mapping.bind(&self.batch).expect("the schema's");
        let row = |row| {
            let mut out = b"before".to_vec();
            match bound.put_binary(row, &mut out) {
                Ok(()) => {}
                Err(RowError::Unfit(unfit)) => {
                    assert_eq!((unfit.column, &*out), (0, &b"before"[..]));
                    return Err(unfit.why);
                }
                Err(RowError::Spelling(column)) => {
                    assert_eq!((column, &*out), (0, &b"before"[..]));
                    return Err("spelling".to_owned());
                }
            }
            let field = out.strip_prefix(b"before\0\x01").expect("one field");
            let (length, value) = field.split_first_chunk().expect("a length");
            match i32::from_be_bytes(*length) {
                -1 => assert!(value.is_empty()),
                length => assert_eq!(length as usize, value.len()),
            }
            Ok((*length != [0xFF; 4]).then(|| value.to_vec()))
        };
        (0..bound.rows()).map(row).collect()
    }

    /// Returns the fields in COPY text, with their escapes.
    pub(crate) fn text(&self) -> Vec<Row<String>> {
        let bound = self.mapping.bind(&self.batch).expect("the schema's");
        let row = |row| {
            let mut out = b"before".to_vec();
            let put = bound.put_text(row, &mut out);
            let field = out.strip_prefix(b"before").expect("appended").to_vec();
            match put {
                Ok(()) => Ok(String::from_utf8(field).expect("UTF-8")),
                Err(unfit) => {
                    assert_eq!((unfit.column, &*field), (0, &b""[..]));
                    Err(unfit.why)
                }
            }
        };
        (0..bound.rows()).map(row).collect()
    }
}

pub(crate) fn given(array: &dyn Array, ty: &ColumnType) -> Given {
    Given::new(array, plain(array), ty).expect("a field that fits")
}

/// Returns a field of the array's own type.
pub(crate) fn plain(array: &dyn Array) -> Field {
    Field::new("f", array.data_type().clone(), true)
}

/// Returns a field of an extension type.
pub(crate) fn extended(array: &dyn Array, name: &str) -> Field {
    plain(array).with_metadata([("ARROW:extension:name".to_owned(), name.to_owned())].into())
}

pub(crate) fn misfit(array: &dyn Array, ty: &ColumnType) -> String {
    match Given::new(array, plain(array), ty) {
        Ok(_) => panic!("{} goes into {}", array.data_type(), ty.oid),
        Err(misfit) => misfit.to_string(),
    }
}

/// Returns the rows as text with their escapes. All of them must fit.
pub(crate) fn texts(array: &dyn Array, ty: &ColumnType) -> Vec<String> {
    given(array, ty).text().into_iter().map(|row| row.expect("fits")).collect()
}

/// Returns the values in COPY BINARY. All of them must fit, and none may be NULL.
pub(crate) fn bytes(array: &dyn Array, ty: &ColumnType) -> Vec<Vec<u8>> {
    given(array, ty).binary().into_iter().map(|row| row.expect("fits").expect("a value")).collect()
}

/// Returns the reason why the only value fits in neither format.
pub(crate) fn unfit(array: &dyn Array, ty: &ColumnType) -> String {
    let given = given(array, ty);
    let (mut binary, mut text) = (given.binary(), given.text());
    assert_eq!((binary.len(), text.len()), (1, 1));
    let why = binary.remove(0).expect_err("it does not fit");
    assert_eq!(text.remove(0).expect_err("it does not fit"), why);
    why
}

/// Returns the words of a numeric.
pub(crate) fn words(value: &[u8]) -> Vec<u16> {
    value.as_chunks().0.iter().map(|word| u16::from_be_bytes(*word)).collect()
}

/// Returns an array of one value with its exact length.
pub(crate) fn fixed(value: &[u8]) -> FixedSizeBinaryArray {
    FixedSizeBinaryArray::try_from_iter([value].into_iter()).expect("an array")
}
