//! The record of a move in the ledger, and the tree that it names.

use std::cell::Cell;
use std::time::Duration;

use tokio_postgres::Client;
use tokio_postgres::types::Oid;

use super::Move;
use super::hold::Hold;
use super::sql::ddl::NO_DEFAULT_TABLESPACE;
use super::sql::locks::{DROPPING, HOLDER, TRY_LOCK, UNLOCK};
use super::sql::log::Log;
use super::state::MoveState;
use super::table::Table;
use crate::control::{Control, Event};
use crate::error::kind::Kind;
use crate::error::policy::{self, Policy};
use crate::error::{Error, Result, Words, command};
use crate::ledger::Run;
use crate::ledger::sql::moves::{LOCK, MoveEntry};
use crate::ledger::sql::{Access, Participant, Schema};
use crate::pg::connect;
use crate::pg::conninfo::Target;
use crate::pg::sql::{BEGIN, COMMIT_DURABLY, DEPARSE_SETTINGS, ROLLBACK};
use crate::testing::failpoint::failpoint;

/// The longest time for dropping before it is left to the next move, or to an abort.
const DROPPING_PATIENCE: Duration = Duration::from_secs(30);

/// The longest wait for the answer whether another process can continue: after Ctrl-C, the user waits.
const ASKING_PATIENCE: Duration = Duration::from_millis(500);

/// The pause between two attempts to drop.
const REST: Duration = Duration::from_secs(2);

/// The number of attempts to drop.
const ATTEMPTS: usize = 30;

/// Maximum number of characters of a table's name in the name of the load that copies its rows.
const LONGEST_LABEL: usize = 100;

/// A move in the ledger.
pub(super) struct Record<'a> {
    target: &'a Target,
    schema: Schema,
    relation: Oid,
    /// The table, for messages.
    label: String,
    /// The name in the ledger of the load that copies the rows.
    pub(super) load: String,
    progress: Cell<MoveProgress>,
    /// The session that has written the record, without a transaction.
    pub(super) client: Client,
}

/// An unfinished move, and the name of the load that copies the rows.
pub(super) struct UnfinishedMove {
    pub(super) state: MoveState,
    pub(super) load: String,
}

/// The progress of a move, which decides what remains of it after an error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MoveProgress {
    /// Changes are not logged.
    Begun,
    /// Another process can continue.
    Kept,
    /// The table is partitioned.
    Done,
}

impl<'a> Record<'a> {
    /// Creates the tree and the record, in one transaction.
    pub(super) async fn create(it: &'a Move, hold: &Hold, control: &Control) -> Result<Self> {
        let survey = &hold.survey;
        let schema = Schema::new(&it.ledger);
        let link = control.stop.unless_stopped(connect::open(&it.target)).await?;
        let ddl = survey.ddl(&hold.branches, &hold.link.client).await?;
        let (run, label) = (Run::new(), survey.table.relation.label());
        let plain: String = label.chars().filter(|c| !c.is_control()).take(LONGEST_LABEL).collect();
        let load = format!("partition {plain} {}", run.token);
        let creating = async {
            let client = &link.client;
            client.batch_execute(DEPARSE_SETTINGS).await?;
            schema.make(client, Access::Write).await?;
            let own = survey.table.relation.to_string();
            let (root, log) = (survey.root.to_string(), survey.log.as_ref());
            let log = log.map(|log| log.name.as_str());
            let by = (log, log.map(|_| load.as_str()));
            let record = schema.record_move(&own, &label, &root, by, &run);
            let begin = [BEGIN, NO_DEFAULT_TABLESPACE].map(str::to_owned);
            let statements = begin.into_iter().chain(ddl).chain([record]);
            client.batch_execute(&statements.collect::<Vec<_>>().join(";\n")).await.map_err(
                |error| {
                    Error::from(error)
                        .with_detail(format!("pgsluice was creating the partitions of {label}."))
                },
            )?;
            client.batch_execute(COMMIT_DURABLY).await?;
            failpoint("moving::created");
            Ok(())
        };
        link.canceller.unless_stopped(control, creating).await?;
        let (relation, progress) = (survey.table.oid, Cell::new(MoveProgress::Begun));
        Ok(Self {
            target: &it.target,
            schema,
            relation,
            label,
            load,
            progress,
            client: link.client,
        })
    }

    /// Continues with the record of another process.
    pub(super) async fn take_over(
        it: &'a Move,
        table: &Table,
        load: String,
        control: &Control,
    ) -> Result<Self> {
        let (relation, label) = (table.oid, table.relation.label());
        let schema = Schema::new(&it.ledger);
        let link = control.stop.unless_stopped(connect::open(&it.target)).await?;
        link.client.batch_execute(DEPARSE_SETTINGS).await?;
        schema.make(&link.client, Access::Write).await?;
        link.client.batch_execute(&schema.take_over_move(relation, &Run::new())).await?;
        let progress = Cell::new(MoveProgress::Kept);
        Ok(Self {
            target: &it.target,
            schema,
            relation,
            label,
            load,
            progress,
            client: link.client,
        })
    }

    /// Saves the state from which another process can continue, in a comment on `log`.
    pub(super) async fn save_state(&self, log: &Log, state: &str) -> Result<()> {
        self.client.batch_execute(&log.save_state(state)).await?;
        self.progress.set(MoveProgress::Kept);
        Ok(())
    }

    /// Records that the table is partitioned, so that nothing is dropped any more.
    pub(super) fn record_done(&self) {
        self.progress.set(MoveProgress::Done);
    }

    /// Records the phase that the move has reached.
    pub(super) async fn advance(&self, phase: &str, control: &Control) -> Result<()> {
        control.emit(&Event::Phase { name: phase });
        Ok(self.client.batch_execute(&self.schema.advance_move(self.relation, phase)).await?)
    }

    fn abort(&self) -> Words {
        command("partition abort") + format!(" {}", self.label)
    }

    /// Returns the statement that removes the record.
    pub(super) fn forget(&self) -> String {
        self.schema.forget_move(self.relation)
    }

    /// Whether another process can continue. Returns `true` if the server cannot be asked.
    async fn can_go_on(&self) -> bool {
        let asking = async {
            let client = connect::connect_internal(self.target).await?;
            let moves = self.schema.moves(&client).await?;
            Ok::<_, Error>(moves.iter().any(|it| it.relation == self.relation && it.can_go_on()))
        };
        let asked = tokio::time::timeout(ASKING_PATIENCE, asking).await;
        !matches!(asked, Ok(Ok(false)))
    }

    /// Drops the tree of a failed move, unless another process can continue. Adds a detail to its error about
    /// anything that is left.
    pub(super) async fn take_back(&self, error: Error, hold: &Hold) -> Error {
        if self.progress.get() == MoveProgress::Done {
            return error;
        }
        let is_kept = self.progress.get() == MoveProgress::Kept;
        if is_kept && is_passing(&error) && self.can_go_on().await {
            return error
                .with_detail(
                    "The rows that were copied are kept, and changes of the table are logged.",
                )
                .with_hint(
                    Words::from("To go on, run the command again. To drop what is left: pgsluice ")
                        + self.abort(),
                );
        }
        let dropping = async {
            // The session has to keep other moves away, but no longer needs the lock on the table.
            hold.link.client.batch_execute(ROLLBACK).await.ok();
            let client = connect::connect_internal(self.target).await?;
            let moves = self.schema.moves(&client).await?;
            match moves.iter().find(|left| left.relation == self.relation) {
                Some(left) => remove(&self.schema, &client, left).await,
                None => Ok(()),
            }
        };
        match tokio::time::timeout(DROPPING_PATIENCE, dropping).await {
            Ok(Ok(())) => error,
            _ => error
                .with_detail("The partitions that were created are left.")
                .with_hint(Words::from("To drop them: pgsluice ") + self.abort()),
        }
    }
}

/// Whether the same move may succeed later: it was stopped, or the connection, the resources or an
/// administrator of the server have ended it.
fn is_passing(error: &Error) -> bool {
    let class = error.sqlstate().and_then(|state| state.get(..2));
    matches!(error.kind(), Kind::Interrupted | Kind::Connection)
        || matches!(class, Some("08" | "53" | "57" | "58"))
}

/// Returns the earlier move of the table that `it` can continue, if any. Drops what any other earlier move
/// has left.
pub(super) async fn clean(it: &Move, control: &Control) -> Result<Option<UnfinishedMove>> {
    let cleaning = async {
        let client = connect::connect(&it.target).await?;
        let (oid, relation) = super::table::find(&client, &it.table).await?;
        let schema = Schema::new(&it.ledger);
        client.batch_execute(DEPARSE_SETTINGS).await?;
        let moves = schema.moves(&client).await?;
        let left = moves.iter().find(|left| left.relation == oid);
        let resumable = left.filter(|left| left.can_go_on()).and_then(|left| {
            let state = MoveState::read(left.state.as_deref()?, it)?;
            Some(UnfinishedMove { state, load: left.load.clone()? })
        });
        if it.goes_on && resumable.is_none() {
            let message = format!("no rows of table {} are kept", relation.label());
            return Err(Error::new(Kind::Usage, message).with_sqlstate("55000").with_hint(
                Words::from("List unfinished moves with ") + command("partition status") + ".",
            ));
        }
        if resumable.is_some() {
            return Ok(resumable);
        }
        if let Some(left) = left
            && lock(&client, oid).await?
        {
            remove(&schema, &client, left).await?;
            client.query_one(UNLOCK, &[&LOCK, &oid.cast_signed()]).await?;
            let table = &left.table;
            control.notice(&format!("dropped what an earlier move of {table} has left"));
        }
        Ok(None)
    };
    control.stop.unless_stopped(cleaning).await
}

/// Returns the moves in the ledger, the earliest first.
///
/// # Errors
///
/// Fails if the server cannot be asked, or the ledger is not trusted.
pub async fn list(target: &Target, ledger: &str) -> Result<Vec<MoveEntry>> {
    let client = connect::connect_internal(target).await?;
    Schema::new(ledger).moves(&client).await
}

/// Drops the tree, the log and the record that a move of table `name` has left. The table itself does not
/// change.
///
/// # Errors
///
/// Fails if the table is not being moved, or if the move is running.
pub async fn abort(target: &Target, ledger: &str, name: &str) -> Result<MoveEntry> {
    let client = connect::connect(target).await?;
    let found = super::table::find(&client, name).await;
    client.batch_execute(DEPARSE_SETTINGS).await?;
    let schema = Schema::new(ledger);
    let moves = schema.moves(&client).await?;
    // The table may be gone while the tree and the log still exist.
    let is_it = |left: &MoveEntry| match &found {
        Ok((oid, relation)) => {
            left.relation == *oid || !left.exists && left.table == relation.label()
        }
        Err(_) => left.table == name,
    };
    // A restored dump has the record of a table of another database, and triggers without a record.
    let mut of_table: Vec<MoveEntry> = moves.into_iter().filter(is_it).collect();
    let Some(left) = of_table.pop() else {
        let message = format!("table {} is not being partitioned", found?.1.label());
        return Err(Error::new(Kind::Usage, message).with_sqlstate("55000"));
    };
    let label = &left.table;
    if !lock(&client, left.relation).await? {
        return Err(busy(&client, left.relation, label).await?);
    }
    for left in of_table.iter().chain([&left]) {
        remove(&schema, &client, left).await?;
    }
    Ok(left)
}

/// Returns the error about a table whose move is locked by another session.
pub(super) async fn busy(client: &Client, table: Oid, label: &str) -> Result<Error> {
    let message = format!("table {label} is being partitioned by another process");
    let error = Error::new(Kind::Server, message).with_sqlstate("55006");
    let Some(row) = client.query_opt(HOLDER, &[&LOCK.cast_unsigned(), &table]).await? else {
        return Ok(error.with_hint("Run the command again."));
    };
    let (pid, role): (i32, String) = (row.get(0), row.get(1));
    Ok(error.with_detail(format!("Session {pid} of role {role} does it.")).with_hint(format!(
        "Wait until it ends. If its program is gone, end the session: SELECT pg_terminate_backend({pid});"
    )))
}

/// Takes the lock of the move of a table until the end of the session. Returns `false` if another session
/// holds it.
pub(super) async fn lock(client: &Client, table: Oid) -> Result<bool> {
    Ok(client.query_one(TRY_LOCK, &[&LOCK, &table.cast_signed()]).await?.get(0))
}

/// Drops the tree and the log of an unfinished move, removes its record, and commits. Retries while other
/// sessions hold locks.
async fn remove(schema: &Schema, client: &Client, left: &MoveEntry) -> Result<()> {
    let begin = [BEGIN, DROPPING].map(str::to_owned).into_iter();
    let load = left.load.as_deref().map(|load| Participant::new(schema, load).forget());
    let record = (!left.is_lost()).then(|| schema.forget_move(left.relation));
    let end = load.into_iter().chain(record).chain([COMMIT_DURABLY.to_owned()]);
    let statements: Vec<String> = begin.chain(left.drops.iter().cloned()).chain(end).collect();
    let statements = statements.join("; ");
    for _ in 1..ATTEMPTS {
        let Err(error) = client.batch_execute(&statements).await else { return Ok(()) };
        let error = Error::from(error);
        if error.sqlstate().map(policy::for_sqlstate) != Some(Policy::Retry) {
            return Err(error);
        }
        client.batch_execute(ROLLBACK).await?;
        tokio::time::sleep(REST).await;
    }
    Ok(client.batch_execute(&statements).await?)
}
