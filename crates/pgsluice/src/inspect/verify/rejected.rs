//! Rows that a load has rejected. The log contains their locations in the input.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use pgsluice_core::origin::Origin;
use serde::Deserialize;
use tokio_postgres::Client;

use crate::error::kind::Kind;
use crate::error::{Error, Result, plain_io};
use crate::job::log_of;
use crate::rejects::sql::FoundRejects;
use crate::source::Inputs;

/// The offsets of rejected rows, by the name of the input.
#[derive(Debug, Default)]
pub(super) struct Rejected(HashMap<String, HashSet<u64>>);

/// The fields of a line of the log that are needed here.
#[derive(Deserialize)]
struct RejectedLine {
    source: String,
    offset: u64,
}

impl Rejected {
    /// Reads the log of the reject file `file`.
    pub(super) fn read(file: &Path) -> Result<Self> {
        let log = log_of(file);
        let failed = |why: String| {
            let message = format!("could not read file \"{}\": {why}", log.display());
            Error::new(Kind::Input, message)
        };
        let text = fs::read_to_string(&log).map_err(|error| failed(plain_io(&error)))?;
        let mut rows: HashMap<String, HashSet<u64>> = HashMap::new();
        for line in text.lines() {
            let line = serde_json::from_str(line);
            let RejectedLine { source, offset } =
                line.map_err(|error| failed(error.to_string()))?;
            rows.entry(source).or_default().insert(offset);
        }
        Ok(Self(rows))
    }

    /// Selects the rows of a table of rejected rows.
    pub(super) async fn select(client: &Client, table: &str) -> Result<Self> {
        let mut rows: HashMap<String, HashSet<u64>> = HashMap::new();
        let found = FoundRejects::find(client, table).await?;
        for column in ["source", "offset"] {
            if !found.columns.iter().any(|(name, _)| name == column) {
                let message = format!("table {} has no column \"{column}\"", found.name);
                return Err(Error::new(Kind::Usage, message).with_detail(
                    "Only source and offset together say which rows of the input were rejected.",
                ));
            }
        }
        for (source, offset) in found.places(client).await? {
            rows.entry(source).or_default().insert(offset);
        }
        Ok(Self(rows))
    }

    /// Whether the row at this position is rejected.
    pub(super) fn has(&self, inputs: &Inputs, at: Origin) -> bool {
        let input = inputs.get(at.input as usize);
        let rows = input.and_then(|input| self.0.get(&input.name));
        rows.is_some_and(|rows| rows.contains(&at.at))
    }
}
