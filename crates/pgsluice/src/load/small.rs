//! A small load: the server routes its rows faster than pgsluice could read the partition tree.
//!
//! The rows go into the root in one COPY, like psql sends them. If anything is wrong, none of them is stored.
//! The regular load then follows, and reports the error in full.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use bytes::{BufMut, BytesMut};
use futures_util::SinkExt;
use futures_util::future::{join, try_join, try_join3};
use pgsluice_core::catalog::Relation;
use tokio_postgres::error::Severity;
use tokio_postgres::{Client, SimpleQueryMessage, SimpleQueryRow};

use super::attempt::Attempt;
use crate::control::Control;
use crate::counts::reconcile;
use crate::counts::summary::Summary;
use crate::error::{Error, Result};
use crate::job::{Job, RejectPlace, Rejects, Sink};
use crate::ledger::sql::{self as ledger, Access, Earlier, Participant, SearchScope, quick_check};
use crate::ledger::{LoadRun, earlier, find_participant, insert_small_load};
use crate::pg::connect::{self, Link};
use crate::pg::lookup::{self, FoundTable};
use crate::pg::{is_answer, lost, sql};
use crate::plan::format_for;
use crate::source::{FileFormat, Fingerprint, Header, Reader, Shape, Split};
use crate::testing::small::max_rows;

/// The maximum size in bytes of a small input: planning a load takes as long as the server needs to route
/// about ten thousand rows into many leaves.
const SMALL_BYTES: u64 = 1 << 20;

/// The maximum for a table with at most 128 leaves, whose rows the server routes nearly as fast as it stores.
const SMALL_BYTES_OF_SMALL_TREE: u64 = 12 << 20;

/// The ledger's blocks that are searched for the same inputs: the server takes 0.1 ms for ten blocks.
const LEDGER_BLOCKS: u32 = 16;

/// The approximate bytes that are sent together: the server stores rows while the next ones are read.
const AT_ONCE: usize = 64 << 10;

/// Rows that are read and sent unchanged.
struct SmallRows {
    reader: Reader,
    used: Option<Split>,
    /// The rows that are not sent yet, each followed by a newline.
    text: BytesMut,
    /// The number of bytes of text that may still follow.
    left: u64,
    count: u64,
    bytes_read: u64,
}

/// The outcome of an attempt at a small load.
pub(crate) enum Tried {
    Loaded(Summary),
    /// No row is stored, and the regular load must follow. The session, if any, is unchanged.
    Not(Option<Link>),
}

/// A load whose inputs may be small, and its session.
struct Small<'a> {
    attempt: &'a Attempt<'a>,
    link: Link,
    named: Option<Participant>,
}

/// The rows that were stored, and the duration of their transaction.
struct SmallStored {
    relation: Relation,
    /// The numbers of rows that were read and stored, and of bytes.
    numbers: [u64; 3],
    seconds: f64,
}

/// Loads the inputs if they are small and the server accepts all rows.
pub(super) async fn load(attempt: &Attempt<'_>) -> Result<Tried> {
    let Attempt { job, target, control, .. } = *attempt;
    if !may_be(job) {
        return Ok(Tried::Not(None));
    }
    let link = control.stop.unless_stopped(connect::log_in(target)).await?;
    let small = Small { attempt, link, named: find_participant(job, attempt.id) };
    let canceller = &small.link.canceller;
    let asking = async {
        let questions = ask(&small.link.client, job, small.named.as_ref());
        connect::identify_with(target, &small.link, questions).await
    };
    let Some(asked) = canceller.unless_stopped(control, asking).await? else {
        return Ok(Tried::Not(None));
    };
    match canceller.settle(control, small.store(asked)).await {
        None => Err(control.stop.failure().unwrap_or_else(Error::interrupted)),
        Some(Ok(Some(stored))) => small.finish(stored).await.map(Tried::Loaded),
        Some(Err(error)) if !is_refusal(&error) => Err(lost(Some(&error))),
        Some(refused) => small.leave(refused.is_ok()).await,
    }
}

impl Small<'_> {
    /// Stores all rows. Returns `None` if it stored no row.
    async fn store(&self, asked: SmallQuestion) -> SmallAnswer<Option<SmallStored>> {
        let Attempt { job, target, control, run, .. } = *self.attempt;
        let client = &self.link.client;
        let known = look(client, asked, job, self.named.as_ref()).await?;
        let Some((table, KnownLoad { earlier, has_publications })) = known else { return Ok(None) };
        let Some(mut rows) = SmallRows::begin(job, &table) else { return Ok(None) };
        self.attempt.opening.row_sent();
        let of = self.named.as_ref().map(|named| LoadRun { named, run });
        let receipt = |rows: &SmallRows| match of {
            Some(of) => insert_small_load(job, of, &table, rows.count).ok(),
            None => Some(String::new()),
        };
        // The queries before the rows.
        let before = async {
            let holding = async {
                match &earlier {
                    Some(_) => {
                        ledger::may_hold_rows(client, &job.target.table, table.version).await
                    }
                    None => Ok(false),
                }
            };
            let published = async {
                match self.named.as_ref().filter(|_| has_publications) {
                    Some(named) => named.schema.publication_warning(client).await,
                    None => Ok(None),
                }
            };
            let asking = try_join3(self.link.set_timeouts(target), holding, published);
            asking.await.map(|((), holds, published)| (holds, published))
        };
        let began = Instant::now();
        let copied = copy(&self.link, job, &table, before, &mut rows, receipt, control).await?;
        let Some((stored, (holds, published))) = copied else { return Ok(None) };
        published.into_iter().for_each(|warning| control.warn(&warning));
        let words = earlier.filter(|_| holds);
        let words = words.map(|earlier| earlier::words(&earlier, &table.relation));
        words.into_iter().for_each(|words| control.warn(&words));
        let numbers = [rows.count, stored, rows.bytes_read];
        let seconds = began.elapsed().as_secs_f64();
        Ok(Some(SmallStored { relation: table.relation, numbers, seconds }))
    }

    /// Counts the stored rows.
    async fn finish(&self, rows: SmallStored) -> Result<Summary> {
        let Attempt { id, control, .. } = *self.attempt;
        let SmallStored { relation, numbers, seconds } = rows;
        let ([read, stored, _], label) = (numbers, relation.label());
        control.loaded_at_once(&label, numbers, seconds);
        if stored != read {
            note_dropped(&self.link, self.named.as_ref(), &relation, [read, stored]).await?;
        }
        Ok(Summary::from_small_load(id, label, numbers, &self.attempt.opening))
    }

    /// Leaves the inputs to the regular load. The session can be used again if it `is_intact`.
    async fn leave(self, is_intact: bool) -> Result<Tried> {
        let Attempt { target, control, .. } = *self.attempt;
        control.progress.bytes_read.store(0, Relaxed);
        control.progress.rows_read.store(0, Relaxed);
        if !is_intact {
            return Ok(Tried::Not(None));
        }
        self.link.set_timeouts(target).await?;
        Ok(Tried::Not(Some(self.link)))
    }
}

fn may_be(job: &Job) -> bool {
    let as_usual = job.speed.native
        // Another run with the same input can be kept out only if the load is in the ledger before its rows.
        && !job.safety.once
        // A share begins its transaction with a claim.
        && job.safety.share.is_none()
        && job.speed.few_rows.is_none()
        && !job.target.create_partitions
        && job.input.header != Header::Map
        && job.input.file_format == FileFormat::Delimited
        && job.safety.exchange.is_none()
        // A table of rejected rows is looked up before any row is sent.
        && !matches!(&job.safety.rejects, Some(Rejects { place: RejectPlace::Table(_), .. }))
        && !job.changes.is_any()
        && job.target.sink == Sink::Copy;
    let bytes = job.input.files.text_size();
    as_usual && bytes.is_some_and(|bytes| bytes <= SMALL_BYTES_OF_SMALL_TREE)
}

/// The server's answers about the table, and about the ledger if one is kept.
struct SmallQuestion {
    table: SmallAnswer<Option<FoundTable>>,
    ledger: Option<SmallAnswer<Vec<SimpleQueryMessage>>>,
}

type SmallAnswer<T> = Result<T, tokio_postgres::Error>;

/// Asks about the table and the ledger. Changes nothing.
async fn ask(client: &Client, job: &Job, named: Option<&Participant>) -> SmallQuestion {
    let find = find(client, job);
    let checking = async {
        let named = named?;
        let statements = quick_check::statements(&named.schema, &questions(named, job));
        Some(client.simple_query(&statements).await)
    };
    let (table, ledger) = join(find, checking).await;
    SmallQuestion { table, ledger }
}

async fn find(client: &Client, job: &Job) -> SmallAnswer<Option<FoundTable>> {
    let counts = job.input.files.text_size().is_none_or(|bytes| bytes > SMALL_BYTES);
    lookup::find(&job.target.table, counts, client).await
}

/// The ledger's answers about a load that it does not have.
#[derive(Default)]
struct KnownLoad {
    /// An earlier load of the same inputs.
    earlier: Option<Earlier>,
    /// Whether there are publications, which may include the ledger.
    has_publications: bool,
}

/// Returns the queries for whether the ledger has the load, which load has loaded the same inputs before, and
/// whether there are publications.
fn questions(named: &Participant, job: &Job) -> [String; 3] {
    let sources = Fingerprint::read_all(&job.input.files).unwrap_or_default();
    let look = SearchScope::Last(LEDGER_BLOCKS);
    let earlier = earlier::question(named, &job.target.table, &sources, look);
    [named.find_load(), earlier, ledger::HAS_PUBLICATIONS.to_owned()]
}

/// Returns the table, and the answers of the ledger, which is created for the first load. Returns `None` if
/// the regular load must follow: the table does not exist, the ledger has the load, or the ledger cannot be
/// created.
async fn look(
    client: &Client,
    SmallQuestion { table, ledger }: SmallQuestion,
    job: &Job,
    named: Option<&Participant>,
) -> SmallAnswer<Option<(FoundTable, KnownLoad)>> {
    let known = match named.zip(ledger) {
        Some((named, answers)) => match ask_ledger(named, answers, job, client).await? {
            Some(known) => known,
            None => return Ok(None),
        },
        None => KnownLoad::default(),
    };
    let table = match table {
        // The table may have been created since, if there was no ledger before.
        Err(error) if is_refusal(&error) => find(client, job).await?,
        table => table?,
    };
    Ok(table.map(|table| (table, known)))
}

/// Returns the answers of the ledger; `None` if it has this load, or may not be used. The regular load then
/// reports the reason.
async fn ask_ledger(
    named: &Participant,
    answers: SmallAnswer<Vec<SimpleQueryMessage>>,
    job: &Job,
    client: &Client,
) -> SmallAnswer<Option<KnownLoad>> {
    match answers {
        Ok(messages) => {
            if let Some(answers) = quick_check::answers(&messages) {
                return Ok(read_known_load(&answers));
            }
        }
        Err(error) if is_refusal(&error) => client.batch_execute(sql::ROLLBACK).await?,
        Err(error) => return Err(error),
    }
    if named.schema.make(client, Access::Write).await.is_err() {
        client.batch_execute(sql::ROLLBACK).await?;
        return Ok(None);
    }
    let messages = client.simple_query(&questions(named, job).join("; ")).await?;
    Ok(read_known_load(&quick_check::by_statement(&messages)))
}

/// Reads the answers to [`questions`].
fn read_known_load(answers: &[Vec<&SimpleQueryRow>]) -> Option<KnownLoad> {
    let first = |at: usize| answers.get(at).and_then(|rows| rows.first());
    if first(0).is_some() {
        return None;
    }
    let earlier = first(1).and_then(|row| Earlier::from_row(row));
    Some(KnownLoad { earlier, has_publications: first(2).is_some() })
}

impl SmallRows {
    /// Reads the first rows. Returns `None` if the inputs are too long for the table, have no rows, or begin
    /// with malformed rows.
    fn begin(job: &Job, table: &FoundTable) -> Option<Self> {
        let inputs = &job.input.files;
        let max = if table.is_small_tree { SMALL_BYTES_OF_SMALL_TREE } else { SMALL_BYTES };
        if inputs.text_size().is_none_or(|bytes| bytes > max) {
            return None;
        }
        let names = job.input.columns.as_ref().unwrap_or(&table.columns).clone();
        let format = format_for(&job.input.format, table.version);
        let known = table.known.clone();
        let shape = Shape { known, ..Shape::new(format, job.input.header, names) };
        let mut reader = Reader::new(inputs.clone(), &shape);
        reader.split_bytes = AT_ONCE;
        let (text, left) = (BytesMut::new(), max);
        let mut rows = Self { reader, used: None, text, left, count: 0, bytes_read: 0 };
        rows.read()?;
        (rows.count > 0).then_some(rows)
    }

    /// Reads more rows, if there are any. Returns `None` if there are too many rows, or malformed ones.
    fn read(&mut self) -> Option<()> {
        while self.text.is_empty()
            && let Some(split) = self.reader.next(self.used.take()).ok()?
        {
            self.count += split.rows.len() as u64;
            self.bytes_read += split.raw_bytes;
            // The text of a compressed input may be longer than expected.
            self.left = self.left.checked_sub(split.length as u64)?;
            self.text.reserve(split.bytes.len() + 1);
            for index in 0..split.rows.len() {
                self.text.extend_from_slice(split.text(index));
                self.text.put_u8(b'\n');
            }
            self.used = Some(split);
        }
        (self.count <= max_rows() && self.reader.ignored.is_empty()).then_some(())
    }
}

/// Copies the rows. Returns the number of durably stored rows, with the outcome of `before`, whose queries
/// are sent first in the same round trip. Returns `None`, without storing any row, if the rows must be loaded
/// in another way.
async fn copy<T>(
    link: &Link,
    job: &Job,
    table: &FoundTable,
    before: impl Future<Output = SmallAnswer<T>>,
    rows: &mut SmallRows,
    receipt: impl Fn(&SmallRows) -> Option<String>,
    control: &Control,
) -> SmallAnswer<Option<(u64, T)>> {
    let client = &link.client;
    let format = format_for(&job.input.format, table.version);
    let columns = job.input.columns.as_deref().unwrap_or(&table.columns);
    let copy = sql::copy_in(&table.relation, columns, Some(&format));
    let copy = sql::with_fields(copy, &job.input.fields, columns);
    // In this order, a rollback of the transaction also ends the settings.
    let begin = [sql::BEGIN, sql::NO_LOCK_TIMEOUT, sql::DURABLE].join("; ");
    let preparing = client.prepare(&copy);
    let (before, _, copy) = try_join3(before, client.simple_query(&begin), preparing).await?;
    let mut sink = Box::pin(client.copy_in(&copy).await?);
    let mut is_whole = Some(());
    while is_whole.is_some() && !rows.text.is_empty() {
        control.progress.bytes_read.store(rows.bytes_read, Relaxed);
        control.progress.rows_read.store(rows.count, Relaxed);
        sink.feed(rows.text.split().freeze()).await?;
        // This sends the rows before more are read.
        tokio::task::yield_now().await;
        is_whole = rows.read();
    }
    let Some(receipt) = is_whole.and_then(|()| receipt(rows)) else {
        drop(sink);
        client.batch_execute(sql::ROLLBACK).await?;
        return Ok(None);
    };
    control.progress.rows_in_doubt.store(rows.count, Relaxed);
    let ending = [&receipt, sql::COMMIT].join("; ");
    let outcome = try_join(sink.as_mut().finish(), client.batch_execute(&ending)).await;
    if outcome.as_ref().map_or_else(is_answer, |_| true) {
        control.progress.rows_in_doubt.store(0, Relaxed);
    }
    Ok(Some((outcome?.0, before)))
}

/// Records in the ledger that some rows were not stored: a trigger must have dropped them.
async fn note_dropped(
    link: &Link,
    named: Option<&Participant>,
    relation: &Relation,
    [read, stored]: [u64; 2],
) -> Result<()> {
    let dropped = reconcile::count_dropped(relation, read, stored)?;
    reconcile::check_dropped(&[(relation, dropped)], &link.client).await?;
    if let Some(named) = named {
        let [stored, dropped] = [stored, dropped].map(u64::cast_signed);
        let note = named.sql(ledger::NOTE_DROPPED);
        link.client.execute(&note, &[&named.id, &stored, &dropped]).await?;
    }
    Ok(())
}

/// Whether the server has rejected a statement and the session continues: in this case no row was stored.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    let severity = error.as_db_error().map(|error| error.parsed_severity());
    matches!(severity, Some(Some(Severity::Error)))
}
