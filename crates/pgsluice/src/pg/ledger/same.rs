//! The question whether a finished load has loaded the same inputs into the same table.

use pgsluice_core::catalog::Relation;
use tokio_postgres::Client;

use super::Named;
use crate::pg::sql::literal;

/// A load that was finished before.
pub(crate) struct Earlier {
    pub(crate) id: String,
    /// When, in the server's words.
    pub(crate) ended: String,
}

impl Named {
    /// The last finished load into `table` whose inputs, as many as `count`, are those of the JSON `files`, if
    /// the table has any row. A table that this user may not read is taken to have some.
    pub(crate) async fn earlier(
        &self,
        client: &Client,
        table: &Relation,
        (files, count): (&str, i32),
    ) -> Result<Option<Earlier>, tokio_postgres::Error> {
        // Before any text of the user's, which may look like it.
        let ledger = self.sql("{ledger}");
        let name = literal(table.to_string().as_bytes());
        let sql = format!(
            "SELECT id, ended::pg_catalog.text, pg_catalog.has_table_privilege(relation, 'SELECT')
             FROM ONLY {ledger}.load
             WHERE relation OPERATOR(pg_catalog.=) {name}::pg_catalog.regclass::pg_catalog.oid
               AND participant OPERATOR(pg_catalog.=) '' AND id OPERATOR(pg_catalog.<>) $1
               AND state OPERATOR(pg_catalog.=) 'finished' AND rows_inserted OPERATOR(pg_catalog.>) 0
               AND pg_catalog.jsonb_array_length(sources) OPERATOR(pg_catalog.=) $3
               AND sources OPERATOR(pg_catalog.@>) $2::pg_catalog.text::pg_catalog.jsonb
             ORDER BY ended DESC LIMIT 1"
        );
        let found = client.query_opt(&sql, &[&self.id, &files, &count]).await?;
        let Some(found) = found else { return Ok(None) };
        if found.get(2) {
            let holds =
                client.query_one(&format!("SELECT EXISTS (SELECT FROM {table})"), &[]).await?;
            if !holds.get::<_, bool>(0) {
                return Ok(None);
            }
        }
        Ok(Some(Earlier { id: found.get(0), ended: found.get(1) }))
    }
}
