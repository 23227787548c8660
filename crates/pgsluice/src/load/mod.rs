//! The load: the flow from bytes to committed rows, wired.
//!
//! ```text
//!     source -> split -> parse -> route -> encode -> bucket -> sink
//!     bytes     ranges   fields   node     row       payload   COPY and commit
//!     \_______________/  \__________________________________/  \_______________/
//!       one thread              one thread a processor          one a connection
//! ```
//!
//! One thread reads the inputs and finds the rows. The others take whole splits and whole payloads,
//! so that no lock is taken for a row. Whoever fails first stops all the others.

pub mod failed;
pub(crate) mod finish;
pub(crate) mod lag;
pub(crate) mod lock_watch;
pub(crate) mod retry;
pub(crate) mod small;
pub(crate) mod walk;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread;

use tokio::runtime::Runtime;
use tokio_postgres::Client;

use crate::atomic::Atomic;
use crate::atomic::watch::watch;
use crate::bucket::bucketing::Bucketing;
use crate::bucket::queue::{Filling, Queue};
use crate::config::{Load, Sink};
use crate::control::Control;
use crate::counts::first_row::Opening;
use crate::counts::outcome::{Committed, Outcome, Tally};
use crate::counts::summary::{Summary, fresh_id};
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::exchange::Exchange;
use crate::inspect::selftest::{self, Samples};
use crate::ledger::{self, Begun, Ledger, Run, refuse, withdraw};
use crate::load::failed::with_committed;
use crate::partitions;
use crate::pg;
use crate::pg::connect::{self, Link};
use crate::pg::conninfo::Target;
use crate::pg::runtime::runtime;
use crate::plan::Plan;
use crate::rejects::{self, Rejects};
use crate::route::routing::Routing;
use crate::sink::copy::Lane;
use crate::sink::flow::Flow;
use crate::sink::null;
use crate::source::reading::{PATIENCE, Reading};
use crate::source::{self, Input, Reader, Split};
use crate::testing::failpoint::failpoint;
use crate::testing::fault::flaw;

/// Loads the inputs into the table. Blocks until all rows are committed or the load has failed;
/// watch and stop it through `control`.
///
/// On an error the rows of payloads that were committed before it stay in the table, and the
/// error's detail says how many there are. A load that is stopped does not wait for its input: a
/// thread that reads from a silent one ends when there is something to read.
///
/// What passes, the server's absence for instance, is waited for as long as `target` has patience; then
/// the load is taken up where it was, as far as its inputs can be read again.
pub fn load(config: &Load, target: &Target, control: &Arc<Control>) -> Result<Summary> {
    config.check()?;
    config.rejects.as_ref().map_or(Ok(()), rejects::check_files)?;
    let id = config.load_id.clone().unwrap_or_else(fresh_id);
    let by = Run::new();
    let attempt = || attempt(config, (&id, &by), target, control);
    let attempts = || retry::until_settled(config, target, control, attempt);
    let attempts = || match attempts() {
        Err(_) if control.alone().is_some() && config.is_lasting() && control.begin_again() => {
            attempts()
        }
        outcome => outcome,
    };
    let outcome = beside(attempts, |over| {
        lock_watch::watch(config.lock_timeout, target, control, over);
    });
    if let (Err(error), Some(named)) = (&outcome, ledger::named(config, &id)) {
        runtime()?.block_on(withdraw((&named, &by), error, target, control));
    }
    outcome
}

fn attempt(
    config: &Load,
    (id, by): (&str, &Run),
    target: &Target,
    control: &Arc<Control>,
) -> Result<Summary> {
    let opening = Opening::new();
    let inputs: Arc<[Input]> = source::resolve(&config.files)?.into();
    let runtime = runtime()?;
    if config.keeps_ledger() {
        control.set_resume(id);
    }
    // Nobody asks of any other error before the first row whether there are rows in the table.
    let early = |error: Error| {
        let asks = control.may_have_rows() || error.kind() == Kind::Interrupted;
        if asks { with_committed(error, control) } else { error }
    };
    let handful = small::load(config, (id, by), &inputs, target, control, &opening);
    if let Some(summary) = runtime.block_on(handful).map_err(early)? {
        return Ok(summary);
    }
    let created = if config.create_partitions {
        partitions::create(config, target, control).map_err(early)?
    } else {
        Vec::new()
    };
    let beginning = begin(config, (id, by), &inputs, target, control);
    // By its session others know to the end that the load is alive.
    let (plan, begun, _keeper) = runtime.block_on(beginning).map_err(early)?;
    failpoint("load::begun");
    let ledger = match begun {
        Some(Begun::Running(ledger)) => Some(ledger),
        Some(Begun::Finished(ledger, rows)) => {
            let read = read_again(config, &plan, &inputs, ledger, control);
            read.map_err(|error| refuse(error, id))?;
            return Ok(Summary::of_finished(id, &plan, rows, &opening));
        }
        None => None,
    };
    if let Some(ledger) = ledger.as_ref().filter(|it| config.atomic && it.is_resumed()) {
        return Err(with_committed(ledger.begun_otherwise(), control));
    }
    if let Some(ledger) = &ledger {
        let walked = walk::check(config, &plan, &inputs, ledger, target, control);
        walked.map_err(|error| if is_refused(&error) { error } else { early(error) })?;
    }
    let atomic = (config.atomic && config.sink == Sink::Copy && plan.one_statement.is_none())
        .then(|| Atomic::new(plan.jobs(config)));
    let exchange = plan.exchange.as_ref().map(|survey| {
        runtime.block_on(Exchange::begin(&plan, survey, target, control)).map_err(early)
    });
    let exchange = exchange.transpose()?;
    let total = inputs.iter().map(|input| input.size).sum::<Option<u64>>();
    control.bytes_total.store(total.unwrap_or(0), Relaxed);

    let exchange = exchange.as_ref();
    let header_row = Arc::default();
    let rejects = rejects::begin(config, id, &plan, &inputs, ledger.as_ref(), &header_row)?;
    let flow =
        Flow::new(&plan, control, inputs, &opening, exchange, rejects.as_ref(), ledger.as_ref());
    let flow = Flow { atomic: atomic.as_ref(), ..flow };
    let running = || run(config, target, &flow, &header_row, &runtime);
    let mut outcome = match config.max_lag {
        Some(most) => {
            // Until it has looked once.
            control.is_paused.store(true, Relaxed);
            beside(running, |over| lag::watch(most, target, control, over))
        }
        None => running(),
    };
    if let Some(error) = rejects.as_ref().and_then(|rejects| rejects.too_many(&outcome)) {
        control.fail(error);
    }
    let finished = runtime.block_on(finish::finish(config, target, &flow, &outcome));
    let kept = rejects.as_ref().map_or(Ok(()), Rejects::finish);
    finished.and(kept).map_err(|error| with_committed(error, control))?;
    outcome.exchanged = exchange.map(Exchange::done).unwrap_or_default();
    let bytes = control.bytes_read.load(Relaxed);
    let summary = Summary::new(id, &plan, &outcome, config, bytes, &opening);
    Ok(Summary { partitions_created: created, ..summary })
}

/// Whether the load cannot be resumed as it is: there is no use in saying how to.
fn is_refused(error: &Error) -> bool {
    matches!(error.code(), Some("55000" | "0A000"))
}

/// The outcome of `work`, while `watch` looks on in a thread of its own until it is told that it is over.
fn beside<T>(work: impl FnOnce() -> T, watch: impl FnOnce(&AtomicBool) + Send) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| watch(&over));
        let _told = Told { over: &over, watch: watch.thread() };
        work()
    })
}

/// Tells a watch that it is over when it is dropped, also by a panic: the scope waits for its thread.
struct Told<'a> {
    over: &'a AtomicBool,
    watch: &'a thread::Thread,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        self.watch.unpark();
    }
}

/// The plan, and how the load begins in the ledger if one is kept, with the session that has begun it.
async fn begin(
    config: &Load,
    (id, by): (&str, &Run),
    inputs: &[Input],
    target: &Target,
    control: &Control,
) -> Result<(Plan, Option<Begun>, Option<Client>)> {
    let Link { mut client, canceller, .. } = control.unless_stopped(connect::open(target)).await?;
    let beginning = async {
        if config.max_lag.is_some() {
            pg::lag::check_rights(&client).await?;
        }
        let mut plan = Plan::read(config, &mut client).await?;
        if let Some(why) = control.alone() {
            plan.one_connection.get_or_insert(why.to_owned());
        }
        let Some(named) = ledger::named(config, id) else { return Ok((plan, None)) };
        let of_load = (&named, by);
        plan.catalogue.read_reads(&client).await?;
        let begun =
            ledger::begin(config, of_load, &plan, inputs, (&mut client, target), control).await?;
        Ok((plan, Some(begun)))
    };
    let (plan, begun) = canceller.unless_stopped(control, beginning).await?;
    let keeper = begun.is_some().then_some(client);
    Ok((plan, begun, keeper))
}

/// Reads the streams of a load that is finished: they must be what they were.
fn read_again(
    config: &Load,
    plan: &Plan,
    inputs: &Arc<[Input]>,
    ledger: Ledger,
    control: &Control,
) -> Result<()> {
    if inputs.iter().all(|input| input.size.is_some()) {
        return Ok(());
    }
    let columns = &plan.catalogue.columns;
    let mut reader = Reader::new(Arc::clone(inputs), &plan.format, config.header, columns);
    let inputs = Arc::clone(inputs);
    let mut reading = move || {
        let mut used = None;
        while let Some(split) = reader.next(used)? {
            ledger.meet(&split, &inputs)?;
            used = Some(split);
        }
        ledger.check_finished()
    };
    // It may wait for its input when the load was stopped.
    let (done, outcome) = channel();
    thread::spawn(move || done.send(reading()));
    while !control.is_stopped() {
        match outcome.recv_timeout(PATIENCE) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Err(control.failure().unwrap_or_else(Error::interrupted))
}

/// Runs all threads to their end. Failures are in `flow.control`.
fn run(
    config: &Load,
    target: &Target,
    flow: &Flow<'_>,
    header_row: &Arc<OnceLock<Vec<u8>>>,
    runtime: &Runtime,
) -> Outcome {
    let Flow { plan, control, inputs, .. } = flow;
    let jobs = plan.jobs(config);
    let routers = plan.routers(config);
    let queue = &Queue::new(plan, config, routers, control, flow.ledger.is_some());

    let columns = &plan.catalogue.columns;
    let mut reader = Reader::new(Arc::clone(inputs), &plan.format, config.header, columns);
    reader.header_row = Arc::clone(header_row);
    let counted = Arc::clone(control);
    let reading = Reading::begin(reader, control, routers, move |split| {
        counted.bytes_read.fetch_add(split.length as u64, Relaxed);
        counted.rows_read.fetch_add(split.rows.len() as u64, Relaxed);
        true
    });
    let (mut first, read) = (reading.next(control), &reading);
    if let Some(split) = first.as_ref().filter(|_| config.self_test)
        && let Err(error) = self_test(flow, split, target)
    {
        control.fail(error);
    }
    let mut outcome = thread::scope(|scope| {
        let routers: Vec<_> = (0..routers)
            .map(|number| (queue.filling(number), first.take()))
            .map(|(filling, first)| {
                scope.spawn(move || bucket(flow, first, read, &filling, target))
            })
            .collect();
        let lanes: Vec<_> =
            (0..jobs).map(|_| scope.spawn(move || send(config, flow, queue, target))).collect();

        if let Some(atomic) = flow.atomic.filter(|atomic| atomic.lanes > 1) {
            scope.spawn(move || watch(atomic, control, target));
        }
        let mut outcome = Outcome::default();
        for router in routers {
            outcome.routed.add(ended(control, router.join()));
        }
        if let Some(atomic) = flow.atomic {
            finish::let_end(flow, atomic, &outcome.routed, target, runtime);
        }
        for lane in lanes {
            outcome.committed.add(ended(control, lane.join()));
        }
        outcome
    });
    // A silent stream is not waited for.
    if !control.is_stopped() || inputs.iter().all(Input::is_lasting) {
        outcome.ignored = ended(control, reading.end());
    }
    outcome
}

/// Asks the server about a handful of keys of the first split.
fn self_test(flow: &Flow<'_>, split: &Split, target: &Target) -> Result<()> {
    let samples = Samples::of(flow.plan, split);
    let asking = selftest::ask(flow.plan, &samples, target, flow.control);
    runtime()?.block_on(asking).map(|_| ())
}

/// Parse, route, encode and bucket.
fn bucket(
    flow: &Flow<'_>,
    mut first: Option<Split>,
    reading: &Reading,
    filling: &Filling<'_, '_>,
    target: &Target,
) -> Tally {
    let mut routing = Routing::new(flow.plan, flow.control, target);
    let mut bucketing = Bucketing::new(flow.plan, flow.ledger);
    while let Some(split) = first.take().or_else(|| {
        let _starving = filling.starving();
        reading.next(flow.control)
    }) {
        if flaw("split::lost") {
            continue;
        }
        flow.splits.begin(&split);
        let met = flow.ledger.map_or(Ok(()), |ledger| ledger.meet(&split, &flow.inputs));
        let already = bucketing.rows_already();
        if let Err(error) = met.and_then(|()| bucketing.split(&split, &mut routing, filling)) {
            flow.control.fail(error);
            break;
        }
        filling.complete(split.number);
        flow.control.rows_already.fetch_add(bucketing.rows_already() - already, Relaxed);
        reading.give_back(split);
    }
    bucketing.tally(routing.answered())
}

/// Sink: one connection.
fn send(config: &Load, flow: &Flow<'_>, queue: &Queue<'_>, target: &Target) -> Committed {
    let mut committed = Committed::default();
    if config.sink == Sink::Null {
        null::drain(flow, queue, &mut committed);
        return committed;
    }
    let sent = runtime().and_then(|runtime| {
        runtime.block_on(async {
            let lane = Lane::open(flow, queue, target).await?;
            match (&flow.plan.one_statement, flow.atomic) {
                (Some(_), _) => lane.copy_as_one(&mut committed).await?,
                (None, None) => lane.copy(&mut committed).await?,
                (None, Some(_)) => return lane.copy_all(&mut committed).await,
            }
            lane.flush().await
        })
    });
    if let Err(error) = sent {
        flow.control.fail(error);
    }
    committed
}

/// What a thread returned; one that panicked fails the load.
fn ended<T: Default>(control: &Control, outcome: thread::Result<T>) -> T {
    outcome.unwrap_or_else(|_| {
        control.fail(
            Error::new(Kind::Server, "internal error: a thread of the load ended unexpectedly")
                .sqlstate("XX000"),
        );
        T::default()
    })
}
