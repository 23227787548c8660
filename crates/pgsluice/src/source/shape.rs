//! Shape: the format of the rows of all inputs of a load, their header and their conversion.

use std::sync::{Arc, OnceLock};

use pgsluice_core::format::Format;
use pgsluice_core::split::Splitter;
use pgsluice_json::Objects;

use super::batches::{Batches, KeyText};
use super::extra::Extra;
use super::headers::FirstHeader;
use super::rewrite::Rewrite;
use super::rewritten::RowRefusal;
use super::row_form::RowForm;
use super::typed::Typed;
use super::{Header, Input, Split};
use crate::error::Result;

/// The format of the rows of all inputs of a load, their header and their conversion.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The format of the rows, in the inputs or after conversion.
    pub format: Format,
    /// The meaning of the first rows.
    pub header: Header,
    /// The names of all fields, which a header that is compared must contain.
    pub names: Vec<String>,
    /// All columns of the table.
    pub(crate) known: Vec<String>,
    /// The header of the first input that has one, once it was read.
    pub(crate) first: Arc<OnceLock<FirstHeader>>,
    /// The names that are left out.
    pub(crate) extra: Arc<Extra>,
    /// The conversion of rows, if they need one.
    pub(crate) rewrite: Option<Rewrite>,
}

impl Shape {
    /// Creates a shape for rows that need no conversion.
    pub fn new(format: Format, header: Header, names: Vec<String>) -> Self {
        let (known, first, extra) = (names.clone(), Arc::default(), Arc::default());
        Self { format, header, names, known, first, extra, rewrite: None }
    }

    /// Creates a splitter for one input.
    pub(crate) fn splitter(&self) -> Splitter {
        match self.is_of_objects() {
            true => Splitter::by_line(),
            false => Splitter::new(&self.format),
        }
    }

    /// Returns the spelling of a field that stands for the default of its column, if rows may have such
    /// fields.
    pub(crate) fn default(&self) -> Option<Vec<u8>> {
        match &self.rewrite {
            Some(Rewrite::Objects(objects, _)) if objects.has_defaults() => {
                Some(pgsluice_json::DEFAULT.to_vec())
            }
            _ => None,
        }
    }

    /// Whether each line is a JSON object.
    pub(crate) fn is_of_objects(&self) -> bool {
        matches!(self.rewrite, Some(Rewrite::Objects(..)))
    }

    /// Whether each line is an array of values.
    pub(super) fn is_of_rows(&self) -> bool {
        matches!(&self.rewrite, Some(Rewrite::Objects(objects, _)) if objects.are_rows())
    }

    /// Returns a line of an input in the form for a file of rejected rows.
    pub(crate) fn reject_line(&self, line: Vec<u8>) -> Vec<u8> {
        match &self.rewrite {
            Some(Rewrite::Objects(objects, _)) => objects.reject_line(&line),
            _ => line,
        }
    }

    /// Creates a splitter for a file of rejected rows, which are written in a form that can be loaded.
    pub(crate) fn splitter_of_rejects(&self) -> Splitter {
        match self.rewrite {
            None | Some(Rewrite::Fields(_)) => Splitter::new(&self.format),
            Some(_) => Splitter::by_line(),
        }
    }

    /// Returns a row that was sent, in the form for a file of rejected rows.
    pub(crate) fn reject_row(&self, sent: &[u8]) -> Vec<u8> {
        let Some(objects) = self.objects() else { return sent.to_vec() };
        if let Some(refusal) = self.refusal(sent) {
            return refusal.row;
        }
        let mut object = Vec::new();
        objects.put_object(sent, &mut object);
        object
    }

    /// Returns the reason why a row of the input could not be converted, if `sent` was sent in its place.
    pub(crate) fn refusal(&self, sent: &[u8]) -> Option<RowRefusal> {
        RowRefusal::read(sent, self.objects()?.columns())
    }

    /// Returns the writer of rows as objects, if rejected rows are written so.
    fn objects(&self) -> Option<&Objects> {
        match self.rewrite.as_ref()? {
            Rewrite::Fields(_) => None,
            Rewrite::Objects(objects, _) => Some(objects),
            Rewrite::Typed(typed) => Some(typed.objects()),
            Rewrite::Copied(copied) => Some(copied.objects()),
        }
    }

    /// Returns the shape with all rows written as text.
    pub(crate) fn in_text(&self) -> Self {
        self.with_form(|_, _| RowForm::Text)
    }

    /// Returns the shape for routing only: rows in batches are written with the `wanted` columns and no others.
    pub(crate) fn in_keys(&self, wanted: &[usize]) -> Self {
        self.with_form(|_, columns| RowForm::keys(columns, wanted))
    }

    /// Returns the shape that also writes the keys of rows in batches as text, for messages and for the server.
    pub(crate) fn with_key_text(&self) -> Self {
        self.with_form(|form, _| form.with_key_text())
    }

    /// Makes a writer for the keys of rows in `split` that were written in binary only.
    pub(crate) fn key_text<'s>(&'s self, split: &'s Split) -> Option<KeyText<'s>> {
        self.rewrite.as_ref()?.key_text(split.batch.as_ref()?)
    }

    fn with_form(&self, write: impl FnOnce(&RowForm, usize) -> RowForm) -> Self {
        let mut shape = self.clone();
        let of_batches = match &mut shape.rewrite {
            Some(Rewrite::Typed(typed)) => Some((typed.columns(), typed.form_mut())),
            Some(Rewrite::Copied(copied)) => Some((copied.columns(), copied.form_mut())),
            _ => None,
        };
        if let Some((columns, form)) = of_batches {
            *form = write(form, columns);
        }
        shape
    }

    /// Starts reading an input whose rows come in batches; `None` if they do not.
    pub(super) fn open_batches(&self, input: &Input) -> Option<Result<Batches>> {
        match self.rewrite.as_ref()? {
            Rewrite::Typed(typed) => Some(typed.open(input).map(Batches::Typed)),
            Rewrite::Copied(copied) => Some(Ok(Batches::Copied(copied.open(input.table()?)))),
            Rewrite::Fields(_) | Rewrite::Objects(..) => None,
        }
    }

    /// Whether rows come in batches.
    pub(super) fn is_of_batches(&self) -> bool {
        matches!(self.rewrite, Some(Rewrite::Typed(_) | Rewrite::Copied(_)))
    }

    /// Returns the least and the greatest value of a column in an input, as text, if the input states them
    /// for all of its rows.
    #[cfg(feature = "parquet")]
    pub(crate) fn extremes(&self, input: &Input, column: usize) -> Option<Vec<Vec<u8>>> {
        self.typed()?.extremes(input, column)
    }

    /// Returns `None`: without Parquet, they are not known.
    #[cfg(not(feature = "parquet"))]
    pub(crate) fn extremes(&self, _: &Input, _: usize) -> Option<Vec<Vec<u8>>> {
        None
    }

    /// Returns the reader of typed columns, if the inputs have them.
    pub(super) fn typed(&self) -> Option<&Typed> {
        match &self.rewrite {
            Some(Rewrite::Typed(typed)) => Some(typed),
            _ => None,
        }
    }

    /// Converts a row of an input.
    pub(crate) fn rewrite_row(&self, row: Vec<u8>) -> Vec<u8> {
        let Some(rewrite) = &self.rewrite else { return row };
        let mut rewritten = Vec::new();
        rewrite.one(&row, &mut rewritten);
        rewritten
    }
}
