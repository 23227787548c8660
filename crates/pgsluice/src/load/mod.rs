//! The load: connects the steps from bytes to committed rows.
//!
//! ```text
//!     |- one thread -|   |----- one thread a processor ------|  |- one a connection
//!     source -> split -> parse -> route -> encode -> bucket -> sink -> server
//!     bytes     ranges   fields   node     row       payload   COPY    rows, receipts
//!       ^                           ^        ^                   |       |       |
//!       |                           |        '-- 1. is it in? ---|-------|-------'
//!       |                           '-- 2. what is its key? -----|-------'
//!       '-- 3. the bytes of a bad row ---------------------------'
//! ```
//!
//! Three arrows run back:
//!
//! 1. The ledger tells which rows of a resumed load are already in the table.
//! 2. The server answers, in batches, for keys that are not native.
//! 3. The input is read again for the reject file if the server rejects a row that was sent in binary.
//!
//! One thread finds the rows, because the end of a row depends on everything before it. All other threads
//! take whole splits and payloads, so no row needs a lock. The first thread that fails stops the others.

mod attempt;
mod attempts;
mod check_claims;
pub mod failed;
mod finish;
mod finished;
mod lag;
pub(crate) mod lock_watch;
mod retry;
mod small;
mod sql;
mod steps;
pub(crate) mod watch_thread;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use tokio::runtime::Runtime;

use crate::bucket::bucketing::Bucketing;
use crate::bucket::filler::Filling;
use crate::bucket::queue::Queue;
use crate::control::Control;
use crate::counts::outcome::{Committed, Outcome, Tally};
use crate::error::Error;
use crate::error::kind::Kind;
use crate::inspect::selftest::{self, Samples};
use crate::job::{Job, Sink};
use crate::pg::connect::Link;
use crate::pg::conninfo::Target;
use crate::pg::runtime::runtime;
use crate::route::routing::Routing;
use crate::sink::connection::Connection;
use crate::sink::flow::Flow;
use crate::sink::held::Held;
use crate::sink::null;
use crate::source::reading::Reading;
use crate::source::{Reader, Split};
use crate::testing::failpoint::failpoint;
use crate::testing::fault::fault;
pub use attempts::Load;

/// Runs all threads to their end. `session` is the one that began the load. It is returned, unless the load
/// is a share, which has one session at a time. Failures are in `flow.control`.
fn run(
    job: &Job,
    target: &Target,
    flow: &Flow<'_>,
    runtime: &Runtime,
    session: Link,
) -> (Outcome, Option<Link>) {
    let Flow { plan, control, inputs, .. } = flow;
    let jobs = plan.jobs(job);
    // Several routers would not preserve the input order.
    let routers = if plan.is_in_order() { 1 } else { plan.routers(job) };
    let queue = Queue::new(plan, job, routers, control, flow.ledger.is_some());
    let queue = &if inputs.are_rereadable() { queue } else { queue.for_pipe() };

    let reading = read(flow, routers);
    let input_wait = control.waits.begin_input_wait(1);
    let (mut first, read) = (reading.next(control), &reading);
    drop(input_wait);
    let samples = first.as_ref().filter(|_| job.safety.self_test);
    let samples = samples.map(|split| Samples::choose(plan, split));
    let test = |session: &Link| {
        samples.as_ref().map_or(Ok(()), |samples| {
            runtime.block_on(selftest::check(plan, samples, session, control))
        })
    };
    let (tested, session) = match flow.is_share() {
        true => (Some(test(&session)), None),
        false => (None, Some(session)),
    };
    let mut outcome = thread::scope(|scope| {
        // Connections have nothing to send before the router is tested, so they open during the test.
        let connections: Vec<_> =
            (0..jobs).map(|_| scope.spawn(move || send(job, flow, queue, target))).collect();
        let routers: Vec<_> = (0..routers)
            .map(|number| (Filling::new(queue, number), first.take()))
            .map(|(filling, first)| scope.spawn(move || route(flow, first, read, &filling, target)))
            .collect();
        match tested.unwrap_or_else(|| session.as_ref().map_or(Ok(()), test)) {
            Ok(()) => queue.open(),
            Err(error) => control.stop.fail(error),
        }
        let mut outcome = Outcome::default();
        for router in routers {
            outcome.routed.add(join_result(control, router.join()));
        }
        let mut held = None;
        for connection in connections {
            let (committed, transaction) = join_result(control, connection.join());
            outcome.committed.add(committed);
            held = held.or(transaction);
        }
        if let Some(held) = held {
            outcome.decision = finish::commit(flow, held, &outcome, target, runtime);
        }
        outcome
    });
    // Do not wait for a silent stream.
    if !control.stop.is_stopped() || inputs.are_rereadable() {
        outcome.ignored = join_result(control, reading.end());
    }
    (outcome, session)
}

/// Starts source and split, on one thread.
fn read(flow: &Flow<'_>, routers: usize) -> Reading {
    let mut reader = Reader::new(flow.inputs.clone(), &flow.plan.shape);
    reader.header_row = Arc::clone(&flow.header_row);
    let control = Arc::clone(flow.control);
    Reading::begin(reader, flow.control, routers, move |split| {
        control.progress.read(split.rows.len() as u64, split.raw_bytes);
        true
    })
}

/// Parses, routes, encodes and buckets, on one of several threads.
fn route(
    flow: &Flow<'_>,
    mut first: Option<Split>,
    reading: &Reading,
    filling: &Filling<'_, '_>,
    target: &Target,
) -> Tally {
    let routing = Routing::new(flow.plan, flow.control, target);
    let mut routing = routing.giving_up(flow.rejects.is_none());
    let mut bucketing = Bucketing::new(flow.plan, flow.ledger, &flow.duplicates, &flow.inputs);
    while let Some(split) = first.take().or_else(|| {
        let _input_wait = filling.begin_input_wait();
        reading.next(flow.control)
    }) {
        if fault("split::lost") {
            continue;
        }
        failpoint("split::taken");
        flow.splits.begin(&split);
        let verified =
            flow.ledger.map_or(Ok(()), |ledger| ledger.verify_block(&split, &flow.inputs));
        let already = bucketing.rows_already();
        if let Err(error) = verified.and_then(|()| bucketing.split(&split, &mut routing, filling)) {
            let place = routing.hopeless().and_then(|row| flow.inputs.locate_row(&split, row));
            flow.splits.wait_for_earlier(split.number, || flow.control.stop.is_stopped());
            flow.control.stop.fail(place.into_iter().fold(error, Error::at));
            break;
        }
        filling.complete(split.number, split.size());
        flow.splits.complete(split.number);
        flow.control.progress.rows_already.fetch_add(bucketing.rows_already() - already, Relaxed);
        reading.give_back(split);
    }
    bucketing.tally(routing.answered())
}

/// Sends payloads over one connection, on its own thread. Returns the transaction of an atomic load, if all
/// rows were sent.
fn send<'a>(
    job: &Job,
    flow: &'a Flow<'a>,
    queue: &'a Queue<'a>,
    target: &'a Target,
) -> (Committed, Option<Held<'a>>) {
    let mut committed = Committed::default();
    if job.target.sink == Sink::Null {
        null::drain(flow, queue, &mut committed);
        return (committed, None);
    }
    let sent = runtime().and_then(|runtime| {
        let sending = async {
            let connection = Connection::open(flow, queue, target).await?;
            if flow.is_atomic {
                let is_whole = connection.copy_all(&mut committed).await?;
                return Ok::<_, Error>(is_whole.then_some(connection));
            }
            match &flow.plan.one_statement {
                Some(_) => connection.copy_as_one(&mut committed).await?,
                None => connection.copy(&mut committed).await?,
            }
            connection.flush().await?;
            Ok(None)
        };
        let open = runtime.block_on(sending)?;
        Ok(open.map(|connection| Held::new(connection, runtime)))
    });
    let held = sent.unwrap_or_else(|error| {
        flow.control.stop.fail(error);
        None
    });
    (committed, held)
}

/// Returns the result of a thread. A panic fails the load.
fn join_result<T: Default>(control: &Control, outcome: thread::Result<T>) -> T {
    outcome.unwrap_or_else(|_| {
        control.stop.fail(
            Error::new(Kind::Server, "internal error: a thread of the load ended unexpectedly")
                .with_sqlstate("XX000"),
        );
        T::default()
    })
}
