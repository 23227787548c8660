//! Following: applies changes of the table since it was copied to the tree.

use std::cell::Cell;
use std::ops::Range;
use std::time::Duration;

use tokio_postgres::error::SqlState;

use super::log::Watched;
use super::sql::follow::{AS_BEFORE, BY_INDEX, NOTHING, begin_at, lock_name, truncate};
use super::sql::log::{CAP, Log};
use super::survey::Survey;
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result, Words, option};
use crate::pg::connect::Link;
use crate::pg::sql::{BEGIN, COMMIT, IMMEDIATE, ROLLBACK};

/// The number of entries that one transaction processes.
const BATCH: i64 = 20_000;

/// The number of entries that may be processed under the lock of the swap.
pub(super) const FIRST_UNDER_LOCK: i64 = 500;

/// The number of entries after which the trigger switches to the other table.
const TURN: i64 = 100_000;

/// The number of attempts to truncate a table of entries, and the pause between them.
const ATTEMPTS: usize = 10;
const REST: Duration = Duration::from_millis(20);

/// A follower, which applies the changes of a table to the tree.
pub(super) struct Follower<'a> {
    pub(super) log: &'a Log,
    survey: &'a Survey,
    link: &'a Link,
    /// The facts that must not have changed since logging began.
    pub(super) watched: Watched,
    turn: Cell<Turn>,
}

/// The table of entries that the trigger writes to.
#[derive(Clone, Copy, Debug)]
struct Turn {
    is_second: bool,
    /// The number of the last entry before the switch.
    since: i64,
    /// Whether the other table is empty and truncated.
    is_other_free: bool,
    /// The last entry that the trigger may write.
    cap: i64,
}

impl<'a> Follower<'a> {
    /// Begins to log the changes of the table.
    pub(super) async fn begin(
        log: &'a Log,
        survey: &'a Survey,
        link: &'a Link,
        max_lock: Duration,
        control: &Control,
    ) -> Result<Self> {
        link.client.batch_execute(&log.batch()).await?;
        let watched = log.begin(link, &survey.table, max_lock, control).await?;
        let turn = Turn { is_second: false, since: 0, is_other_free: true, cap: CAP };
        Ok(Self { log, survey, link, watched, turn: Cell::new(turn) })
    }

    /// Continues with a log that another session has begun.
    pub(super) async fn go_on(
        log: &'a Log,
        survey: &'a Survey,
        link: &'a Link,
        watched: Watched,
    ) -> Result<Self> {
        link.client.batch_execute(&log.batch()).await?;
        // The next transaction makes the trigger write to a known table.
        let turn = Turn { is_second: false, since: 0, is_other_free: false, cap: 0 };
        Ok(Self { log, survey, link, watched, turn: Cell::new(turn) })
    }

    /// Fails if a change may not have been logged. Returns the number of the last entry.
    pub(super) async fn check(&self) -> Result<i64> {
        self.log.check(&self.link.client, self.survey.table.oid, &self.watched).await
    }

    /// Begins a transaction in which the table keeps its name, and its rows their pages: a copy that is
    /// resumed identifies the rows that it has copied by their pages. The transaction holds no snapshot.
    pub(super) async fn hold_pages(&self) -> Result<()> {
        let (client, oid) = (&self.link.client, self.survey.table.oid);
        client.batch_execute(&[BEGIN, &lock_name(&self.log.table)].join("; ")).await?;
        self.log.check(client, oid, &self.watched).await?;
        self.log.check_pages(client, oid, &self.watched).await?;
        // The portal of the last query would keep its snapshot.
        Ok(client.batch_execute(NOTHING).await?)
    }

    /// Returns the number of the entry after the first `size` entries from number `low` on, or `None` if
    /// there are fewer.
    pub(super) async fn bound(&self, size: i64, low: i64) -> Result<Option<i64>> {
        let row = self.link.client.query_opt(&self.log.bound(), &[&size, &low]).await?;
        Ok(row.map(|row| row.get(0)))
    }

    /// Follows until few entries are left. Returns the number of changed rows.
    pub(super) async fn catch_up(&self, control: &Control) -> Result<u64> {
        // An entry can become visible after one with a larger number. The last transaction processes entries
        // that were missed.
        let (mut changed, mut size, mut low) = (0, BATCH, 0);
        self.free(control).await?;
        loop {
            let passing = self.transaction(size, low);
            match self.link.canceller.unless_stopped(control, passing).await {
                Ok(pass) => {
                    changed += pass.rows;
                    if pass.is_last {
                        self.free(control).await?;
                        return Ok(changed);
                    }
                    size = BATCH;
                    low = pass.bound.unwrap_or(0);
                }
                // Two rows that exchanged a unique value must be in the same batch.
                Err(error) if is(&error, &SqlState::UNIQUE_VIOLATION) && size < CAP => {
                    self.link.client.batch_execute(ROLLBACK).await?;
                    size = size.saturating_mul(8);
                    low = 0;
                }
                Err(error) => {
                    let label = self.survey.table.relation.label();
                    return Err(explain(error).with_detail(format!(
                        "pgsluice was following the changes of table {label}."
                    )));
                }
            }
        }
    }

    /// Processes about `size` entries from number `low` on, in one transaction.
    async fn transaction(&self, size: i64, low: i64) -> Result<Pass> {
        let client = &self.link.client;
        client.batch_execute(&begin_at(&self.log.table)).await?;
        let last = self.check().await?;
        let bound = self.bound(size, low).await?;
        let rows = self.pass(bound.map(|bound| low..bound)).await?;
        let turn = self.next_turn(last);
        if let Some(Turn { is_second, cap, .. }) = turn {
            client.batch_execute(&self.log.write_to(self.table(is_second), cap)).await?;
        }
        client.batch_execute(COMMIT).await?;
        self.turn.set(turn.unwrap_or(self.turn.get()));
        Ok(Pass { rows, bound, is_last: bound.is_none() && rows <= FIRST_UNDER_LOCK as u64 })
    }

    /// Processes the entries with these numbers, or all. Returns the number of rows in the batch.
    pub(super) async fn pass(&self, numbers: Option<Range<i64>>) -> Result<u64> {
        let Self { log, survey, .. } = self;
        let client = &self.link.client;
        let rows = client.execute(&log.take(numbers.as_ref()), &[]).await?;
        if rows == 0 {
            return Ok(0);
        }
        let tree = survey.root.to_string();
        let mut statements = vec![BY_INDEX.to_owned()];
        statements.extend(log.delete(&tree));
        statements.push(log.insert(&tree));
        statements.extend([AS_BEFORE, IMMEDIATE].map(str::to_owned));
        client.batch_execute(&statements.join("; ")).await?;
        Ok(rows)
    }

    fn table(&self, is_second: bool) -> &str {
        if is_second { &self.log.second } else { &self.log.name }
    }

    /// Returns the next state of the trigger when the last entry of the log is `last`, or `None` if it does
    /// not change.
    fn next_turn(&self, last: i64) -> Option<Turn> {
        let mut turn = self.turn.get();
        let is_due = turn.is_other_free && last - turn.since >= TURN;
        if is_due {
            turn = Turn { is_second: !turn.is_second, since: last, is_other_free: false, ..turn };
        }
        let is_near = last > turn.cap - CAP / 2;
        if is_near {
            turn.cap = last + CAP;
        }
        (is_due || is_near).then_some(turn)
    }

    /// Truncates the table that the trigger does not write to, unless it has entries, or sessions keep using
    /// it.
    async fn free(&self, control: &Control) -> Result<()> {
        let mut turn = self.turn.get();
        for _ in 0..ATTEMPTS {
            if turn.is_other_free {
                break;
            }
            let truncating = self.truncate(self.table(!turn.is_second));
            match self.link.canceller.unless_stopped(control, truncating).await? {
                None => tokio::time::sleep(REST).await,
                Some(false) => break,
                Some(true) => turn.is_other_free = true,
            }
        }
        self.turn.set(turn);
        Ok(())
    }

    /// Truncates one of the tables of entries. Returns whether it was empty, or `None` if a session uses it.
    async fn truncate(&self, table: &str) -> Result<Option<bool>> {
        let client = &self.link.client;
        let [lock, is_empty] = Log::claim(table);
        if let Err(error) = client.batch_execute(&lock).await {
            client.batch_execute(ROLLBACK).await?;
            let is_locked = error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE);
            return if is_locked { Ok(None) } else { Err(error.into()) };
        }
        let is_empty: bool = client.query_one(&is_empty, &[]).await?.get(0);
        let end = if is_empty { truncate(table) } else { ROLLBACK.to_owned() };
        client.batch_execute(&end).await?;
        Ok(Some(is_empty))
    }
}

/// Adds a hint that fits a move to the error about a row that no partition accepts.
pub(super) fn explain(error: Error) -> Error {
    if !is(&error, &SqlState::CHECK_VIOLATION) {
        return error;
    }
    let hint = "If no partition takes the row, use a larger ".to_owned();
    let hint = Words::from(hint) + option("ahead") + ", or " + option("default-partition") + ".";
    error.with_kind(Kind::Data).only_hint(hint)
}

fn is(error: &Error, state: &SqlState) -> bool {
    error.sqlstate() == Some(state.code())
}

/// The outcome of one transaction.
struct Pass {
    rows: u64,
    /// The number of the first entry that was not processed, or `None` if all were.
    bound: Option<i64>,
    is_last: bool,
}
