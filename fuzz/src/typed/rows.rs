//! The properties of the rows of any batch.

use arrow_array::RecordBatch;
use pgsluice_arrow::{BoundBatch, Mapping, RowError};
use pgsluice_core::format::Format;
use pgsluice_core::parse::{Fields, Parser};
use pgsluice_core::types::Column;

use super::columns;
use crate::choices::Choices;

/// The number of rows of a batch that are checked, because a damaged file may claim to have billions.
const MAX: usize = 100;

/// Writes the rows of a batch into suitable columns, in every format.
pub fn check(c: &mut Choices<'_>, batch: &RecordBatch) {
    let schema = batch.schema();
    let mut fields = Vec::new();
    for (place, field) in schema.fields().iter().enumerate().take(20) {
        let column = columns::column(field.name(), columns::suitable(c, field.data_type()));
        // By itself, a column fits or does not.
        match Mapping::new(&schema, &[(place, column.clone())]) {
            Ok(_) => fields.push((place, column)),
            Err(misfit) => assert!(!misfit.to_string().is_empty()),
        }
    }
    check_columns(batch, &fields);
}

fn check_columns(batch: &RecordBatch, fields: &[(usize, Column)]) {
    let mapping = Mapping::new(&batch.schema(), fields).expect("each column fits alone");
    let _ = mapping.has_binary();
    let bound = match mapping.bind(batch) {
        Ok(bound) => bound,
        Err(misfit) => {
            assert!(!misfit.to_string().is_empty());
            return;
        }
    };
    assert_eq!(bound.rows(), batch.num_rows());
    for row in 0..bound.rows().min(MAX) {
        check_row(&bound, row, fields.len());
    }
}

fn check_row(bound: &BoundBatch<'_>, row: usize, count: usize) {
    let (binary, binary_row) = appended(|out| bound.put_binary(row, out));
    let (text, text_row) = appended(|out| bound.put_text(row, out));
    match (&binary, &text) {
        (Ok(()), Ok(())) | (Err(RowError::Spelling(_)), _) => {}
        (Err(RowError::Unfit(unfit)), Err(other)) => assert_eq!(unfit, other),
        _ => panic!("{binary:?}, but {text:?}"),
    }
    match binary {
        Ok(()) => is_binary(&binary_row, count),
        Err(_) => assert!(binary_row.is_empty()),
    }
    match text {
        Ok(()) => is_text(&text_row, count),
        Err(_) => assert!(text_row.is_empty()),
    }
    let wanted: Vec<bool> = (0..count).map(|column| column % 2 == row % 2).collect();
    match appended(|out| bound.put_keys(&wanted, row, out)) {
        (Ok(()), keys) => is_text(&keys, count),
        (Err(unfit), keys) => assert!(keys.is_empty() && wanted[unfit.column] && text.is_err()),
    }
    let (unfits, fitting) = appended(|out| bound.put_fitting(row, out));
    is_text(&fitting, count);
    match text {
        Ok(()) => assert!(unfits.is_empty() && fitting == text_row),
        Err(unfit) => assert_eq!(unfits.first(), Some(&unfit.column)),
    }
    for column in 0..count {
        let ((), json) = appended(|out| bound.put_json(column, row, out));
        let parsed = serde_json::from_slice::<serde::de::IgnoredAny>(&json);
        assert!(parsed.is_ok(), "{:?}", String::from_utf8_lossy(&json));
    }
}

/// Returns the appended bytes, and the result.
fn appended<T>(put: impl FnOnce(&mut Vec<u8>) -> T) -> (T, Vec<u8>) {
    let mut out = b"before".to_vec();
    let done = put(&mut out);
    let appended = out.strip_prefix(b"before").expect("what was there").to_vec();
    (done, appended)
}

fn is_binary(row: &[u8], count: usize) {
    let (fields, mut rest) = row.split_first_chunk().expect("the number of fields");
    assert_eq!(usize::from(u16::from_be_bytes(*fields)), count);
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk().expect("a length");
        let length = i32::from_be_bytes(*length);
        assert!(length >= -1);
        rest = after.get(length.max(0) as usize..).expect("as long as it says");
    }
    assert!(rest.is_empty());
}

fn is_text(row: &[u8], count: usize) {
    assert!(!row.contains(&b'\n') && !row.contains(&b'\r') && str::from_utf8(row).is_ok());
    // A row without fields is written as an empty one.
    if count > 0 {
        let mut fields = Fields::default();
        Parser::new(&Format::text(), (0..count).collect()).parse(row, &mut fields);
        assert!(fields.is_exact(), "{:?}", String::from_utf8_lossy(row));
    }
}
