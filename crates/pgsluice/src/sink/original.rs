//! The original form of a rejected row in its input.

use pgsluice_core::bucket::BlockRow;
use pgsluice_core::parse::Fields;

use super::refusal::Blame;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::rejects::RejectWriter;
use crate::sink::flow::Flow;

/// Reads a row that was sent in binary as `bytes` from its input again. Fails if it does not encode to the
/// same bytes.
pub(super) fn original(flow: &Flow<'_>, at: BlockRow, bytes: &[u8]) -> Result<Vec<u8>> {
    let (origin, _) = flow.splits.origin_of(at).ok_or_else(lost_place)?;
    let input = flow.inputs.get(origin.input as usize).ok_or_else(lost_place)?;
    let shape = &flow.plan.shape;
    let raw = input.row_at(origin.at, shape)?;
    let (mut fields, mut encoded) = (Fields::default(), Vec::new());
    let original = shape.rewrite_row(raw.clone());
    flow.plan.parser.parse(&original, &mut fields);
    let encoder = flow.plan.encoder.as_ref();
    let is_same = encoder.is_some_and(|encoder| {
        encoder.encode(&original, &fields, &mut encoded).is_ok() && encoded == bytes
    });
    match is_same {
        true if shape.is_of_objects() => Ok(shape.reject_line(raw)),
        true => Ok(original),
        false => Err(input.has_changed()),
    }
}

/// Returns a row that was sent as text in the form for the reject file: for objects the original from the
/// input, if that can be read again.
pub(super) fn as_rejected(flow: &Flow<'_>, at: BlockRow, sent: &[u8]) -> Result<Vec<u8>> {
    let shape = &flow.plan.shape;
    let (origin, _) = flow.splits.origin_of(at).ok_or_else(lost_place)?;
    let input = flow.inputs.get(origin.input as usize).ok_or_else(lost_place)?;
    if !shape.is_of_objects() || !input.is_seekable() {
        return Ok(shape.reject_row(sent));
    }
    let raw = input.row_at(origin.at, shape)?;
    match shape.rewrite_row(raw.clone()) == sent {
        true => Ok(shape.reject_line(raw)),
        false => Err(input.has_changed()),
    }
}

pub(super) fn lost_place() -> Error {
    Error::new(Kind::Server, "internal error: a row has lost its place").with_sqlstate("XX000")
}

pub(super) fn too_many(
    flow: &Flow<'_>,
    at: BlockRow,
    blame: Blame,
    rejects: &RejectWriter,
) -> Error {
    let rows = match rejects.limit().as_str() {
        "1" => "1 row".to_owned(),
        share if share.ends_with('%') => format!("{share} of the rows"),
        limit => format!("{limit} rows"),
    };
    let report = blame.report.with_detail(format!("No more than {rows} may be rejected."));
    at_row(flow, at, report)
}

/// Adds the location of its row to an error.
pub(super) fn at_row(flow: &Flow<'_>, at: BlockRow, error: Error) -> Error {
    match flow.place_of(at) {
        Some(place) => error.at(place),
        None => error,
    }
}
