//! Publications that include the ledger without naming it: a subscriber that lacks its tables stops applying changes.

use pgsluice_core::catalog::{label, quote_identifier};
use tokio_postgres::{Client, SimpleQueryMessage, SimpleQueryRow};

use super::schema::Schema;
use crate::pg::sql::literal;
use crate::pg::template::fill;

/// Query for the publications of all tables, or of all tables in the schema, that include `{load}`: one row.
const PUBLICATIONS: &str = "
SELECT pg_catalog.string_agg(pg_catalog.quote_ident(p.pubname::pg_catalog.text), ', ' ORDER BY p.pubname)
FROM pg_catalog.pg_publication p
WHERE CASE WHEN p.puballtables THEN true ELSE
    NOT EXISTS (SELECT FROM pg_catalog.pg_publication_rel r
                WHERE r.prpubid {eq} p.oid
                  AND r.prrelid {eq} pg_catalog.to_regclass({load})::pg_catalog.oid)
    AND EXISTS (SELECT FROM pg_catalog.pg_get_publication_tables(p.pubname::pg_catalog.text) t
                WHERE t.relid {eq} pg_catalog.to_regclass({load})::pg_catalog.oid) END";

/// Query that returns a row if there is any publication. A new session answers it faster than
/// [`PUBLICATIONS`].
pub(crate) const HAS_PUBLICATIONS: &str = "SELECT FROM pg_catalog.pg_publication LIMIT 1";

impl Schema {
    /// Returns the query for the publications that include the ledger; [`Self::warning`] reads its row.
    fn publications(&self) -> String {
        let load = format!("{}.load", quote_identifier(self.name()));
        fill(PUBLICATIONS, &[("load", &literal(load.as_bytes()))])
    }

    /// Returns the warning about the publications in `row`, if there are any.
    fn warning(&self, row: &SimpleQueryRow) -> Option<String> {
        let (publications, schema) = (row.get(0)?, label(self.name()));
        Some(format!(
            "publication {publications} includes the ledger in schema {schema}: a subscriber that \
             lacks its tables stops applying changes; create them there (pg_dump --schema-only \
             --schema={schema}), publish named tables only, or load with --no-ledger"
        ))
    }

    /// Looks for publications that include the ledger, and returns a warning about them.
    pub(crate) async fn publication_warning(
        &self,
        client: &Client,
    ) -> Result<Option<String>, tokio_postgres::Error> {
        let answers = client.simple_query(&self.publications()).await?;
        Ok(answers.iter().find_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => self.warning(row),
            _ => None,
        }))
    }
}
