//! Rows that a load has rejected: its log says where they are in the input.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use pgsluice_core::position::Origin;
use serde::Deserialize;

use crate::error::kind::Kind;
use crate::error::{Error, Result, plain_io};
use crate::job::{Most, Rejects};
use crate::source::Inputs;

/// The rejected rows of inputs, by name and byte.
#[derive(Debug, Default)]
pub struct Rejected(HashSet<(String, u64)>);

/// What is read of a line of the log.
#[derive(Deserialize)]
struct Line {
    source: String,
    offset: u64,
}

impl Rejected {
    /// Reads the log of the reject file `file`.
    pub fn read(file: &Path) -> Result<Self> {
        let log = Rejects { file: file.to_owned(), most: Most::Rows(0) }.log();
        let failed = |why: String| {
            let message = format!("could not read file \"{}\": {why}", log.display());
            Error::new(Kind::Input, message)
        };
        let text = fs::read_to_string(&log).map_err(|error| failed(plain_io(&error)))?;
        let rows = text.lines().map(|line| {
            let Line { source, offset } =
                serde_json::from_str(line).map_err(|error| failed(error.to_string()))?;
            Ok((source, offset))
        });
        Ok(Self(rows.collect::<Result<_>>()?))
    }

    /// Whether the row that begins there is one of them.
    pub(super) fn has(&self, inputs: &Inputs, at: Origin) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let name = inputs.get(at.input as usize).map(|input| input.name.clone());
        name.is_some_and(|name| self.0.contains(&(name, at.at)))
    }
}
