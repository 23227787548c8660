//! Positions: how far a program that writes from a stream has come, recorded in the transactions of its rows.
//!
//! A writer has a row in `load` like a load, and its terms identify it. Its row count shows whether a COMMIT
//! without an answer succeeded. Opening it again begins another attempt; from then on the previous attempt
//! can commit nothing.
//!
//! Writers that share a load have no position of their own. Each participant of the load, such as a partition
//! of a topic, has a row with a position and attempts. The row of the whole load keeps the terms and the
//! table.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, Transaction};

use super::locks::Participant;
use super::{Access, running, terms};
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::pg::sql::literal;
use crate::row_counts::RowCounts;

/// Query for a writer, which it locks until the transaction ends, and for the terms `{terms}` that it would
/// have now. It also shows whether the row belongs to a load instead.
const LOOK: &str = "
SELECT attempt, position, name,
       (terms OPERATOR(pg_catalog.->) 'writer') IS NOT NULL,
       pg_catalog.to_regclass($2)::pg_catalog.oid {eq} relation, rows_read,
       rows_inserted, rows_updated, rows_deleted, rows_unchanged, rows_not_newer, rows_not_found, rows_duplicate,
       rows_skipped, rows_dropped, rows_rejected, terms::pg_catalog.text, ({terms})::pg_catalog.text,
       EXISTS (SELECT FROM ONLY {ledger}.load WHERE id {eq} $1 AND rows_read {gt} 0)
       OR ((terms OPERATOR(pg_catalog.->) 'shared') IS NULL) {ne} ((({terms}) OPERATOR(pg_catalog.->) 'shared') IS NULL)
FROM ONLY {ledger}.load
WHERE id {eq} $1 AND participant {eq} {participant} FOR UPDATE";

/// Statement that adds a writer for the table `$2` with `{terms}`. It adds nothing if there is no such table,
/// or if another session has added the writer.
const BEGIN: &str = "
INSERT INTO {ledger}.load
    (id, participant, relation, name, state, attempt, terms, sources, run, begun, rows_read, rows_inserted,
     rows_dropped, rows_rejected)
SELECT $1, {participant}, c.oid, pg_catalog.concat(pg_catalog.quote_ident(n.nspname), '.', pg_catalog.quote_ident(c.relname)),
       'running', 1, {terms}, '[]', {run}, pg_catalog.now(), 0, 0, 0, 0
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid {eq} c.relnamespace
WHERE c.oid {eq} pg_catalog.to_regclass($2)
ON CONFLICT (id, participant) DO NOTHING";

/// Statement that begins the next attempt of a writer, with `{terms}`.
const TAKE_OVER: &str = "
UPDATE ONLY {ledger}.load
SET attempt = attempt {plus} 1, state = 'running', ended = NULL, run = {run}, terms = {terms}
WHERE id {eq} $1 AND participant {eq} {participant}";

/// Statement that records `$4` more rows, from the position `$6` to `$5`, which is NULL if they do not change
/// it. It updates no row if another attempt has begun, or if the position is a different one.
const ADVANCE: &str = "
UPDATE ONLY {ledger}.load
SET rows_read = rows_read {plus} $4, rows_inserted = rows_inserted {plus} $4,
    position = COALESCE($5, position)
WHERE id {eq} $1 AND participant {eq} {participant}
  AND attempt {eq} $2 AND rows_read {eq} $3
  AND COALESCE(position, '') {eq} COALESCE($6, '')";

/// Statement that adds `$3` to the row counts.
const SETTLE: &str = "
UPDATE ONLY {ledger}.load
SET rows_inserted = COALESCE(rows_inserted, 0) {plus} $3[1],
    rows_updated = COALESCE(rows_updated, 0) {plus} $3[2],
    rows_deleted = COALESCE(rows_deleted, 0) {plus} $3[3],
    rows_unchanged = COALESCE(rows_unchanged, 0) {plus} $3[4],
    rows_not_newer = COALESCE(rows_not_newer, 0) {plus} $3[5],
    rows_not_found = COALESCE(rows_not_found, 0) {plus} $3[6],
    rows_duplicate = COALESCE(rows_duplicate, 0) {plus} $3[7],
    rows_skipped = COALESCE(rows_skipped, 0) {plus} $3[8],
    rows_dropped = COALESCE(rows_dropped, 0) {plus} $3[9],
    rows_rejected = COALESCE(rows_rejected, 0) {plus} $3[10]
WHERE id {eq} $1 AND participant {eq} {participant}
  AND attempt {eq} $2";

/// Statement that marks a writer as closed.
const CLOSE: &str = "
UPDATE ONLY {ledger}.load SET state = 'finished', ended = pg_catalog.clock_timestamp()
WHERE id {eq} $1 AND participant {eq} {participant}
  AND attempt {eq} $2";

/// Statement that marks the load of several writers as closed, if no participant is open.
const CLOSE_SHARED: &str = "
UPDATE ONLY {ledger}.load AS l SET state = 'finished', ended = pg_catalog.clock_timestamp()
WHERE id {eq} $1 AND participant {eq} ''
  AND NOT EXISTS (SELECT FROM ONLY {ledger}.load AS p
                  WHERE p.id {eq} l.id AND p.participant {ne} '' AND p.state {eq} 'running')";

/// Query for the participants of a load that several writers share.
const PARTICIPANTS: &str = "
SELECT participant, position, rows_read, rows_inserted, rows_updated, rows_deleted, rows_unchanged,
       rows_not_newer, rows_not_found, rows_duplicate, rows_skipped, rows_dropped, rows_rejected, attempt
FROM ONLY {ledger}.load WHERE id {eq} $1 AND participant {ne} '' ORDER BY participant";

/// The progress of a writer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriterPosition {
    /// The number of its attempt.
    pub(crate) attempt: i32,
    /// The outcomes of the committed rows of all attempts.
    pub(crate) counts: RowCounts,
    /// The position that the program gave with the last committed rows.
    pub(crate) position: Option<String>,
}

impl Participant {
    /// Opens the writer for `table` as the next attempt or, after a lost connection, as `attempt`. `run`
    /// describes the process that works at it, and `options` the terms that its options set, both as JSON.
    pub(crate) async fn open_writer(
        &self,
        client: &mut Client,
        table: &str,
        run: &str,
        options: &str,
        attempt: Option<i32>,
    ) -> Result<WriterPosition> {
        self.schema.make(client, Access::Write).await?;
        let transaction = client.transaction().await?;
        let opening = WriterOpening { table, run, terms: &terms::expression(options, None) };
        let position = self.take_over(&transaction, &opening, attempt).await?;
        transaction.commit().await?;
        client.simple_query(&self.hold_alive_lock()).await?;
        Ok(position)
    }

    /// Opens the participants `names` of this load, each as the given attempt or as the next one. Waits for
    /// transactions of earlier attempts. Returns their positions in this order, which must be the same in all
    /// sessions.
    pub(crate) async fn open_participants(
        &self,
        client: &mut Client,
        table: &str,
        run: &str,
        options: &str,
        names: impl Iterator<Item = (&str, Option<i32>)>,
    ) -> Result<Vec<WriterPosition>> {
        let transaction = client.transaction().await?;
        let opening = WriterOpening { table, run, terms: &terms::expression(options, None) };
        let mut positions = Vec::new();
        for (name, attempt) in names {
            let taken = self.participant(name).take_over(&transaction, &opening, attempt).await?;
            positions.push(taken);
        }
        transaction.commit().await?;
        Ok(positions)
    }

    /// Returns the participant `name` of the same load.
    pub(crate) fn participant(&self, name: &str) -> Self {
        Self { participant: name.to_owned(), ..self.clone() }
    }

    /// Begins the next attempt of the writer, unless it continues as `attempt`.
    async fn take_over(
        &self,
        transaction: &Transaction<'_>,
        opening: &WriterOpening<'_>,
        attempt: Option<i32>,
    ) -> Result<WriterPosition> {
        let WriterOpening { table, run, terms } = opening;
        let sql = |statement: &str| {
            let run = running(&literal(run.as_bytes()));
            // The terms contain column names, which may look like placeholders, so they are inserted last.
            self.fill(statement, &[("run", &run), ("terms", terms)])
        };
        let mut has_begun = false;
        loop {
            match (self.look(transaction, table, terms).await?, attempt) {
                (Some(found), Some(attempt)) if found.attempt == attempt => return Ok(found),
                (Some(found), Some(attempt)) if found.attempt > attempt => {
                    return Err(self.overtaken());
                }
                (None, Some(_)) => return Err(self.overtaken()),
                // If the server has lost this attempt, its rows are lost too, or it had none.
                (Some(found), _) => {
                    transaction.execute(&sql(TAKE_OVER), &[&self.id]).await?;
                    return Ok(WriterPosition { attempt: found.attempt + 1, ..found });
                }
                (None, None) if has_begun => {
                    let message = format!("relation \"{table}\" does not exist");
                    return Err(Error::new(Kind::Server, message).with_sqlstate("42P01"));
                }
                (None, None) => {
                    let parameters: [(&(dyn ToSql + Sync), Type); 2] =
                        [(&self.id, Type::TEXT), (table, Type::TEXT)];
                    if transaction.execute_typed(&sql(BEGIN), &parameters).await? == 1 {
                        return Ok(WriterPosition { attempt: 1, ..WriterPosition::default() });
                    }
                    // Another session may have added it at the same time.
                    has_begun = true;
                }
            }
        }
    }

    async fn look(
        &self,
        transaction: &Transaction<'_>,
        table: &str,
        terms: &str,
    ) -> Result<Option<WriterPosition>> {
        let parameters: [(&(dyn ToSql + Sync), Type); 2] =
            [(&self.id, Type::TEXT), (&table, Type::TEXT)];
        let look = self.fill(LOOK, &[("terms", terms)]);
        let rows = transaction.query_typed(&look, &parameters).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let refuse = |what: String| {
            let message = format!("load {} {what}", self.id);
            Err(Error::new(Kind::Server, message)
                .with_sqlstate("55000")
                .with_hint("Use another load_id."))
        };
        if !row.get::<_, Option<bool>>(3).unwrap_or_default() {
            return refuse("was not opened by a Writer".to_owned());
        }
        if !row.get::<_, Option<bool>>(4).unwrap_or_default() {
            return refuse(format!("belongs to table {}", row.get::<_, &str>(2)));
        }
        // A load without rows may have been begun by mistake. Whether it is shared decides which sessions may
        // write.
        if row.get(18) {
            self.check_terms(row.get(16), row.get(17), row.get(1))?;
        }
        Ok(Some(WriterPosition {
            attempt: row.get(0),
            counts: counts(row, 5),
            position: row.get(1),
        }))
    }

    /// Returns the participants of a load that several writers share, with their names.
    pub(crate) async fn participants(
        &self,
        client: &Client,
    ) -> Result<Vec<(String, WriterPosition)>> {
        let rows = client.query_typed(&self.sql(PARTICIPANTS), &[(&self.id, Type::TEXT)]).await?;
        let participant = |row: &Row| {
            let (attempt, position) = (row.get(13), row.get(1));
            (row.get(0), WriterPosition { attempt, counts: counts(row, 2), position })
        };
        Ok(rows.iter().map(participant).collect())
    }

    /// Rejects a writer that is opened again with other terms: its rows up to `position` were written
    /// differently from later ones.
    fn check_terms(&self, before: &str, now: &str, position: Option<&str>) -> Result<()> {
        let Some([before, now]) = terms::difference(before, now)? else { return Ok(()) };
        let message = format!("load {} was opened {before}, and is opened again {now}", self.id);
        let way_out = match position {
            Some(position) => format!(
                "Open it as before, or use another load_id and start after position {position}."
            ),
            None => "Open it as before, or use another load_id.".to_owned(),
        };
        Err(Error::new(Kind::Server, message).with_sqlstate("55000").with_hint(way_out).permanent())
    }

    /// Records `rows` more rows after `from`, in the transaction that `client` is in; returns false if
    /// another attempt has begun.
    pub(crate) async fn advance(
        &self,
        client: &Client,
        from: &WriterPosition,
        rows: i64,
        to: Option<&str>,
    ) -> Result<bool, tokio_postgres::Error> {
        let parameters: [(&(dyn ToSql + Sync), Type); 6] = [
            (&self.id, Type::TEXT),
            (&from.attempt, Type::INT4),
            (&from.counts.read.cast_signed(), Type::INT8),
            (&rows, Type::INT8),
            (&to, Type::TEXT),
            (&from.position, Type::TEXT),
        ];
        Ok(client.execute_typed(&self.sql(ADVANCE), &parameters).await? == 1)
    }

    /// Records the outcomes of the rows in the same transaction, if some were not simply inserted.
    pub(crate) async fn settle(
        &self,
        client: &Client,
        attempt: i32,
        counts: &RowCounts,
    ) -> Result<(), tokio_postgres::Error> {
        let mut more = counts.by_name().map(|(_, rows)| rows.cast_signed());
        // They are already counted as inserted.
        more[0] -= counts.read.cast_signed();
        if more.iter().all(|rows| *rows == 0) {
            return Ok(());
        }
        let more = &more[..];
        let parameters: [(&(dyn ToSql + Sync), Type); 3] =
            [(&self.id, Type::TEXT), (&attempt, Type::INT4), (&more, Type::INT8_ARRAY)];
        client.execute_typed(&self.sql(SETTLE), &parameters).await.map(|_| ())
    }

    /// Marks the writer as closed, unless another attempt has begun.
    pub(crate) async fn close_writer(&self, client: &Client, attempt: i32) -> Result<()> {
        let parameters: [(&(dyn ToSql + Sync), Type); 2] =
            [(&self.id, Type::TEXT), (&attempt, Type::INT4)];
        client.execute_typed(&self.sql(CLOSE), &parameters).await?;
        Ok(())
    }

    /// Marks the load as closed, unless one of its participants is open.
    pub(crate) async fn close_shared(&self, client: &Client) -> Result<()> {
        client.execute_typed(&self.sql(CLOSE_SHARED), &[(&self.id, Type::TEXT)]).await?;
        Ok(())
    }

    /// Returns the error for a writer, or one of its participants, that another writer has taken over.
    pub(crate) fn overtaken(&self) -> Error {
        let what = match &*self.participant {
            "" => format!("load {}", self.id),
            participant => format!("participant {participant} of load {}", self.id),
        };
        let message = format!("{what} was taken over by another Writer, or forgotten");
        Error::new(Kind::Server, message).with_sqlstate("55006").permanent().with_detail(
            "Nothing this Writer had in flight was committed. The other Writer knows which rows \
             this one committed.",
        )
    }
}

/// Returns the counts of rows in a row of the ledger, from the column `first` on.
fn counts(row: &Row, first: usize) -> RowCounts {
    let rows =
        |column| row.get::<_, Option<i64>>(column).unwrap_or_default().max(0).cast_unsigned();
    RowCounts::from_numbers(rows(first), std::array::from_fn(|number| rows(first + 1 + number)))
}

/// The values for opening a writer and its participants.
struct WriterOpening<'o> {
    table: &'o str,
    /// The process that works at it, as JSON.
    run: &'o str,
    /// The terms: an expression of type jsonb.
    terms: &'o str,
}
