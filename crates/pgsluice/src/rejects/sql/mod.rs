//! Statements about tables of rejected rows, which belong to the user.

use pgsluice_core::catalog::quote_identifier;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error as PgError};

use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::pg::template::fill;

/// Selects the qualified name of the table `$1`, its writable columns, their types as OIDs, and its own OID.
/// Returns no row if it does not exist.
const FIND: &str = "
SELECT pg_catalog.concat(pg_catalog.quote_ident(n.nspname), '.', pg_catalog.quote_ident(c.relname)),
       ARRAY(SELECT a.attname::pg_catalog.text FROM pg_catalog.pg_attribute a
             WHERE a.attrelid {eq} c.oid AND a.attnum {gt} 0 AND NOT a.attisdropped AND a.attgenerated {eq} ''
             ORDER BY a.attnum),
       ARRAY(SELECT a.atttypid FROM pg_catalog.pg_attribute a
             WHERE a.attrelid {eq} c.oid AND a.attnum {gt} 0 AND NOT a.attisdropped AND a.attgenerated {eq} ''
             ORDER BY a.attnum), c.oid
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid {eq} c.relnamespace
WHERE c.oid {eq} pg_catalog.to_regclass($1)";

/// A table for rejected rows.
#[derive(Debug, Default)]
pub(crate) struct FoundRejects {
    /// The qualified name, quoted if necessary.
    pub(crate) name: String,
    pub(super) oid: u32,
    /// The writable columns with their types.
    pub(crate) columns: Vec<(String, Type)>,
}

impl FoundRejects {
    /// Finds the table that `table` names in this session.
    ///
    /// # Errors
    ///
    /// Fails if no such table exists, or if the connection is lost.
    pub(crate) async fn find(client: &Client, table: &str) -> Result<Self> {
        let found = client.query_typed_opt(&fill(FIND, &[]), &[(&table, Type::TEXT)]).await?;
        let found = found.ok_or_else(|| missing(table))?;
        let (names, types) = (found.get::<_, Vec<String>>(1), found.get::<_, Vec<u32>>(2));
        let types = types.into_iter().map(|oid| Type::from_oid(oid).unwrap_or(Type::UNKNOWN));
        Ok(Self {
            name: found.get(0),
            oid: found.get(3),
            columns: names.into_iter().zip(types).collect(),
        })
    }

    /// Inserts rows in one round trip. `rows` is a JSON array of objects with at least these columns. The
    /// values are read by the types of the table.
    pub(crate) async fn insert(
        &self,
        client: &Client,
        columns: &[String],
        rows: &str,
    ) -> Result<(), PgError> {
        let name = &self.name;
        let list = |before: &str| {
            let columns =
                columns.iter().map(|column| format!("{before}{}", quote_identifier(column)));
            columns.collect::<Vec<_>>().join(", ")
        };
        let statement = format!(
            "INSERT INTO {name} ({}) SELECT {} FROM pg_catalog.json_populate_recordset(NULL::{name}, \
             $1::pg_catalog.json) AS r",
            list(""),
            list("r.")
        );
        client.execute_typed(&statement, &[(&rows, Type::TEXT)]).await.map(|_| ())
    }

    /// Returns the source and the offset of each row.
    pub(crate) async fn places(&self, client: &Client) -> Result<Vec<(String, u64)>, PgError> {
        let statement = format!(
            "SELECT source::pg_catalog.text, \"offset\"::pg_catalog.int8 FROM {}",
            self.name
        );
        let rows = client.query_typed(&statement, &[]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get::<_, i64>(1) as u64)).collect())
    }
}

/// Returns the error for a table of rejected rows that does not exist.
fn missing(table: &str) -> Error {
    Error::new(Kind::Server, format!("relation \"{table}\" does not exist"))
        .with_sqlstate("42P01")
        .with_detail("Rejected rows are to be stored there.")
        .permanent()
}
