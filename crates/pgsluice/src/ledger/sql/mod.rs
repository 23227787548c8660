//! The ledger in the target, in a separate schema, so that a receipt is committed together with its rows.
//! This module has the statements that write and read it. `tables` lists its tables, `schema` finds them,
//! `make` creates them, and `trust` checks whether they may be used. `locks` has the advisory locks of a
//! load.
//!
//! All names in a statement are qualified, because it may run in a session with the user's search_path. In
//! the templates, `{ledger}` stands for the schema and `{participant}` for the participant.

pub(crate) mod json;
pub(crate) mod locks;
mod make;
pub(crate) mod moves;
pub(crate) mod positions;
mod published;
pub(crate) mod quick_check;
mod same;
mod schema;
mod shares;
mod tables;
pub(crate) mod terms;
pub(crate) mod trust;

use pgsluice_core::catalog::Relation;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

pub(crate) use self::locks::{Holder, Participant, is_held, lives};
pub(crate) use self::published::HAS_PUBLICATIONS;
pub(crate) use self::same::{Earlier, NOTHING, SearchScope, may_hold_rows};
pub(crate) use self::schema::Schema;
pub(crate) use self::shares::{DROP_SHARES, StoredShare, TABLES, WITHDRAW_LOAD};
pub(crate) use self::trust::Access;
use crate::error::Result;
use crate::pg::sql::literal;
use crate::pg::template::{eq, plus};
use crate::row_counts::RowCounts;

/// Query for a load: its state, its terms, and its row counts.
const FIND: &str = "
SELECT state, attempt, relation, sources::pg_catalog.text, terms::pg_catalog.text,
       rows_read, rows_inserted, rows_updated, rows_deleted, rows_unchanged, rows_not_newer, rows_not_found,
       rows_duplicate, rows_skipped, rows_dropped, rows_rejected
FROM ONLY {ledger}.load
WHERE id {eq} $1 AND participant {eq} {participant}";

/// Statement that writes receipts. It fails if the load is no longer at the attempt $2, because the id is
/// then NULL.
pub(crate) const WRITE: &str = "
INSERT INTO {ledger}.receipt
    (load, participant, number, tree, node, source, upto, sources, starts, stops, rows, counts)
SELECT (SELECT id FROM ONLY {ledger}.load
        WHERE id {eq} $1 AND participant {eq} {participant}
          AND attempt {eq} $2), {participant},
       r.number, $3::pg_catalog.int4, r.node, r.source, r.upto, r.sources::pg_catalog.int4[],
       r.starts::pg_catalog.int8[], r.stops::pg_catalog.int8[], r.rows, r.counts::pg_catalog.jsonb
FROM ROWS FROM (
    pg_catalog.unnest($4::pg_catalog.int8[]), pg_catalog.unnest($5::pg_catalog.int4[]),
    pg_catalog.unnest($6::pg_catalog.int4[]), pg_catalog.unnest($7::pg_catalog.int8[]),
    pg_catalog.unnest($8::pg_catalog.text[]), pg_catalog.unnest($9::pg_catalog.text[]),
    pg_catalog.unnest($10::pg_catalog.text[]), pg_catalog.unnest($11::pg_catalog.int8[]),
    pg_catalog.unnest($12::pg_catalog.text[])
) AS r (number, node, source, upto, sources, starts, stops, rows, counts)";

/// Statement that deletes receipts that others replace.
pub(crate) const REPLACE: &str = "
DELETE FROM ONLY {ledger}.receipt
WHERE load {eq} $1 AND participant {eq} {participant}
  AND number {any} ($2::pg_catalog.int8[])";

/// Statement that writes blocks. If two transactions that end together have the same block, the later one
/// waits and skips it.
pub(crate) const SEE: &str = "
INSERT INTO {ledger}.block (load, participant, source, start, stop, hash)
SELECT $1, {participant}, b.source, b.start, b.stop, b.hash
FROM ROWS FROM (
    pg_catalog.unnest($2::pg_catalog.int4[]), pg_catalog.unnest($3::pg_catalog.int8[]),
    pg_catalog.unnest($4::pg_catalog.int8[]), pg_catalog.unnest($5::pg_catalog.int8[])
) AS b (source, start, stop, hash)
ON CONFLICT (load, participant, source, start) DO NOTHING";

/// A load that begins, with its values for the ledger.
pub(crate) struct NewLoad<'l> {
    pub(crate) named: &'l Participant,
    pub(crate) table: &'l Relation,
    /// Its terms: an expression of type jsonb.
    pub(crate) terms: &'l str,
    /// The inputs, as JSON.
    pub(crate) sources: &'l str,
    /// The run that works at it, as JSON, without the values that the server adds.
    pub(crate) run: &'l str,
    /// The number of rows of a load that is finished when it is written.
    pub(crate) finished: Option<u64>,
}

impl NewLoad<'_> {
    /// Returns the statements that insert it, unless it exists.
    pub(crate) fn insert_unless_there(&self) -> String {
        let witness = self.named.sql("{ledger}.witness");
        let id = literal(self.named.id.as_bytes());
        format!(
            "{} ON CONFLICT (id, participant) DO NOTHING;
             INSERT INTO {witness} (load) VALUES ({id}) ON CONFLICT (load) DO NOTHING",
            self.row()
        )
    }

    /// Returns the statements that insert it.
    pub(crate) fn insert(&self) -> String {
        let witness = self.named.sql("{ledger}.witness");
        let id = literal(self.named.id.as_bytes());
        match self.finished {
            Some(_) => self.row(),
            None => format!("{}; INSERT INTO {witness} (load) VALUES ({id})", self.row()),
        }
    }

    fn row(&self) -> String {
        let Self { named, table, terms, sources, run, finished } = self;
        let text = |text: &str| literal(text.as_bytes());
        // This comes first, because the user's texts may contain placeholders.
        let (id, participant) = (text(&named.id), text(&named.participant));
        let ledger = named.sql("{ledger}");
        let (state, ended, rows, nothing) = match finished {
            Some(rows) => ("finished", "pg_catalog.clock_timestamp()", rows.to_string(), "0"),
            None => ("running", "NULL", "NULL".to_owned(), "NULL"),
        };
        format!(
            "INSERT INTO {ledger}.load
                 (id, participant, relation, name, state, attempt, terms, sources, run, begun, ended,
                  rows_read, rows_inserted, rows_dropped, rows_rejected)
             SELECT {id}, {participant}, {}::pg_catalog.regclass::pg_catalog.oid, {}, '{state}', 1, {}, {}, {},
                    pg_catalog.now(), {ended}, {rows}, {rows}, {nothing}, {nothing}",
            text(&table.to_string()),
            text(&table.label()),
            terms,
            text(sources),
            running(&text(run)),
        )
    }
}

/// Returns an expression of type jsonb: `run`, an expression of type text, with the role and the time added.
pub(super) fn running(run: &str) -> String {
    format!(
        "pg_catalog.jsonb_concat({run}::pg_catalog.jsonb, pg_catalog.jsonb_build_object(
            'user', CURRENT_USER, 'since', pg_catalog.now()))"
    )
}

/// Reads the counts of rows from eleven columns, from `column` on.
fn read_counts(row: &Row, column: usize) -> RowCounts {
    let count = |at| row.get::<_, Option<i64>>(at).unwrap_or_default().unsigned_abs();
    RowCounts::from_numbers(count(column), std::array::from_fn(|place| count(column + 1 + place)))
}

/// A load as found in the ledger.
#[derive(Clone, Debug)]
pub(crate) struct FoundLoad {
    pub(crate) is_finished: bool,
    pub(crate) attempt: i32,
    pub(crate) relation: u32,
    pub(crate) sources: String,
    pub(crate) terms: String,
    /// The outcomes of the rows, if the load is finished.
    pub(crate) counts: RowCounts,
}

impl Participant {
    /// Looks up the load in the ledger.
    pub(crate) async fn find(&self, client: &Client) -> Result<Option<FoundLoad>> {
        let row = match client.query_typed_opt(&self.sql(FIND), &[(&self.id, Type::TEXT)]).await {
            Ok(row) => row,
            Err(error) => return Err(self.schema.refused(client, error).await),
        };
        Ok(row.map(|row| FoundLoad {
            is_finished: row.get::<_, &str>(0) == "finished",
            attempt: row.get(1),
            relation: row.get(2),
            sources: row.get(3),
            terms: row.get(4),
            counts: read_counts(&row, 5),
        }))
    }

    /// Returns the run that works at it, as JSON, if it is in the ledger.
    pub(crate) async fn run(&self, client: &Client) -> Result<Option<String>> {
        let sql = "SELECT run::pg_catalog.text FROM ONLY {ledger}.load
                   WHERE id {eq} $1 AND participant {eq} {participant}";
        Ok(client.query_opt(&self.sql(sql), &[&self.id]).await?.map(|row| row.get(0)))
    }

    /// Returns the query for whether the load is in the ledger: it returns a row if it is.
    pub(crate) fn find_load(&self) -> String {
        let [id, participant] = [&self.id, &self.participant].map(|text| literal(text.as_bytes()));
        let ledger = self.sql("{ledger}");
        format!(
            "SELECT FROM ONLY {ledger}.load WHERE id {eq} {id}
               AND participant {eq} {participant}"
        )
    }

    /// Returns the statement that begins the next attempt; for `run` see [`NewLoad`].
    pub(crate) fn retry(&self, run: &str) -> String {
        let [id, participant, run] =
            [&*self.id, &self.participant, run].map(|text| literal(text.as_bytes()));
        let ledger = self.sql("{ledger}");
        format!(
            "UPDATE ONLY {ledger}.load SET attempt = attempt {plus} 1, run = {}
             WHERE id {eq} {id} AND participant {eq} {participant}",
            running(&run)
        )
    }
}

/// Statement that marks a load, or a share of one, as finished. It updates nothing if another attempt has
/// begun.
const SETTLE: &str = "
UPDATE ONLY {ledger}.load
SET state = 'finished', ended = pg_catalog.clock_timestamp(),
    sources = $5::pg_catalog.text::pg_catalog.jsonb, rows_read = $3,
    (rows_inserted, rows_updated, rows_deleted, rows_unchanged, rows_not_newer, rows_not_found,
     rows_duplicate, rows_skipped, rows_dropped, rows_rejected)
        = (SELECT f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10]
           FROM (VALUES ($4::pg_catalog.int8[])) AS v (f))
WHERE id {eq} $1 AND participant {eq} {participant}
  AND attempt {eq} $2";

/// Statement that records for a finished load that $2 rows were stored and $3 dropped by triggers.
pub(crate) const NOTE_DROPPED: &str = "
UPDATE ONLY {ledger}.load SET rows_inserted = $2, rows_dropped = $3
WHERE id {eq} $1 AND participant {eq} {participant}";

/// Query for whether a table of `$2` is unlogged and was emptied since the load began.
pub(crate) const EMPTIED: &str = "
SELECT EXISTS (SELECT FROM pg_catalog.pg_class
               WHERE oid {any} ($2::pg_catalog.oid[])
                 AND relpersistence {eq} 'u')
   AND NOT EXISTS (SELECT FROM ONLY {ledger}.witness WHERE load {eq} $1)";

/// Query for whether the load $1 is still at the attempt $2 and not finished.
pub(crate) const IS_CURRENT: &str = "
SELECT EXISTS (SELECT FROM ONLY {ledger}.load
               WHERE id {eq} $1 AND participant {eq} {participant}
                 AND attempt {eq} $2 AND state {eq} 'running')";

/// Statement that removes a load from the ledger if its run is `$2` and it has no receipts.
pub(crate) const WITHDRAW: &str = "
DELETE FROM ONLY {ledger}.load
WHERE id {eq} $1 AND participant {eq} {participant}
  AND state {eq} 'running'
  AND (run OPERATOR(pg_catalog.->>) 'token') {eq} $2
  AND NOT EXISTS (SELECT FROM ONLY {ledger}.receipt WHERE load {eq} $1)";

/// Query for the layouts of a load's trees.
pub(crate) const TREES: &str = "
SELECT number, layout::pg_catalog.text FROM ONLY {ledger}.tree
WHERE load {eq} $1 ORDER BY number";

/// Statement that stores a layout.
pub(crate) const PLANT: &str = "
INSERT INTO {ledger}.tree (load, number, layout) VALUES ($1, $2, $3::pg_catalog.text::pg_catalog.json)";

/// Query for the receipts of a load.
pub(crate) const RECEIPTS: &str = "
SELECT number, tree, node, source, upto, sources, starts, stops, rows, counts::pg_catalog.text
FROM ONLY {ledger}.receipt
WHERE load {eq} $1 AND participant {eq} {participant}";

/// Query for the rows of a load by node, according to its receipts: for the tree `$2`, and for all other
/// trees.
pub(crate) const SUMS: &str = "
SELECT tree {eq} $2, node, pg_catalog.sum(rows)::pg_catalog.int8
FROM ONLY {ledger}.receipt
WHERE load {eq} $1 AND participant {eq} {participant} GROUP BY 1, 2";

/// Statement that records rejected rows.
pub(crate) const REJECT: &str = "
INSERT INTO {ledger}.reject (load, participant, source, start)
SELECT $1, {participant}, r.source, r.start
FROM ROWS FROM (
    pg_catalog.unnest($2::pg_catalog.int4[]), pg_catalog.unnest($3::pg_catalog.int8[])
) AS r (source, start)";

/// Query for the rejected rows of a load.
pub(crate) const REJECTS: &str = "
SELECT source, start FROM ONLY {ledger}.reject
WHERE load {eq} $1 AND participant {eq} {participant}";

/// Query for the blocks of a load.
pub(crate) const BLOCKS: &str = "
SELECT source, start, stop, hash FROM ONLY {ledger}.block
WHERE load {eq} $1 AND participant {eq} {participant}";

/// Query for loads, the newest first, with the rows that their receipts cover. `$1` is an id, `$2` and `$3`
/// the oid and the name of a table, `$4` the minimum age; NULL for any.
pub(crate) const LIST: &str = "
SELECT l.id, l.name, l.state, l.attempt, l.begun::pg_catalog.text, l.ended::pg_catalog.text,
       CASE WHEN (l.terms OPERATOR(pg_catalog.->) 'shared') IS NULL
            THEN l.rows_inserted {plus} COALESCE(l.rows_updated, 0) {plus} COALESCE(l.rows_deleted, 0)
       END,
       COALESCE(r.rows, s.rows, 0)::pg_catalog.int8,
       l.sources::pg_catalog.text, l.terms::pg_catalog.text, l.run::pg_catalog.text, l.position,
       COALESCE(s.participants, 0)
FROM ONLY {ledger}.load l
LEFT JOIN (SELECT load, pg_catalog.sum(rows) AS rows FROM ONLY {ledger}.receipt GROUP BY load) r
    ON r.load {eq} l.id
LEFT JOIN (SELECT id, pg_catalog.count(*) AS participants,
                  pg_catalog.sum(rows_inserted {plus} COALESCE(rows_updated, 0)
                                 {plus} COALESCE(rows_deleted, 0)) AS rows
           FROM ONLY {ledger}.load WHERE participant {ne} '' GROUP BY id) s
    ON s.id {eq} l.id
WHERE l.participant {eq} ''
  AND ($1::pg_catalog.text IS NULL OR l.id {eq} $1)
  AND ($3::pg_catalog.text IS NULL OR l.name {eq} $3
       OR l.relation {eq} $2::pg_catalog.oid)
  AND ($4::pg_catalog.text IS NULL OR COALESCE(l.ended, l.begun)
       {lt} (pg_catalog.now() {minus} $4::pg_catalog.text::pg_catalog.interval))
ORDER BY l.begun DESC, l.id";

/// The other tables with rows of a load.
const OF_LOAD: [&str; 5] = ["witness", "block", "reject", "receipt", "tree"];

impl Participant {
    /// Marks the load or the share as finished, in the transaction that `client` is in. `sources` is JSON.
    /// Returns false if another attempt has begun.
    pub(crate) async fn settle_load(
        &self,
        client: &Client,
        attempt: i32,
        counts: RowCounts,
        sources: &str,
    ) -> Result<bool, tokio_postgres::Error> {
        let read = counts.read.cast_signed();
        let numbers = Vec::from(counts.by_name().map(|(_, rows)| rows.cast_signed()));
        let parameters: [&(dyn ToSql + Sync); 5] = [&self.id, &attempt, &read, &numbers, &sources];
        Ok(client.execute(&self.sql(SETTLE), &parameters).await? == 1)
    }

    /// Returns the statements that remove the load from the ledger.
    pub(crate) fn forget(&self) -> String {
        let id = literal(self.id.as_bytes());
        let ledger = self.sql("{ledger}");
        let parts = self.forget_parts();
        format!("{parts}DELETE FROM ONLY {ledger}.load WHERE id {eq} {id}")
    }

    /// Returns the statements that delete everything of the load except its row in `load`.
    pub(crate) fn forget_parts(&self) -> String {
        let id = literal(self.id.as_bytes());
        let ledger = self.sql("{ledger}");
        let parts = OF_LOAD
            .map(|table| format!("DELETE FROM ONLY {ledger}.{table} WHERE load {eq} {id}; "));
        parts.concat()
    }
}
