//! The load: the flow from bytes to committed rows, wired.
//!
//! ```text
//!     source -> split -> parse -> route -> bucket -> sink
//!     bytes     ranges   keys     node     payload   COPY and commit
//!     \_______________/  \_______________________/  \_______________/
//!       one thread         one thread a processor     one a connection
//! ```
//!
//! One thread reads the inputs and finds the rows; it must be one, because where a row ends
//! depends on all that stands before it. The others take whole splits and whole payloads, so that
//! no lock is taken for a row. Whoever fails first stops all the others.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use pgsluice_core::bucket::Buckets;
use pgsluice_core::catalog::NodeId;
use pgsluice_core::parse::Keys;
use pgsluice_core::position::Position;
use pgsluice_core::route::{Cause, Route};

use crate::config::Load;
use crate::control::Control;
use crate::error::{Error, Kind, Place, Result};
use crate::partitions;
use crate::pg::conninfo::Target;
use crate::plan::Plan;
use crate::queue::{Queue, Routed};
use crate::report::{Outcome, Summary};
use crate::runtime::runtime;
use crate::selftest::{self, Samples};
use crate::sink::copy::{self, Committed};
use crate::source::{self, Input, Reader, Split};

/// What every stage of one load sees.
pub(crate) struct Flow<'a> {
    pub plan: &'a Plan,
    pub control: &'a Control,
    pub inputs: Arc<[Input]>,
}

impl Flow<'_> {
    /// A position in the words of the user.
    pub(crate) fn place(&self, position: Position) -> Place {
        let Position { source, offset, line } = position;
        let name = self.inputs.get(source as usize).map(|input| input.name.clone());
        Place { source: name.unwrap_or_default(), line, offset }
    }

    fn reader(&self, config: &Load) -> Reader {
        let columns = &self.plan.catalogue.columns;
        Reader::new(Arc::clone(&self.inputs), &self.plan.format, config.header, columns)
    }
}

/// Loads the inputs into the table. Blocks until all rows are committed or the load has failed;
/// watch and stop it through `control`.
///
/// On an error the rows of payloads that were committed before it stay in the table, and the
/// error's detail says how many there are.
pub fn load(config: &Load, target: &Target, control: &Control) -> Result<Summary> {
    let began = Instant::now();
    config.check()?;
    let inputs: Arc<[Input]> = source::resolve(&config.files)?.into();
    let created = if config.create_partitions {
        partitions::create(config, target, control)?
    } else {
        Vec::new()
    };
    let plan = runtime()?.block_on(Plan::make(config, target))?;
    let total = inputs.iter().map(|input| input.size).sum::<Option<u64>>();
    control.bytes_total.store(total.unwrap_or(0), Relaxed);

    let flow = Flow { plan: &plan, control, inputs };
    let mut reader = flow.reader(config);
    let first = reader.next(None).map_err(|error| with_committed(error, control))?;
    if let Some(split) = first.as_ref().filter(|_| config.self_test) {
        runtime()?.block_on(selftest::ask(&plan, &Samples::of(&plan, split), target))?;
    }
    let outcome = run(config, target, &flow, reader, first);
    if let Some(error) = control.failure() {
        return Err(with_committed(error, control));
    }
    runtime()?.block_on(copy::flush(target))?;
    outcome.check()?;
    let bytes = control.bytes_read.load(Relaxed);
    let summary = Summary::new(&plan, &outcome, config, bytes, began.elapsed());
    Ok(Summary { partitions_created: created, ..summary })
}

/// Runs all threads to their end. Failures are in `flow.control`.
fn run(
    config: &Load,
    target: &Target,
    flow: &Flow<'_>,
    reader: Reader,
    first: Option<Split>,
) -> Outcome {
    let jobs = if flow.plan.one_statement.is_some() { 1 } else { config.jobs };
    let routers = jobs.min(thread::available_parallelism().map_or(1, usize::from));
    let nodes = flow.plan.tree.nodes.len();
    let queue = &Queue::new(Buckets::new(nodes, config.memory), routers, flow.control);
    let (full, splits) = sync_channel(routers);
    let (used, empty) = channel();
    let splits = Arc::new(Mutex::new(splits));

    thread::scope(|scope| {
        let reader = scope.spawn(move || read(flow, reader, first, &full, &empty));
        let routers: Vec<_> = (0..routers)
            .map(|_| (Arc::clone(&splits), used.clone()))
            .map(|(splits, used)| scope.spawn(move || route(flow, &splits, &used, queue)))
            .collect();
        // The reader must notice when no router is left.
        drop((splits, used));
        let lanes: Vec<_> =
            (0..jobs).map(|_| scope.spawn(move || send(flow, queue, target))).collect();

        let mut outcome = Outcome::new(nodes);
        for router in routers {
            outcome.add_routed(joined(flow, router));
        }
        for lane in lanes {
            outcome.add_committed(&joined(flow, lane));
        }
        outcome.ignored = joined(flow, reader);
        outcome
    })
}

/// Source and split. Returns what was not data: input and bytes.
fn read(
    flow: &Flow<'_>,
    mut reader: Reader,
    first: Option<Split>,
    full: &SyncSender<Split>,
    empty: &Receiver<Split>,
) -> Vec<(String, u64)> {
    let control = flow.control;
    let mut first = first;
    while !control.is_stopped() {
        let next = match first.take() {
            Some(split) => Ok(Some(split)),
            None => reader.next(empty.try_recv().ok()),
        };
        match next {
            Ok(Some(split)) => {
                control.bytes_read.fetch_add(split.length as u64, Relaxed);
                control.rows_read.fetch_add(split.rows.len() as u64, Relaxed);
                if full.send(split).is_err() {
                    break;
                }
            }
            Ok(None) => break,
            Err(error) => control.fail(error),
        }
    }
    reader.ignored
}

/// Where the rows of one thread went.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Rows by the leaf that was found for them.
    pub leaves: BTreeMap<NodeId, u64>,
    /// Rows by the node that they stopped at, and why.
    pub stops: BTreeMap<(NodeId, Cause), u64>,
}

/// Parse, route and bucket.
fn route(
    flow: &Flow<'_>,
    splits: &Mutex<Receiver<Split>>,
    used: &Sender<Split>,
    queue: &Queue<'_>,
) -> Tally {
    let Plan { parser, router, tree, .. } = flow.plan;
    let _filling = queue.filling();
    let mut keys = Keys::default();
    let mut nodes: Vec<u32> = Vec::new();
    let mut leaves = vec![0; tree.nodes.len()];
    let mut stops = BTreeMap::new();
    let next = || splits.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(split) = next() {
        if flow.control.is_stopped() {
            break;
        }
        let mut urgent = Vec::new();
        nodes.clear();
        for row in &split.rows {
            let row = row.of(&split.bytes);
            parser.parse(row, &mut keys);
            let node = match router.route(row, &keys) {
                Route::Leaf(node) => {
                    leaves[node] += 1;
                    node
                }
                Route::Node(node, cause) => {
                    *stops.entry((node, cause)).or_default() += 1;
                    if matches!(cause, Cause::NoPartition | Cause::Missing(_)) {
                        urgent.push(node);
                    }
                    node
                }
            };
            nodes.push(node as u32);
        }
        queue.push(&Routed {
            start: split.start,
            bytes: &split.bytes,
            rows: &split.rows,
            nodes: &nodes,
            urgent: &urgent,
        });
        // At the end of the input nobody wants it back.
        let _ = used.send(split);
    }
    let leaves = leaves.into_iter().enumerate().filter(|(_, rows)| *rows > 0).collect();
    Tally { leaves, stops }
}

/// Sink: one connection.
fn send(flow: &Flow<'_>, queue: &Queue<'_>, target: &Target) -> Committed {
    let mut committed = Committed::new(flow.plan.tree.nodes.len());
    let sent = runtime().and_then(|runtime| {
        runtime.block_on(async {
            if flow.plan.one_statement.is_some() {
                copy::copy_as_one(flow, queue, target, &mut committed).await
            } else {
                copy::copy(flow, queue, target, &mut committed).await
            }
        })
    });
    if let Err(error) = sent {
        flow.control.fail(error);
    }
    committed
}

/// What a thread returned; one that panicked fails the load.
fn joined<T: Default>(flow: &Flow<'_>, thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|_| {
        flow.control.fail(
            Error::new(Kind::Server, "internal error: a thread of the load ended unexpectedly")
                .sqlstate("XX000"),
        );
        T::default()
    })
}

/// Says what a load that failed has left in the table.
fn with_committed(error: Error, control: &Control) -> Error {
    match control.rows_loaded.load(Relaxed) {
        0 => error.detail("No row of this load is in the table."),
        rows => error
            .detail(format!("{rows} rows of this load were committed before and are in the table."))
            .hint("Remove them before you load the same input again, or it will double them."),
    }
}
