//! Shape: how the rows of all inputs of a load are read.

use std::sync::{Arc, OnceLock};

use pgsluice_core::format::Format;
use pgsluice_core::split::Splitter;
use pgsluice_json::Objects;

use super::batches::{Batches, KeyText};
use super::extra::Extra;
use super::headers::FirstHeader;
use super::rewrite::Rewrite;
use super::rewritten::RowRefusal;
use super::typed::Typed;
use super::written::Written;
use super::{Header, Input, Split};
use crate::error::Result;

/// How the rows of all inputs of a load are read.
#[derive(Clone, Debug)]
pub struct Shape {
    /// How they are written: in the inputs, or once they are rewritten.
    pub format: Format,
    /// What the first ones are.
    pub header: Header,
    /// What a header that is compared must say, and so the names of all fields.
    pub names: Vec<String>,
    /// All columns of the table.
    pub(crate) known: Vec<String>,
    /// The header of the first input that has one, once it was read.
    pub(crate) first: Arc<OnceLock<FirstHeader>>,
    /// Names that are left out.
    pub(crate) extra: Arc<Extra>,
    /// What becomes of rows that cannot be taken as they stand.
    pub(crate) rewrite: Option<Rewrite>,
}

impl Shape {
    /// Rows that are taken as they stand.
    pub fn new(format: Format, header: Header, names: Vec<String>) -> Self {
        let (known, first, extra) = (names.clone(), Arc::default(), Arc::default());
        Self { format, header, names, known, first, extra, rewrite: None }
    }

    /// Finds the rows of one input.
    pub(crate) fn splitter(&self) -> Splitter {
        match self.is_of_objects() {
            true => Splitter::by_line(),
            false => Splitter::new(&self.format),
        }
    }

    /// How a field is spelled that stands for the default of its column, if any may.
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

    /// A line of an input, as a file of rejected rows has it.
    pub(crate) fn shown(&self, line: Vec<u8>) -> Vec<u8> {
        match &self.rewrite {
            Some(Rewrite::Objects(objects, _)) => objects.shown(&line),
            _ => line,
        }
    }

    /// Finds the rows in a file of rejected ones, which are written so that they can be loaded.
    pub(crate) fn splitter_of_rejects(&self) -> Splitter {
        match self.rewrite {
            None | Some(Rewrite::Fields(_)) => Splitter::new(&self.format),
            Some(_) => Splitter::by_line(),
        }
    }

    /// A row that was sent, as a file of rejected rows has it.
    pub(crate) fn rejected(&self, sent: &[u8]) -> Vec<u8> {
        let Some(objects) = self.objects() else { return sent.to_vec() };
        if let Some(refusal) = self.refusal(sent) {
            return refusal.row;
        }
        let mut object = Vec::new();
        objects.put_object(sent, &mut object);
        object
    }

    /// What is wrong with a row of the input, if `sent` was sent in its place because no row can be made of it.
    pub(crate) fn refusal(&self, sent: &[u8]) -> Option<RowRefusal> {
        RowRefusal::read(sent, self.objects()?.columns())
    }

    /// What writes rows as objects, if that is how rejected ones are kept.
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
        self.written(|_, _| Written::Text)
    }

    /// Returns the shape for routing only: rows in batches are written with the `wanted` columns and no others.
    pub(crate) fn in_keys(&self, wanted: &[usize]) -> Self {
        self.written(|_, columns| Written::keys(columns, wanted))
    }

    /// Returns the shape that also writes the keys of rows in batches as text, for messages and for the server.
    pub(crate) fn with_key_text(&self) -> Self {
        self.written(|written, _| written.with_key_text())
    }

    /// Makes a writer for the keys of rows in `split` that were written in binary only.
    pub(crate) fn key_text<'s>(&'s self, split: &'s Split) -> Option<KeyText<'s>> {
        self.rewrite.as_ref()?.key_text(split.batch.as_ref()?)
    }

    fn written(&self, write: impl FnOnce(&Written, usize) -> Written) -> Self {
        let mut shape = self.clone();
        let of_batches = match &mut shape.rewrite {
            Some(Rewrite::Typed(typed)) => Some((typed.columns(), typed.written_mut())),
            Some(Rewrite::Copied(copied)) => Some((copied.columns(), copied.written_mut())),
            _ => None,
        };
        if let Some((columns, written)) = of_batches {
            *written = write(written, columns);
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

    /// The least and the greatest values of a column in an input, as text, if it says them of all its rows.
    #[cfg(feature = "parquet")]
    pub(crate) fn extremes(&self, input: &Input, column: usize) -> Option<Vec<Vec<u8>>> {
        self.typed()?.extremes(input, column)
    }

    /// Nothing is known of them.
    #[cfg(not(feature = "parquet"))]
    pub(crate) fn extremes(&self, _: &Input, _: usize) -> Option<Vec<Vec<u8>>> {
        None
    }

    /// What reads the files, if their columns have types.
    pub(super) fn typed(&self) -> Option<&Typed> {
        match &self.rewrite {
            Some(Rewrite::Typed(typed)) => Some(typed),
            _ => None,
        }
    }

    /// What a row of an input becomes.
    pub(crate) fn rewritten(&self, row: Vec<u8>) -> Vec<u8> {
        let Some(rewrite) = &self.rewrite else { return row };
        let mut rewritten = Vec::new();
        rewrite.one(&row, &mut rewritten);
        rewritten
    }
}
