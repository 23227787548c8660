//! Conversion of rows that COPY does not accept in their original form. The threads that take splits do this,
//! not the thread that reads, because the rows of a split are independent of all others.

use std::sync::Arc;

use pgsluice_core::parse::Projection;
use pgsluice_core::split::Row;
use pgsluice_json::{Objects, RowFacts};

use super::batches::{Batch, KeyText};
use super::extra::Extra;
use super::relation::Copied;
use super::rewritten::{Rewritten, RowRefusal};
use super::typed::Typed;

/// The conversion of the rows of all inputs.
#[derive(Clone, Debug)]
pub(crate) enum Rewrite {
    /// Only some of the fields are kept.
    Fields(Projection),
    /// JSON objects become rows of COPY text. The keys that are left out are collected.
    Objects(Objects, Arc<Extra>),
    /// The rows are in batches of typed columns.
    Typed(Typed),
    /// The rows are read from a table.
    Copied(Copied),
}

impl Rewrite {
    /// Appends the converted form of one row of text.
    pub(super) fn one(&self, row: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Typed(_) | Self::Copied(_) => out.extend_from_slice(row),
            Self::Fields(projection) => projection.project(row, out),
            Self::Objects(objects, _) => {
                let mut objects = objects.clone();
                if let Err(refused) = objects.put_row(row, out) {
                    RowRefusal::from_line(refused, objects.reject_line(row))
                        .put(objects.columns(), out);
                }
            }
        }
    }

    /// Converts `rows`, which are ranges of `bytes`, or the rows of a batch.
    pub(super) fn write(
        &self,
        rows: &[Row],
        bytes: &[u8],
        batch: Option<&mut Batch>,
        out: &mut Rewritten,
    ) {
        match (self, batch) {
            (Self::Typed(typed), Some(Batch::Typed(batch))) => typed.write(batch, out),
            (Self::Copied(copied), Some(Batch::Copied(rows))) => rows.give(copied.form(), out),
            (Self::Typed(_) | Self::Copied(_), _) => {}
            (Self::Fields(projection), _) => {
                for row in rows {
                    projection.project(row.slice(bytes), &mut out.text);
                    out.ends.push(out.text.len());
                }
            }
            (Self::Objects(all, extra), _) => {
                let Rewritten { text, ends, refused, with_default, objects, .. } = out;
                let objects = objects.get_or_insert_with(|| all.clone());
                for (index, row) in rows.iter().enumerate() {
                    let row = row.slice(bytes);
                    match objects.put_row(row, text) {
                        Ok(RowFacts { has_default: true }) => with_default.push(index),
                        Ok(_) => {}
                        Err(why) => {
                            let refusal = RowRefusal::from_line(why, objects.reject_line(row));
                            refusal.put(objects.columns(), text);
                            refused.push((index, refusal));
                        }
                    }
                    ends.push(text.len());
                }
                let left_out = objects.take_left_out();
                if !left_out.is_empty() {
                    extra.add(&left_out);
                }
            }
        }
    }

    /// Returns a writer for the keys of a batch whose rows are encoded.
    pub(super) fn key_text<'b>(&'b self, batch: &'b Batch) -> Option<KeyText<'b>> {
        match (self, batch) {
            (Self::Typed(typed), Batch::Typed(batch)) => typed.key_text(batch).map(KeyText::Typed),
            (_, Batch::Copied(rows)) => Some(KeyText::Copied(rows)),
            _ => None,
        }
    }
}
