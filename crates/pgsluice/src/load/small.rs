//! A small load: the server routes its rows sooner than the partition tree is read.
//!
//! They go into the root in one COPY, as psql sends them. If anything is wrong with them, none of them
//! is in the table. Then the whole load begins, and reports the error in full.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::{BufMut, BytesMut};
use futures_util::SinkExt;
use futures_util::future::{join, try_join, try_join3};
use pgsluice_core::catalog::Relation;
use tokio_postgres::Client;
use tokio_postgres::error::Severity;
use tokio_postgres::types::{ToSql, Type};

use crate::control::Control;
use crate::counts::first_row::Opening;
use crate::counts::reconcile;
use crate::counts::summary::Summary;
use crate::error::{Error, Result};
use crate::job::{Job, Sink};
use crate::ledger::{Run, earlier, named, new_handful};
use crate::pg::connect::{self, Link};
use crate::pg::conninfo::Target;
use crate::pg::ledger::{self, Access, Earlier, Look, Named, trust};
use crate::pg::{is_answer, lost, sql};
use crate::plan::format_for;
use crate::source::{Fingerprint, Input, Inputs, Reader};
use crate::testing::small::most_rows;

/// Inputs of at most this many bytes are small: to plan a load takes as long as the server does to route some
/// ten thousand rows into many leaves.
const FEW_BYTES: u64 = 1 << 20;

/// The same for a table of up to 128 leaves, whose rows it routes nearly as fast as it stores them.
const FEW_BYTES_OF_FEW_LEAVES: u64 = 12 << 20;

/// What one query says of the table.
struct Table {
    relation: Relation,
    version: u32,
    columns: Vec<String>,
    has_few_leaves: bool,
}

/// Rows that are read.
#[derive(Default)]
struct Rows {
    count: u64,
    /// Each with a newline behind it.
    text: BytesMut,
    bytes_read: u64,
}

/// What has become of inputs that may be small.
pub(crate) enum Tried {
    Loaded(Summary),
    /// No row is in the table, and the whole load must follow. The session is as it was, if it is there.
    Not(Option<Link>),
}

/// Loads the inputs if they are small and the server takes all rows.
pub(crate) async fn load(
    job: &Job,
    (id, run): (&str, &Run),
    inputs: &Inputs,
    target: &Target,
    control: &Arc<Control>,
    opening: &Opening,
) -> Result<Tried> {
    if !may_be(job, inputs) {
        return Ok(Tried::Not(None));
    }
    let link = control.stop.unless_stopped(connect::logged_in(target)).await?;
    let named = named(job, id);
    let loading = async {
        let lasting = link.last(target);
        let looking = look(&link, job, named.as_ref());
        let (_, table) = try_join(lasting, looking).await?;
        let Some(table) = table else { return Ok(None) };
        let Some(rows) = read(job, inputs, &table) else { return Ok(None) };
        let is_sought = job.safety.once;
        if is_sought && sought(&link, named.as_ref(), inputs, &table, Look::All).await?.is_some() {
            return Ok(None);
        }
        let of_load = named.as_ref().map(|named| (named, run));
        let Some(receipt) = receipt(job, of_load, inputs, &table, &rows) else {
            return Ok(None);
        };
        control.progress.bytes_read.store(rows.bytes_read, Relaxed);
        control.progress.rows_read.store(rows.count, Relaxed);
        opening.row_sent();
        // Sent before the rows, in the same round trip.
        let seeking = sought(&link, named.as_ref(), inputs, &table, Look::Recent);
        let stored = copy(&link, job, &table, (&rows, &receipt), seeking, control).await?;
        Ok(Some((table, rows, stored)))
    };
    let outcome: Result<_, tokio_postgres::Error> =
        match link.canceller.settle(control, loading).await {
            Some(outcome) => outcome,
            None => return Err(control.stop.failure().unwrap_or_else(Error::interrupted)),
        };
    match outcome {
        Ok(Some((table, rows, stored))) => {
            control.progress.rows_loaded.store(stored, Relaxed);
            control.progress.payloads.store(1, Relaxed);
            if stored != rows.count {
                note_dropped(&link, named.as_ref(), &table, [rows.count, stored]).await?;
            }
            let label = table.relation.label();
            let rows = [rows.count, stored, rows.bytes_read];
            Ok(Tried::Loaded(Summary::of_handful(id, label, rows, opening)))
        }
        Ok(None) => Ok(Tried::Not(Some(link))),
        Err(error) if is_refusal(&error) => {
            control.progress.bytes_read.store(0, Relaxed);
            control.progress.rows_read.store(0, Relaxed);
            Ok(Tried::Not(None))
        }
        Err(error) => Err(lost(Some(&error))),
    }
}

fn may_be(job: &Job, inputs: &Inputs) -> bool {
    let as_usual = job.speed.native
        && job.speed.few_rows.is_none()
        && !job.target.create_partitions
        && !job.safety.exchange
        && job.target.sink == Sink::Copy;
    let bytes = inputs.size();
    as_usual && bytes.is_some_and(|bytes| bytes <= FEW_BYTES_OF_FEW_LEAVES)
}

/// Returns None if the whole load must follow. Either there is no such table, or the load is in the
/// ledger, or there can be no ledger. The first load makes the ledger.
async fn look(
    link: &Link,
    job: &Job,
    named: Option<&Named>,
) -> Result<Option<Table>, tokio_postgres::Error> {
    let client = &link.client;
    let names: [(&(dyn ToSql + Sync), Type); 1] = [(&job.target.table, Type::TEXT)];
    let known = async {
        match named {
            Some(named) => may_be_known(named, client).await,
            None => Ok(false),
        }
    };
    let (rows, known) = join(client.query_typed(sql::TABLE, &names), known).await;
    let known = known?;
    let rows = match rows {
        // It may have come in between where there was no ledger yet.
        Err(error) if is_refusal(&error) => client.query_typed(sql::TABLE, &names).await?,
        rows => rows?,
    };
    Ok(rows.first().filter(|_| !known).map(|row| Table {
        relation: Relation { schema: row.get(0), name: row.get(1) },
        version: row.get::<_, i32>(2).unsigned_abs(),
        columns: row.get(3),
        has_few_leaves: row.get(4),
    }))
}

/// Whether the ledger has the load, or may not be used: what that is, the whole load says.
async fn may_be_known(named: &Named, client: &Client) -> Result<bool, tokio_postgres::Error> {
    let look = trust::look(&named.schema, Access::Write);
    let (trusted, known) = join(client.simple_query(&look), named.is_known(client)).await;
    match (trusted, known) {
        (Ok(answers), Ok(known)) => Ok(known || !trust::is_sound(&answers)),
        (Err(error), _) | (_, Err(error)) if is_refusal(&error) => {
            client.batch_execute(sql::ROLLBACK).await?;
            let made = named.schema.make(client, Access::Write).await;
            if made.is_err() {
                client.batch_execute(sql::ROLLBACK).await?;
            }
            Ok(made.is_err())
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

/// The finished load of the same inputs, if a ledger is kept.
async fn sought(
    link: &Link,
    named: Option<&Named>,
    inputs: &[Input],
    table: &Table,
    look: Look,
) -> Result<Option<Earlier>, tokio_postgres::Error> {
    let (Some(named), Ok(sources)) = (named, Fingerprint::of_all(inputs)) else { return Ok(None) };
    earlier::find(named, (&table.relation, &sources), &link.client, look).await
}

/// The statement that keeps the load in the ledger, or does nothing if none is kept. None if the inputs
/// cannot be read.
fn receipt(
    job: &Job,
    of_load: Option<(&Named, &Run)>,
    inputs: &[Input],
    table: &Table,
    rows: &Rows,
) -> Option<String> {
    let Some(of_load) = of_load else { return Some(String::new()) };
    let format = format_for(&job.input.format, table.version);
    let columns = job.input.columns.as_ref().unwrap_or(&table.columns);
    let new = (&table.relation, &columns[..]);
    new_handful(job, of_load, new, (&format, table.version), inputs, rows.count).ok()
}

/// Reads the inputs. Returns None if they are too long for the table, have no rows, or are not well formed.
fn read(job: &Job, inputs: &Inputs, table: &Table) -> Option<Rows> {
    let most = if table.has_few_leaves { FEW_BYTES_OF_FEW_LEAVES } else { FEW_BYTES };
    if inputs.size().is_none_or(|bytes| bytes > most) {
        return None;
    }
    let columns = job.input.columns.as_ref().unwrap_or(&table.columns);
    let format = format_for(&job.input.format, table.version);
    let mut reader = Reader::new(inputs.clone(), &format, job.input.header, columns);
    let mut rows = Rows::default();
    while let Some(split) = reader.next(None).ok()? {
        rows.count += split.rows.len() as u64;
        rows.bytes_read += split.length as u64;
        for row in &split.rows {
            rows.text.extend_from_slice(row.of(&split.bytes));
            rows.text.put_u8(b'\n');
        }
    }
    let is_small = (1..=most_rows()).contains(&rows.count);
    (is_small && reader.ignored.is_empty()).then_some(rows)
}

/// The number of rows that are stored and durable.
async fn copy(
    link: &Link,
    job: &Job,
    table: &Table,
    (rows, receipt): (&Rows, &str),
    seeking: impl Future<Output = Result<Option<Earlier>, tokio_postgres::Error>>,
    control: &Control,
) -> Result<u64, tokio_postgres::Error> {
    let client = &link.client;
    let format = format_for(&job.input.format, table.version);
    let columns = job.input.columns.as_deref().unwrap_or(&table.columns);
    let copy = sql::copy_in(&table.relation, columns, Some(&format));
    let copy = sql::with_fields(copy, &job.input.fields, columns);
    let begin = format!("{}; {}; {}", sql::NO_LOCK_TIMEOUT, sql::DURABLE, sql::BEGIN);
    let (found, _, sink) =
        try_join3(seeking, client.simple_query(&begin), client.copy_in(&copy)).await?;
    let words = found.map(|found| earlier::words(&found, &table.relation));
    words.into_iter().for_each(|words| control.progress.warn(words));
    let mut sink = Box::pin(sink);
    sink.feed(rows.text.clone().freeze()).await?;
    control.progress.rows_in_doubt.store(rows.count, Relaxed);
    let ending = [receipt, sql::COMMIT].join("; ");
    let outcome = try_join(sink.as_mut().finish(), client.batch_execute(&ending)).await;
    if outcome.as_ref().map_or_else(is_answer, |_| true) {
        control.progress.rows_in_doubt.store(0, Relaxed);
    }
    Ok(outcome?.0)
}

/// Records in the ledger that some of the rows that were read were not stored; a trigger must have
/// dropped them.
async fn note_dropped(
    link: &Link,
    named: Option<&Named>,
    table: &Table,
    [read, stored]: [u64; 2],
) -> Result<()> {
    let dropped = reconcile::dropped(&table.relation, read, stored)?;
    reconcile::check_dropped(&[(&table.relation, dropped)], &link.client).await?;
    if let Some(named) = named {
        let [stored, dropped] = [stored, dropped].map(u64::cast_signed);
        let note = named.sql(ledger::NOTE_DROPPED);
        link.client.execute(&note, &[&named.id, &stored, &dropped]).await?;
    }
    Ok(())
}

/// Whether the server has refused a statement, and the session goes on: then nothing is in the table.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    let severity = error.as_db_error().map(|error| error.parsed_severity());
    matches!(severity, Some(Some(Severity::Error)))
}
