//! Conversion of rows of COPY BINARY into the parameters of an INSERT. The bytes of a value are the same in
//! both.

use pgsluice_core::bucket::Payload;
use tokio_postgres::types::Oid;

use crate::pg::raw::Raw;

/// The fields of a row of COPY BINARY, each preceded by its length.
struct ParameterFields<'r>(&'r [u8]);

impl<'r> ParameterFields<'r> {
    /// Returns the fields of `row`, without their count.
    fn new(row: &'r [u8]) -> Self {
        Self(row.get(2..).unwrap_or_default())
    }
}

impl<'r> Iterator for ParameterFields<'r> {
    /// The encoded length, and the value unless it is NULL.
    type Item = ([u8; 4], Option<&'r [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        let (length, rest) = self.0.split_first_chunk()?;
        let Ok(bytes) = usize::try_from(i32::from_be_bytes(*length)) else {
            self.0 = rest;
            return Some((*length, None));
        };
        let (value, rest) = rest.split_at_checked(bytes)?;
        self.0 = rest;
        Some((*length, Some(value)))
    }
}

/// Returns the values of all rows as one array per column, in the format of `array_send`
/// (`src/backend/utils/adt/arrayfuncs.c`, PostgreSQL 13 to 18).
pub(super) fn encode_arrays(rows: &Payload, types: &[Oid]) -> Vec<Raw> {
    // The number of rows is small here.
    let count = rows.rows() as i32;
    let mut arrays: Vec<Vec<u8>> = types
        .iter()
        .map(|ty| {
            let mut array = Vec::with_capacity(20 + rows.bytes() / types.len().max(1));
            let [dimensions, has_null, lower] = [1_i32, 0, 1];
            for number in [dimensions, has_null, ty.cast_signed(), count, lower] {
                array.extend_from_slice(&number.to_be_bytes());
            }
            array
        })
        .collect();
    for (_, row) in rows.in_order() {
        for (array, (length, value)) in arrays.iter_mut().zip(ParameterFields::new(row)) {
            array.extend_from_slice(&length);
            match value {
                Some(value) => array.extend_from_slice(value),
                None => array[4..8].copy_from_slice(&1_i32.to_be_bytes()),
            }
        }
    }
    arrays.into_iter().map(Raw).collect()
}
