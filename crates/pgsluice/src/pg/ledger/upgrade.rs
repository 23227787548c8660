//! A ledger of format 1 becomes one of format 2, where it is: loads that were begun in it can be finished.

use tokio_postgres::Client;

use super::schema::{Presence, Schema};
use super::tables::{TABLES, comments};
use super::trust::{local, old_flaws, refuse};
use crate::error::{Error, Result};
use crate::pg::sql::{BEGIN, PG_CATALOG_ONLY};

/// Loads of format 1 named the program's version as a term; all that wrote it route by the rules 1. A
/// finished load keeps only its record of streams, in the form of `ledger::blocks`.
const STATEMENTS: &str = "
ALTER TABLE {ledger}.load
    ADD participant text NOT NULL DEFAULT '', ADD run jsonb NOT NULL DEFAULT '{}', ADD position text;
ALTER TABLE {ledger}.load RENAME rows_loaded TO rows_inserted;
ALTER TABLE {ledger}.load RENAME rows_skipped TO rows_dropped;
ALTER TABLE {ledger}.load
    ALTER participant DROP DEFAULT, ALTER run DROP DEFAULT, ALTER begun DROP DEFAULT,
    DROP CONSTRAINT load_state_check, DROP CONSTRAINT load_pkey, ADD PRIMARY KEY (id, participant),
    ADD rows_updated bigint, ADD rows_deleted bigint, ADD rows_unchanged bigint, ADD rows_stale bigint,
    ADD rows_absent bigint, ADD rows_duplicate bigint, ADD rows_skipped bigint;
ALTER TABLE {ledger}.receipt ADD participant text NOT NULL DEFAULT '', ADD fate jsonb;
ALTER TABLE {ledger}.receipt ALTER participant DROP DEFAULT,
    DROP CONSTRAINT receipt_pkey, ADD PRIMARY KEY (number, load, participant);
ALTER TABLE {ledger}.block ADD participant text NOT NULL DEFAULT '';
ALTER TABLE {ledger}.block ALTER participant DROP DEFAULT;
DROP INDEX {ledger}.block_load_idx;
CREATE INDEX ON {ledger}.block (load, participant);
ALTER TABLE {ledger}.reject ADD participant text NOT NULL DEFAULT '';
ALTER TABLE {ledger}.reject ALTER participant DROP DEFAULT,
    DROP CONSTRAINT reject_pkey, ADD PRIMARY KEY (load, participant, source, start);
UPDATE {ledger}.load SET terms = terms - 'pgsluice' || '{\"rules\": \"1\"}' WHERE terms ->> 'pgsluice' = '0.1.0';
UPDATE {ledger}.load AS l SET sources = (
    SELECT COALESCE(jsonb_agg(CASE WHEN s.bytes IS NULL THEN e.source
               ELSE e.source || jsonb_build_object('stream', jsonb_build_object(
                        'bytes', s.bytes, 'hash', s.hash)) END ORDER BY e.place), '[]')
    FROM jsonb_array_elements(l.sources) WITH ORDINALITY AS e (source, place)
    LEFT JOIN (SELECT source, max(stop) AS bytes,
                      lpad(to_hex(hashtextextended(string_agg(format('%s-%s:%s', start, stop, hash), ','
                                                   ORDER BY start) COLLATE \"C\", 0)), 16, '0') AS hash
               FROM (SELECT DISTINCT source, start, stop, hash FROM {ledger}.block
                     WHERE load = l.id) AS b GROUP BY source) AS s ON s.source + 1 = e.place)
WHERE l.state = 'finished' AND EXISTS (SELECT FROM {ledger}.block b WHERE b.load = l.id);
DELETE FROM {ledger}.tree WHERE load IN (SELECT id FROM {ledger}.load WHERE state = 'finished');
DELETE FROM {ledger}.receipt WHERE load IN (SELECT id FROM {ledger}.load WHERE state = 'finished');
DELETE FROM {ledger}.block WHERE load IN (SELECT id FROM {ledger}.load WHERE state = 'finished');
DELETE FROM {ledger}.reject WHERE load IN (SELECT id FROM {ledger}.load WHERE state = 'finished');
DELETE FROM {ledger}.witness WHERE load IN (SELECT id FROM {ledger}.load WHERE state = 'finished')";

/// Upgrades the ledger, unless another session has by the time that this one has its tables for itself.
pub(super) async fn upgrade(schema: &Schema, client: &Client) -> Result<()> {
    let tables = TABLES.iter().map(|table| format!("{{ledger}}.{}", table.name));
    let tables = tables.collect::<Vec<_>>().join(", ");
    let begin = schema.sql(&format!(
        "{BEGIN}; {}; LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE",
        local(PG_CATALOG_ONLY)
    ));
    let refused = async |error: tokio_postgres::Error| {
        Error::from(error)
            .with_detail(format!("The ledger in schema {} is of an older format.", schema.name()))
            .with_hint("Whoever owns its tables upgrades it by: pgsluice ledger list")
    };
    if let Err(error) = client.batch_execute(&begin).await {
        return Err(refused(error).await);
    }
    if schema.look(client).await? == Presence::Old {
        refuse(schema, &client.simple_query(&old_flaws(schema)).await?)?;
        let statements = schema.sql(&format!("{STATEMENTS}; {}", comments()));
        if let Err(error) = client.batch_execute(&statements).await {
            return Err(refused(error).await);
        }
    }
    Ok(client.batch_execute("COMMIT").await?)
}
