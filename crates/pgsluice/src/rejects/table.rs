//! A table of rejected rows. They are inserted in the transaction of the accepted rows, so that nothing must
//! be reconciled.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::sql::FoundRejects;
use super::{Reject, RejectReport, RejectWriteError};
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::job::{Job, RejectPlace, Rejects};
use crate::pg::is_answer;
use crate::plan::Plan;

/// The columns that are filled if the table has them.
const COLUMNS: [&str; 12] = [
    "load",
    "source",
    "row_group",
    "line",
    "offset",
    "ctid",
    "table",
    "column",
    "sqlstate",
    "message",
    "detail",
    ROW,
];

/// The column for the row. The table must have it.
const ROW: &str = "row";

/// SQLSTATEs for text that the encoding cannot represent.
const NO_TEXT: [&str; 2] = ["22021", "22P05"];

/// The table for the rejects of a load, and its columns that are filled.
#[derive(Default)]
pub(crate) struct RejectTable {
    found: FoundRejects,
    columns: Vec<String>,
    /// The type of the column for the row.
    ty: RowType,
}

/// The storage of a row.
#[derive(Clone, Copy, Default, PartialEq)]
enum RowType {
    #[default]
    Text,
    Bytes,
    /// The object itself, instead of a string with its text.
    Json,
}

/// A row of the table.
#[derive(Serialize)]
struct RejectRow<'r> {
    #[serde(flatten)]
    report: RejectReport<'r>,
    row: StoredRow<'r>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum StoredRow<'r> {
    Text(Cow<'r, str>),
    Json(&'r RawValue),
}

impl RejectTable {
    /// Finds the table of the job, if it has one. The name is resolved as in this session.
    ///
    /// # Errors
    ///
    /// Fails if there is no such table, or if it has no column for the row.
    pub(crate) async fn find(job: &Job, plan: &Plan, client: &Client) -> Result<Option<Self>> {
        match &job.safety.rejects {
            Some(Rejects { place: RejectPlace::Table(name), .. }) => {
                Self::open(client, name, plan).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    async fn open(client: &Client, name: &str, plan: &Plan) -> Result<Self> {
        let found = FoundRejects::find(client, name).await.map_err(|error| {
            match error.sqlstate() {
            Some("42P01") => error.with_hint(format!(
                "Create it: CREATE TABLE {name} (load text, source text, line bigint, \"offset\" \
                 bigint, \"table\" text, \"column\" text, sqlstate text, message text, detail \
                 text, \"row\" text)"
            )),
            _ => error,
        }
        })?;
        if plan.catalogue.facts.iter().any(|facts| facts.oid == found.oid) {
            let message = format!("table {} is loaded itself", found.name);
            return Err(Error::new(Kind::Usage, message)
                .with_detail("Rejected rows cannot be stored in the table that rejects them.")
                .with_hint("Name another table."));
        }
        let Some((_, ty)) = found.columns.iter().find(|(column, _)| column == ROW) else {
            let message = format!("table {} has no column \"{ROW}\"", found.name);
            let hint = format!("Add it: ALTER TABLE {} ADD \"{ROW}\" text", found.name);
            return Err(Error::new(Kind::Usage, message)
                .with_detail("Rejected rows are to be stored there.")
                .with_hint(hint));
        };
        let ty = match *ty {
            Type::BYTEA => RowType::Bytes,
            Type::JSON | Type::JSONB => RowType::Json,
            _ => RowType::Text,
        };
        let columns = found.columns.iter().map(|(column, _)| column.clone());
        let columns = columns.filter(|column| COLUMNS.contains(&&**column)).collect();
        Ok(Self { found, columns, ty })
    }

    /// Inserts rejects of the load `id`.
    ///
    /// # Errors
    ///
    /// Fails if the server refuses the rows, or if a row is not text and the table takes only text.
    pub(super) async fn insert(
        &self,
        client: &Client,
        id: &str,
        rejects: &[Reject],
    ) -> Result<(), RejectWriteError> {
        let rows = rejects.iter().map(|reject| {
            let row = self.convert(&reject.row)?;
            Ok(RejectRow { report: RejectReport::new(id, reject), row })
        });
        let rows = rows.collect::<Result<Vec<_>>>()?;
        let rows = serde_json::to_string(&rows).map_err(|error| {
            Error::new(Kind::Internal, format!("internal error: no JSON of rejects: {error}"))
        })?;
        let inserted = self.found.insert(client, &self.columns, &rows).await;
        inserted.map_err(|error| {
            if !is_answer(&error) {
                return RejectWriteError::Lost(error);
            }
            let error = Error::from(error).with_kind(Kind::Server);
            RejectWriteError::Refused(match error.sqlstate() {
                Some(code) if NO_TEXT.contains(&code) && self.ty == RowType::Text => {
                    self.takes_text(error)
                }
                _ => self.explain(error),
            })
        })
    }

    /// Converts a row into the type of the column.
    fn convert<'r>(&self, row: &'r [u8]) -> Result<StoredRow<'r>> {
        if self.ty == RowType::Bytes {
            let digits = row.iter().map(|byte| format!("{byte:02x}"));
            let text: String = std::iter::once("\\x".to_owned()).chain(digits).collect();
            return Ok(StoredRow::Text(text.into()));
        }
        match std::str::from_utf8(row) {
            Ok(text) if !text.contains('\0') => Ok(match serde_json::from_str(text) {
                Ok(object) if self.ty == RowType::Json => StoredRow::Json(object),
                _ => StoredRow::Text(text.into()),
            }),
            _ => {
                let message = "a rejected row has bytes that are not text";
                Err(self.takes_text(Error::new(Kind::Data, message).with_sqlstate("22021")))
            }
        }
    }

    fn takes_text(&self, error: Error) -> Error {
        let name = &self.found.name;
        self.explain(error).with_hint(format!(
            "Have the table take bytes: ALTER TABLE {name} ALTER \"{ROW}\" TYPE bytea USING \
             pg_catalog.convert_to(\"{ROW}\"::pg_catalog.text, 'UTF8')"
        ))
    }

    fn explain(&self, error: Error) -> Error {
        error.with_detail(format!("Rejected rows were to be stored in {}.", self.found.name))
    }
}
