//! Conversion of the rows of a batch to the formats of COPY.

use pgsluice_arrow::{BoundBatch, RowError, UnfitValue};
use pgsluice_core::encode::NotEncodable;

use super::super::key_form::KeyForm;
use super::super::parallel::Counted as _;
use super::super::rewritten::{Rewritten, RowRefusal};
use super::super::row_form::RowForm;
use super::{Batch, Typed};

/// Writes the keys of rows of a batch as text.
pub(crate) struct KeyText<'b> {
    bound: BoundBatch<'b>,
    keys: &'b [bool],
    text: Vec<u8>,
}

impl KeyText<'_> {
    /// Returns the row with this number as COPY text, with empty columns in place of those that are not keys;
    /// `None` if a key has no text.
    pub(in crate::source) fn get(&mut self, row: usize) -> Option<&[u8]> {
        self.text.clear();
        self.bound.put_keys(self.keys, row, &mut self.text).ok()?;
        Some(&self.text)
    }
}

impl Typed {
    /// Makes a writer for the keys of a batch whose rows are encoded.
    pub(in crate::source) fn key_text<'b>(&'b self, batch: &'b Batch) -> Option<KeyText<'b>> {
        let RowForm::Encoded(keys, _) = &self.form else { return None };
        let bound = batch.mapping.bind(&batch.rows).ok()?;
        Some(KeyText { bound, keys, text: Vec::new() })
    }

    /// Writes the rows of a batch.
    pub(in crate::source) fn write(&self, batch: &Batch, out: &mut Rewritten) {
        let bound = batch.mapping.bind(&batch.rows);
        out.has_binary_keys = matches!(self.form, RowForm::Encoded(_, KeyForm::Binary));
        for row in 0..batch.count() {
            let written = match &bound {
                Ok(bound) => self.write_row(bound, row, out),
                // The file contradicts its own schema.
                Err(misfit) => Err(RowRefusal::new(misfit.to_string(), Vec::new())),
            };
            if let Err(refusal) = written {
                refusal.put(self.columns(), &mut out.text);
                out.refused.push((row, refusal));
            }
            out.ends.push(out.text.len());
        }
    }

    fn write_row(
        &self,
        bound: &BoundBatch<'_>,
        row: usize,
        out: &mut Rewritten,
    ) -> Result<(), RowRefusal> {
        let (keys, form) = match &self.form {
            RowForm::Encoded(keys, form) => (keys, *form),
            RowForm::Text => {
                let written = bound.put_text(row, &mut out.text);
                return written.map_err(|unfit| self.refusal(bound, row, &unfit));
            }
            RowForm::Keys(keys) => {
                let written = bound.put_keys(keys, row, &mut out.text);
                return written.map_err(|unfit| self.refusal(bound, row, &unfit));
            }
        };
        let (encoded, written) = match bound.put_binary(row, &mut out.encoded) {
            Ok(()) if form == KeyForm::Binary => (Ok(out.encoded.len()), Ok(())),
            Ok(()) => (Ok(out.encoded.len()), bound.put_keys(keys, row, &mut out.text)),
            Err(RowError::Spelling(column)) => {
                (Err(NotEncodable::Value(column)), bound.put_text(row, &mut out.text))
            }
            Err(RowError::Unfit(unfit)) => (Err(NotEncodable::Value(unfit.column)), Err(unfit)),
        };
        out.encoded_ends.push(encoded);
        written.map_err(|unfit| self.refusal(bound, row, &unfit))
    }

    /// Returns the reason why a row does not fit, and the row as an object: values that fit are written like
    /// their columns' values, and the others in their original form.
    fn refusal(&self, bound: &BoundBatch<'_>, row: usize, unfit: &UnfitValue) -> RowRefusal {
        let mut text = Vec::new();
        let unfits = bound.put_fitting(row, &mut text);
        let put_other = |column: usize, out: &mut Vec<u8>| {
            unfits.contains(&column) && {
                bound.put_json(column, row, out);
                true
            }
        };
        let mut object = Vec::new();
        self.objects.put_object_with(&text, put_other, &mut object);
        let name = &self.columns[unfit.column].column.name;
        let refusal = RowRefusal::new(format!("column {name}: {}", unfit.why), object);
        RowRefusal { can_round: unfit.can_round, ..refusal }
    }
}
