//! Statements that store descriptions of rejected rows in a table of the user's.

use pgsluice_core::catalog::quoted;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error as PgError};

use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::pg::template::fill;
use crate::writer::along::RejectRows;

/// Selects the qualified name of the table `$1`; no row if it does not exist.
const NAME: &str = "
SELECT pg_catalog.concat(pg_catalog.quote_ident(n.nspname), '.', pg_catalog.quote_ident(c.relname))
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid {eq} c.relnamespace
WHERE c.oid {eq} pg_catalog.to_regclass($1)";

/// The statement that inserts the rows `$1`, a JSON array. The table's own types read the values.
pub(crate) struct RejectInsert<'r> {
    statement: String,
    rows: &'r str,
}

impl<'r> RejectInsert<'r> {
    /// Finds the table.
    pub(crate) async fn new(client: &Client, rejects: RejectRows<'r>) -> Result<Self> {
        let RejectRows { table, columns, rows } = rejects;
        let found = client.query_typed_opt(&fill(NAME, &[]), &[(&table, Type::TEXT)]).await?;
        let Some(name) = found.map(|row| row.get::<_, String>(0)) else {
            return Err(missing(table));
        };
        let list = |before: &str| {
            let columns = columns.iter().map(|column| format!("{before}{}", quoted(column)));
            columns.collect::<Vec<_>>().join(", ")
        };
        let statement = format!(
            "INSERT INTO {name} ({}) SELECT {} FROM pg_catalog.json_populate_recordset(NULL::{name}, \
             $1::pg_catalog.json) AS r",
            list(""),
            list("r.")
        );
        Ok(Self { statement, rows })
    }

    /// Inserts the rows, in one round trip.
    pub(crate) async fn execute(&self, client: &Client) -> Result<(), PgError> {
        client.execute_typed(&self.statement, &[(&self.rows, Type::TEXT)]).await.map(|_| ())
    }
}

/// The error for a table of rejected rows that does not exist.
fn missing(table: &str) -> Error {
    Error::new(Kind::Server, format!("relation \"{table}\" does not exist"))
        .with_sqlstate("42P01")
        .with_detail("Rejected rows are to be stored there.")
        .permanent()
}
