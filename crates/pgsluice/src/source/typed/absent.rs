//! Replacements for the readers of typed files, for a program that is built without them.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;

use pgsluice_core::column_lookup::ColumnLookup;
use pgsluice_json::{KeyTarget, Objects, UnknownKeys};

use super::parallel::{Counted, ParallelReader};
use super::rewritten::Rewritten;
use super::row_form::RowForm;
use super::spool::SpoolFile;
use super::{ByName, FileFormat, Input, InputNames, Inputs};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result, Unit};

/// The mapping of typed columns, which is never used.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    format: FileFormat,
    objects: Objects,
    form: RowForm,
}

/// A batch, which never exists.
#[derive(Debug)]
pub(crate) enum Batch {}

/// The writer of a batch's keys, which never exists.
pub(crate) struct KeyText<'b>(Infallible, PhantomData<&'b Batch>);

impl KeyText<'_> {
    pub(crate) fn get(&mut self, _: usize) -> Option<&[u8]> {
        match self.0 {}
    }
}

/// Batches from the calling program, which never exist.
#[derive(Clone, Debug)]
pub(in crate::source) enum CallerBatches {}

impl CallerBatches {
    pub(in crate::source) fn spool(&self, _: &Input, _: &Control) -> Result<SpoolFile> {
        match *self {}
    }
}

/// Rejects the inputs.
pub(crate) fn names(inputs: &Inputs, format: FileFormat, _: &Arc<Control>) -> Result<InputNames> {
    inputs.first().map_or(Ok(InputNames::default()), |first| Err(refused(first, format)))
}

fn refused(input: &Input, format: FileFormat) -> Error {
    let (name, format) = (&input.name, format.name());
    let message =
        format!("could not read {name} as {format}: this program was built without support for it");
    Error::new(Kind::Input, message)
}

/// Returns the row's number unchanged.
pub(super) fn unit(_: &Input, row: u64) -> (Unit, u64) {
    (Unit::Rows, row)
}

impl Typed {
    pub(crate) fn new(
        format: FileFormat,
        _: Vec<KeyTarget>,
        _: ByName,
        _: Arc<ColumnLookup>,
    ) -> Self {
        let objects = Objects::new(Vec::new(), UnknownKeys::Refuse);
        Self { format, objects, form: RowForm::Text }
    }

    pub(crate) fn rounding(self, _: bool) -> Self {
        self
    }

    pub(crate) fn writing(self, _: RowForm) -> Self {
        self
    }

    pub(super) fn columns(&self) -> usize {
        0
    }

    pub(super) fn form_mut(&mut self) -> &mut RowForm {
        &mut self.form
    }

    pub(super) fn key_text<'b>(&'b self, batch: &'b Batch) -> Option<KeyText<'b>> {
        match *batch {}
    }

    pub(super) fn objects(&self) -> &Objects {
        &self.objects
    }

    pub(super) fn check(&self, input: &Input) -> Result<()> {
        Err(refused(input, self.format))
    }

    pub(super) fn open(&self, input: &Input) -> Result<ParallelReader<Batch>> {
        Err(refused(input, self.format))
    }

    pub(super) fn write(&self, batch: &Batch, _: &mut Rewritten) {
        match *batch {}
    }
}

impl Counted for Batch {
    fn count(&self) -> usize {
        match *self {}
    }
}
