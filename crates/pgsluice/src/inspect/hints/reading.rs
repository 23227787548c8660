//! The sample, read with other options, to see whether advice would help.

use pgsluice_core::format::{Format, Syntax};
use pgsluice_core::parse::Parser;
use pgsluice_core::split::Splitter;
use pgsluice_core::types::Codec;
use serde::de::IgnoredAny;

use super::case::{CaseColumn, HintCase};
use crate::inspect::guess::{SampleRow, in_columns};
use crate::source::FileFormat;

/// The data rows of the sample, read with some options.
pub(super) struct SampleReading {
    pub(super) rows: Vec<SampleRow>,
    /// The index of each field's column; `None` for a field that is ignored.
    pub(super) layout: Vec<Option<usize>>,
}

impl HintCase<'_> {
    /// Returns the sample's text if its rows are lines of fields that programs such as `sed` can change.
    pub(super) fn text(&self) -> Option<&[u8]> {
        let is_wide = self.how.encoding.name().starts_with("UTF16");
        let is_text = self.how.file_format == FileFormat::Delimited && !is_wide;
        let sample = self.sample.as_ref().filter(|_| is_text)?;
        Some(&sample.text)
    }

    /// Whether a program that changes text is known to change no other text, because the sample is the whole
    /// input, or because no column accepts free text.
    pub(super) fn has_no_other_text(&self) -> bool {
        let is_whole = self.sample.as_ref().is_some_and(|sample| sample.is_whole);
        is_whole || !self.columns.iter().any(CaseColumn::is_free)
    }

    /// Whether the error is about a row's fields or their values.
    pub(super) fn is_about_fields(&self) -> bool {
        self.code().starts_with("22")
    }

    /// Reads a text as the input would be read in a format. Returns `None` if it cannot be split into rows.
    pub(super) fn reading(&self, text: &[u8], format: &Format) -> Option<SampleReading> {
        let sample = self.sample.as_ref()?;
        let mut found = Vec::new();
        Splitter::new(format).scan(text, sample.is_whole, &mut found).ok()?;
        let parser = Parser::new(format, Vec::new());
        let mut rows: Vec<SampleRow> =
            found.iter().map(|row| parser.all(row.slice(text))).collect();
        let headers = self.how.header.rows().min(rows.len());
        let data = rows.split_off(headers);
        let layout = match self.how.header.is_by_name() {
            true => self.layout(rows.first()?),
            false => (0..self.columns.len()).map(Some).collect(),
        };
        Some(SampleReading { rows: data, layout })
    }

    /// Reads the sample with the current options.
    pub(super) fn present(&self) -> Option<SampleReading> {
        self.reading(self.text()?, &self.how.format)
    }

    /// Returns the columns that the names in a header match.
    fn layout(&self, header: &SampleRow) -> Vec<Option<usize>> {
        let columns: Vec<String> = self.columns.iter().map(|column| column.name.into()).collect();
        let of = |name: &Option<Vec<u8>>| {
            let name = String::from_utf8(name.clone()?).ok()?;
            let found = in_columns(&[name], &columns)?.pop()?;
            columns.iter().position(|column| *column == found)
        };
        header.iter().map(of).collect()
    }

    /// Whether each row has a field for each column, and each field may be a value of its column.
    pub(super) fn fits(&self, reading: &SampleReading) -> bool {
        let SampleReading { rows, layout } = reading;
        let is_row = |row: &SampleRow| {
            let mut pairs = row.iter().zip(layout);
            row.len() == layout.len()
                && pairs.all(|(field, at)| at.is_none_or(|at| self.may_be(at, field.as_deref())))
        };
        !rows.is_empty() && rows.iter().all(is_row)
    }

    /// Whether the sample fits the columns in this text and format, but not in the current ones.
    pub(super) fn fits_only(&self, text: &[u8], format: &Format) -> bool {
        format.check().is_ok()
            && self.fits_in(text, format)
            && !self.present().is_some_and(|present| self.fits(&present))
    }

    /// Whether the sample fits the columns in this text and format.
    pub(super) fn fits_in(&self, text: &[u8], format: &Format) -> bool {
        self.reading(text, format).is_some_and(|reading| self.fits(&reading))
    }

    /// Whether the sample fits after a program has changed values in it. Free text must not change, except in
    /// the column of the error.
    pub(super) fn fits_changed(&self, text: &[u8]) -> bool {
        let Some(changed) = self.reading(text, &self.how.format) else { return false };
        let Some(present) = self.present().filter(|_| self.fits(&changed)) else { return false };
        let keeps = |(old, new): (&SampleRow, &SampleRow)| {
            let mut fields = old.iter().zip(new).zip(&changed.layout);
            fields.all(|((old, new), at)| old == new || at.is_none_or(|at| self.may_change(at)))
        };
        present.rows.len() == changed.rows.len()
            && present.rows.iter().zip(&changed.rows).all(keeps)
    }

    /// Whether advice about the column of the error may change values of another column. Both must be
    /// numbers, or both not.
    fn may_change(&self, at: usize) -> bool {
        let kind = |at: usize| self.columns.get(at)?.codec.map(is_strict);
        let is_free = self.columns.get(at).is_none_or(CaseColumn::is_free);
        self.column == Some(at) || !is_free && self.column.is_some_and(|it| kind(it) == kind(at))
    }

    /// Whether a field may be a value of a column. For types with many spellings the check is rough.
    pub(super) fn may_be(&self, at: usize, field: Option<&[u8]>) -> bool {
        let Some(column) = self.columns.get(at) else { return false };
        let Some(text) = field else { return !column.nullness.is_not_null };
        let Some(codec) = column.codec else { return true };
        if self.is_json(at) {
            return serde_json::from_slice::<IgnoredAny>(text).is_ok();
        }
        codec.encode(text, &mut Vec::new()).is_some() || !is_strict(codec) && is_likely(text)
    }

    /// Whether the column is known to contain JSON.
    pub(super) fn is_json(&self, at: usize) -> bool {
        let is_said = self.error.message().starts_with("invalid input syntax for type json");
        let is_jsonb = matches!(self.columns[at].codec, Some(Codec::Jsonb));
        is_jsonb || is_said && self.column == Some(at)
    }
}

impl CaseColumn<'_> {
    /// Whether any text is a valid value.
    pub(super) fn is_free(&self) -> bool {
        self.codec.is_none_or(|codec| codec.encode(b"x, 'y' {", &mut Vec::new()).is_some())
    }
}

/// Whether PostgreSQL accepts only few spellings that the encoder does not.
fn is_strict(codec: &Codec) -> bool {
    use Codec::{Bool, Float4, Float8, Int2, Int4, Int8, Numeric, Oid, Uuid};
    matches!(codec, Bool | Float4 | Float8 | Int2 | Int4 | Int8 | Numeric | Oid | Uuid)
}

/// Whether a text may be a date, an address or an array.
fn is_likely(text: &[u8]) -> bool {
    text.starts_with(b"{") || text.iter().any(u8::is_ascii_digit)
}

/// Returns CSV with an unused quote character, so that no byte quotes. Returns `None` if the text contains
/// that character.
pub(super) fn without_quotes(format: &Format, text: &[u8], quote: u8) -> Option<Format> {
    let syntax = Syntax::Csv { quote, escape: quote, end_marker: false };
    (!text.contains(&quote)).then(|| Format { syntax, ..format.clone() })
}
