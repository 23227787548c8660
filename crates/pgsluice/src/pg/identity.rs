//! Identifies a table in a caller's transaction, and compares it with the table that pgsluice sees in another
//! session.

use std::collections::BTreeMap;

use pgsluice_core::catalog::Relation;
use serde::Deserialize;
use tokio_postgres::Client;
use tokio_postgres::types::Oid;

use super::sql::{self, literal};
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::pg::template::fill;

/// Query for the identity of a table, as JSON: its server and database, and the types of its columns by name.
const ASK: &str = "
SELECT pg_catalog.json_build_object(
    'table', c.oid::pg_catalog.int8,
    'database', (SELECT d.oid::pg_catalog.int8 FROM pg_catalog.pg_database d
                 WHERE d.datname {eq} pg_catalog.current_database()),
    'server', (EXTRACT(epoch FROM pg_catalog.pg_postmaster_start_time()))::pg_catalog.text,
    'columns', (SELECT COALESCE(pg_catalog.json_object_agg(a.attname, a.atttypid::pg_catalog.int8), '{}')
                FROM pg_catalog.pg_attribute a
                WHERE a.attrelid {eq} c.oid AND a.attnum {gt} 0
                  AND NOT a.attisdropped))::pg_catalog.text
FROM pg_catalog.pg_class c WHERE c.oid {eq} pg_catalog.to_regclass({name})";

/// Query for the table that a caller's name stands for, qualified and quoted.
const NAME: &str = "
SELECT pg_catalog.concat(pg_catalog.quote_ident(n.nspname), '.', pg_catalog.quote_ident(c.relname))
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid {eq} c.relnamespace
WHERE c.oid {eq} pg_catalog.to_regclass({name})";

/// A table as a session sees it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct TableIdentity {
    table: Oid,
    database: Oid,
    server: String,
    columns: BTreeMap<String, Oid>,
}

/// Returns SQL that resolves `name` in the caller's session; no row, or NULL, means that no such table
/// exists.
#[must_use]
pub fn resolve_sql(name: &str) -> String {
    fill(NAME, &[("name", &literal(name.as_bytes()))])
}

/// Returns the queries to run in the caller's transaction; [`TableIdentity::read`] reads the answer to the last one.
/// Once the table is locked, its columns do not change until the transaction ends.
pub(crate) fn questions(table: &Relation, locks: bool) -> Vec<String> {
    let ask = fill(ASK, &[("name", &literal(table.to_string().as_bytes()))]);
    locks.then(|| sql::lock(&[table])).into_iter().chain([ask]).collect()
}

impl TableIdentity {
    /// Runs the same query in a session of pgsluice.
    pub(crate) async fn ask(client: &Client, table: &Relation) -> Result<Self> {
        let ask = fill(ASK, &[("name", &literal(table.to_string().as_bytes()))]);
        let row = client.query_typed_opt(&ask, &[]).await?;
        Self::read(row.as_ref().and_then(|row| row.get(0)))
    }

    /// Reads an answer.
    pub(crate) fn read(answer: Option<&str>) -> Result<Self> {
        let gone = || Error::new(Kind::Server, "the table does not exist").with_sqlstate("42P01");
        serde_json::from_str(answer.ok_or_else(gone)?).map_err(|error| {
            Error::new(Kind::Server, format!("could not parse the server's answer: {error}"))
        })
    }

    /// Rejects a table that the caller sees differently, as `theirs`, and rows that were encoded for other
    /// types of `columns`.
    pub(crate) fn check<'c>(
        &self,
        theirs: &Self,
        label: &str,
        mut columns: impl Iterator<Item = (&'c str, Oid)>,
    ) -> Result<()> {
        if (&self.server, self.database) != (&theirs.server, theirs.database) {
            let message = "the connection and conninfo refer to different databases";
            return Err(Error::new(Kind::Usage, message).with_hint(
                "pgsluice reads the partition tree in a session of its own: pass a conninfo for \
                 the same server.",
            ));
        }
        let changed = || {
            let message =
                format!("other sessions do not see table {label} as this transaction does");
            Error::new(Kind::Server, message).with_sqlstate("55000").with_hint(
                "It was created, replaced or altered, in this transaction or meanwhile: commit \
                 that first, and copy again.",
            )
        };
        let is_same = self.table == theirs.table
            && columns.all(|(name, ty)| theirs.columns.get(name) == Some(&ty));
        if is_same { Ok(()) } else { Err(changed()) }
    }
}
