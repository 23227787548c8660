//! In place of what reads typed files, where the program is built without it.

use pgsluice_core::types::Column;
use pgsluice_json::Objects;

use super::rewrite::Rewritten;
use super::{FileFormat, Input, Inputs};
use crate::error::kind::Kind;
use crate::error::{Error, Result, Unit};

/// There is none.
#[derive(Clone, Debug)]
pub(crate) enum Typed {}

/// There is none.
#[derive(Debug)]
pub(crate) enum Batch {}

/// There are none.
pub(crate) enum Batches {}

/// Refuses the inputs.
pub(crate) fn names(inputs: &Inputs, format: FileFormat) -> Result<Vec<String>> {
    let Some(first) = inputs.first() else { return Ok(Vec::new()) };
    let (name, format) = (&first.name, format.name());
    let message = format!("could not read {name} as {format}: this program was built without it");
    Err(Error::new(Kind::Input, message))
}

/// Rows have numbers.
pub(super) fn unit(_: &Input, row: u64) -> (Unit, u64) {
    (Unit::Rows, row)
}

impl Typed {
    pub(crate) fn new(
        _: FileFormat,
        _: impl IntoIterator<Item = (String, Column)>,
        _: bool,
    ) -> Self {
        unreachable!("the names of such inputs cannot be read")
    }

    pub(crate) fn encoded(self, _: &[usize]) -> Self {
        self
    }

    pub(crate) fn in_text(&self) -> Self {
        self.clone()
    }

    pub(super) fn objects(&self) -> &Objects {
        match *self {}
    }

    pub(super) fn check(&self, _: &Input) -> Result<()> {
        match *self {}
    }

    pub(super) fn open(&self, _: &Input) -> Result<Batches> {
        match *self {}
    }

    pub(super) fn write(&self, _: &Batch, _: &mut Rewritten) {
        match *self {}
    }
}

impl Batch {
    pub(super) fn count(&self) -> usize {
        match *self {}
    }
}

impl Batches {
    pub(super) fn next(&mut self) -> Result<Option<(Batch, u64)>> {
        match *self {}
    }
}
