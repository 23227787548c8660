//! The question whether a finished load has loaded the same inputs into the same table.

use pgsluice_core::catalog::Relation;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::Named;
use crate::pg::sql::literal;

/// A load that was finished before.
pub(crate) struct Earlier {
    pub(crate) id: String,
    /// When, in the server's words.
    pub(crate) ended: String,
}

/// How much of the ledger is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// All loads: what is found decides whether rows go in.
    All,
    /// The blocks that were added last, of some thousand loads: a warning must cost little.
    Recent,
}

/// Blocks of the ledger in which a [`Look::Recent`] looks.
const BLOCKS: u32 = 1000;

/// Whether the table `found.relation` may hold rows: a leaf has a block, or where its rows are is not known.
/// The table itself is not read: that would lock all partitions, and run policies and views of others.
const HOLDS: &str = "
EXISTS (
    WITH RECURSIVE tables (relation) AS (
        SELECT found.relation
        UNION ALL
        SELECT i.inhrelid
        FROM tables t
        JOIN pg_catalog.pg_inherits i ON i.inhparent OPERATOR(pg_catalog.=) t.relation)
    SELECT FROM tables t JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.relation
    WHERE c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['f', 'v']::pg_catalog.\"char\"[])
       OR pg_catalog.pg_relation_size(c.oid) OPERATOR(pg_catalog.>) 0)";

impl Named {
    /// The last finished load into `table` whose inputs, as many as `count`, are those of the JSON `files`, if
    /// the table may hold rows. It takes one round trip.
    pub(crate) async fn earlier(
        &self,
        client: &Client,
        table: &Relation,
        (files, count): (&str, i32),
        look: Look,
    ) -> Result<Option<Earlier>, tokio_postgres::Error> {
        let recent = match look {
            Look::All => "true".to_owned(),
            Look::Recent => format!(
                "ctid OPERATOR(pg_catalog.>=) (
                     SELECT pg_catalog.format('(%s,0)', GREATEST(0,
                         pg_catalog.pg_relation_size(c.oid)
                             OPERATOR(pg_catalog./) pg_catalog.current_setting('block_size')::pg_catalog.int8
                             OPERATOR(pg_catalog.-) {BLOCKS}))::pg_catalog.tid
                     FROM pg_catalog.pg_class c
                     WHERE c.oid OPERATOR(pg_catalog.=) '{{ledger}}.load'::pg_catalog.regclass)"
            ),
        };
        // Before any text of the user's, which may look like it.
        let ledger = self.sql("{ledger}");
        let relation = literal(format!("{ledger}.load").as_bytes());
        let recent = recent.replace("'{ledger}.load'", &relation);
        let name = literal(table.to_string().as_bytes());
        let sql = format!(
            "SELECT id, ended::pg_catalog.text
             FROM (
                 SELECT id, ended, relation FROM ONLY {ledger}.load
                 WHERE {recent}
                   AND relation OPERATOR(pg_catalog.=) {name}::pg_catalog.regclass::pg_catalog.oid
                   AND participant OPERATOR(pg_catalog.=) '' AND id OPERATOR(pg_catalog.<>) $1
                   AND state OPERATOR(pg_catalog.=) 'finished'
                   AND rows_inserted OPERATOR(pg_catalog.>) 0
                   AND pg_catalog.jsonb_array_length(sources) OPERATOR(pg_catalog.=) $3
                   AND sources OPERATOR(pg_catalog.@>) $2::pg_catalog.text::pg_catalog.jsonb
                 ORDER BY ended DESC LIMIT 1) AS found
             WHERE {HOLDS}"
        );
        let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 3] =
            [(&self.id, Type::TEXT), (&files, Type::TEXT), (&count, Type::INT4)];
        let found = client.query_typed(&sql, &parameters).await?;
        Ok(found.first().map(|row| Earlier { id: row.get(0), ended: row.get(1) }))
    }
}
