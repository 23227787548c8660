//! The log of the keys that change while a table is copied.

use std::time::Duration;

use pgsluice_core::catalog::Relation;
use serde::{Deserialize, Serialize};
use tokio_postgres::Client;
use tokio_postgres::types::Oid;

use super::hold::replaced;
use super::patience::patiently;
use super::sql::log::{COLUMNS, Log, LoggedColumn};
use super::sql::values::STORED;
use super::table::Table;
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::partitions::names::ExistingNames;
use crate::pg::connect::Link;

/// Facts that must not change while changes are logged.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct Watched {
    triggers: Option<String>,
    filenode: Option<Oid>,
    /// The columns of the table.
    columns: Option<String>,
    /// The transactions that have altered the columns.
    altered: Option<String>,
}

impl Log {
    /// Describes a log of `table`. Returns `None` if no key identifies its rows. `key` are the columns of the
    /// partition keys.
    pub(super) async fn describe(
        client: &Client,
        oid: Oid,
        table: &Relation,
        key: &[String],
        names: &mut ExistingNames,
    ) -> Result<Option<Self>> {
        let rows = client.query(COLUMNS, &[&oid, &key]).await?;
        // Names in the log must not hide those in the table, in a condition on both.
        let all = client.query(STORED, &[&oid]).await?;
        let stored: Vec<String> = all.iter().map(|row| row.get(0)).collect();
        let mut prefix = "key_".to_owned();
        while stored.iter().any(|name| name.starts_with(&prefix)) {
            prefix.push('_');
        }
        let column = |(nth, row): (usize, &tokio_postgres::Row)| LoggedColumn {
            name: row.get(0),
            logged: format!("{prefix}{nth}"),
            ty: row.get(1),
            equal: row.get(2),
            is_key: row.get(3),
            is_nullable: row.get(4),
        };
        let columns: Vec<LoggedColumn> = rows.iter().enumerate().map(column).collect();
        if columns.is_empty() {
            return Ok(None);
        }
        let mut free = |suffix: &str| {
            let name = &table.name;
            let end = (0..=name.len().min(40)).rev().find(|&end| name.is_char_boundary(end));
            names.free(&table.schema, &format!("{}{suffix}", &name[..end.unwrap_or(0)]))
        };
        let log = free("_log");
        let mut beside =
            |suffix: &str| names.free(&log.schema, &format!("{}{suffix}", log.name)).to_string();
        Ok(Some(Self {
            table: table.to_string(),
            label: table.label(),
            name: log.to_string(),
            second: beside("_second"),
            truncated: truncate_function(&log),
            seq: beside("_seq"),
            void: beside("_void"),
            number: format!("{prefix}number"),
            columns,
            stored,
        }))
    }

    /// Begins to log after all transactions that write to the table have ended. One attempt makes others wait
    /// for at most `max_lock`.
    pub(super) async fn begin(
        &self,
        link: &Link,
        table: &Table,
        max_lock: Duration,
        control: &Control,
    ) -> Result<Watched> {
        patiently(&self.watch(), std::slice::from_ref(&self.table), link, max_lock, control)
            .await?;
        Ok(self.look(&link.client, table.oid).await?.0)
    }

    /// Returns the facts that must not change, and the number of the last entry. Fails if the log is incomplete.
    async fn look(&self, client: &Client, oid: Oid) -> Result<(Watched, i64)> {
        let row = client.query_one(&self.facts(), &[&oid]).await?;
        if !row.get::<_, bool>(6) {
            return Err(replaced(&self.label));
        }
        if row.get(0) {
            return Err(
                self.incomplete("It was truncated, or more rows were changed than the log takes.")
            );
        }
        let watched = Watched {
            triggers: row.get(2),
            filenode: row.get(3),
            altered: row.get(4),
            columns: row.get(5),
        };
        Ok((watched, row.get::<_, Option<i64>>(1).unwrap_or(0)))
    }

    /// Fails if a change may not have been logged. Returns the number of the last entry.
    pub(super) async fn check(&self, client: &Client, oid: Oid, was: &Watched) -> Result<i64> {
        let (now, last) = self.look(client, oid).await?;
        if now.triggers != was.triggers {
            return Err(self.incomplete("A trigger of pgsluice was dropped, disabled or altered."));
        }
        // A column that is dropped and added again looks the same, but has other values.
        if now.columns != was.columns {
            return Err(self.incomplete("Its columns were altered."));
        }
        // VACUUM FULL and CLUSTER alter no column. ALTER TYPE changes values without firing a trigger.
        if now.filenode != was.filenode && now.altered != was.altered {
            return Err(self.incomplete("It was rewritten, and its columns were altered."));
        }
        Ok(last)
    }

    /// Fails if rows have moved to other pages, so that a copy by pages cannot continue.
    pub(super) async fn check_pages(&self, client: &Client, oid: Oid, was: &Watched) -> Result<()> {
        let (now, _) = self.look(client, oid).await?;
        match now.filenode == was.filenode {
            true => Ok(()),
            false => Err(self.incomplete("It was rewritten before all rows were copied.")),
        }
    }

    fn incomplete(&self, why: &str) -> Error {
        let message = format!("not all changes of table {} were logged", self.label);
        Error::new(Kind::Server, message)
            .with_sqlstate("55000")
            .permanent()
            .with_detail(why)
            .only_hint("Run the command again: it begins with a new copy.")
    }
}

/// Returns the name of the function of the TRUNCATE trigger for the log `log`.
pub(super) fn truncate_function(log: &Relation) -> String {
    Relation { schema: log.schema.clone(), name: format!("{}_truncate", log.name) }.to_string()
}
