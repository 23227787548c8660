//! A writer in its own thread. Python sends it one order after the other, and waits for the outcome of each.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use pgsluice::job::InputOptions;
use pgsluice::source::Input as Source;
use pgsluice::writer::send_method::SendMethod;
use pgsluice::writer::{
    Durability, Positions, Receipt, RejectRows, Step, WriteExtras, Writer as Rows,
};
use pgsluice::{Control, Error, Inputs, Kind, MetricsFile, Result};
use pgsluice_cli::door;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::events::EventQueue;
use crate::failure::{failure, failure_at};
use crate::input::PyInput;
use crate::stream::CaughtException;
use crate::words::Call;

/// A writer of rows.
#[pyclass(frozen, weakref, name = "Writer", module = "pgsluice._native")]
pub(crate) struct PyWriter {
    call: Arc<Call>,
    control: Arc<Control>,
    orders: Mutex<Sender<WriterOrder>>,
    events: Arc<EventQueue>,
}

/// An order that a writer is carrying out.
#[pyclass(frozen, module = "pgsluice._native")]
pub(crate) struct RunningOrder {
    call: Arc<Call>,
    received: Mutex<Receiver<Done>>,
    /// The outcome, which is kept because a signal may end the wait that has received it.
    done: OnceLock<Done>,
}

/// The outcome of an order: the name and the positions of the writer after it, and the receipt.
struct Done {
    id: Option<String>,
    position: Option<String>,
    /// The position of each participant that the order opens.
    positions: Vec<Option<String>>,
    /// The number of the first row of each part of the rows.
    starts: Vec<u64>,
    outcome: Result<Option<Receipt>>,
}

struct WriterOrder {
    what: OrderKind,
    outcome: Sender<Done>,
}

/// Rows to write or try: the options for reading them, the rows, and the number of the first row of each
/// part.
struct WriterRest {
    options: String,
    inputs: Inputs,
    starts: Vec<u64>,
    /// Whether there are no rows. An empty input does not determine how later ones are read.
    is_empty: bool,
}

/// Positions and rejects that Python passes with rows.
struct GivenExtras {
    position: Option<String>,
    steps: Option<Vec<(String, Option<String>, String)>>,
    rejected: u64,
    rejects: Option<(String, Vec<String>, String)>,
}

enum OrderKind {
    Open(String, Durability, bool),
    Participants(Vec<String>),
    Write(WriterRest, GivenExtras),
    Check(WriterRest),
    Flush,
    GiveUp,
    Close(bool),
}

#[pymethods]
impl PyWriter {
    /// Create a writer without opening it. Hints mention only the keywords in `keywords`. Events from `level` on
    /// are queued, a level of `logging`.
    #[new]
    #[pyo3(signature = (keywords, level=None))]
    fn new(keywords: Vec<String>, level: Option<u8>) -> Self {
        let call = Arc::new(Call { keywords: Some(keywords), ..Call::load() });
        let control = Arc::new(Control::default());
        let events = EventQueue::begin(level, &control);
        let (orders, to_do) = channel();
        let of_thread = Arc::clone(&control);
        thread::spawn(move || work(&to_do, of_thread));
        Self { call, control, orders: Mutex::new(orders), events }
    }

    /// Return the level and the text of each event since the last call.
    fn events(&self) -> Vec<(u8, String)> {
        self.events.take()
    }

    /// Open the writer with the `options` of a load. Each write is durable, unless `is_lazy`. If `is_shared`,
    /// several writers share the load.
    #[pyo3(signature = (options, is_lazy, is_shared=false))]
    fn open(&self, options: String, is_lazy: bool, is_shared: bool) -> PyResult<RunningOrder> {
        let durability = if is_lazy { Durability::Flush } else { Durability::Commit };
        self.order(OrderKind::Open(options, durability, is_shared))
    }

    /// Open these participants of a shared load, and no others.
    fn participants(&self, names: Vec<String>) -> PyResult<RunningOrder> {
        self.order(OrderKind::Participants(names))
    }

    /// Write rows in one transaction, with the position after them, and count the rows that were rejected.
    /// The `options` of the first call determine how all rows are read. `steps` are tuples of a participant
    /// and its positions before and after the rows. `rejects` describe rejected rows: the table, its columns,
    /// and a JSON array of objects.
    #[pyo3(signature = (options, input, position=None, rejected=0, steps=None, rejects=None))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn write(
        &self,
        py: Python<'_>,
        options: String,
        input: &PyInput,
        position: Option<String>,
        rejected: u64,
        steps: Option<Vec<(String, Option<String>, String)>>,
        rejects: Option<(String, Vec<String>, String)>,
    ) -> PyResult<RunningOrder> {
        let extras = GivenExtras { position, steps, rejected, rejects };
        self.order(OrderKind::Write(rest(py, options, input)?, extras))
    }

    /// Try to write rows, and store none.
    fn check(&self, py: Python<'_>, options: String, input: &PyInput) -> PyResult<RunningOrder> {
        self.order(OrderKind::Check(rest(py, options, input)?))
    }

    /// Make all written rows durable.
    fn flush(&self) -> PyResult<RunningOrder> {
        self.order(OrderKind::Flush)
    }

    /// Give up rows that are in doubt.
    fn give_up(&self) -> PyResult<RunningOrder> {
        self.order(OrderKind::GiveUp)
    }

    /// Close the writer. The metrics show whether the program `has_failed`.
    #[pyo3(signature = (has_failed=false))]
    fn close(&self, has_failed: bool) -> PyResult<RunningOrder> {
        self.order(OrderKind::Close(has_failed))
    }

    /// Set the number of messages of a stream that are not committed yet, for the metrics.
    fn report_lag(&self, messages: u64) {
        self.control.progress.messages_behind.store(messages, Ordering::Relaxed);
    }

    /// Ask the current order to end in an orderly way.
    fn stop(&self) {
        self.control.stop.interrupt();
    }
}

impl PyWriter {
    fn order(&self, what: OrderKind) -> PyResult<RunningOrder> {
        let (outcome, received) = channel();
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = orders.send(WriterOrder { what, outcome });
        sent.map_err(|_| PyRuntimeError::new_err("the Writer's thread has ended"))?;
        let call = Arc::clone(&self.call);
        Ok(RunningOrder { call, received: Mutex::new(received), done: OnceLock::new() })
    }
}

#[pymethods]
impl RunningOrder {
    /// Wait for the end of the order, for at most `seconds`. Return None if it is not over. Otherwise return
    /// the name and the position of the writer, the number of rows, their outcome, the method that sent them,
    /// and the positions of the participants that the order has opened. A `Failure` also contains the
    /// position, and the number of rows of earlier calls that it is about.
    #[expect(clippy::type_complexity, reason = "Python takes it apart")]
    fn wait(
        &self,
        py: Python<'_>,
        seconds: f64,
    ) -> PyResult<
        Option<(
            Option<String>,
            Option<String>,
            u64,
            Vec<(&'static str, u64)>,
            Option<&'static str>,
            Vec<Option<String>>,
        )>,
    > {
        let wait = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let done = py.detach(|| {
            let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(done) = self.done.get() {
                return Ok(done);
            }
            received.recv_timeout(wait).map(|done| self.done.get_or_init(|| done))
        });
        let Done { id, position, positions, starts, outcome } = match done {
            Ok(done) => done,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failure(&lost(), &CaughtException::default()));
            }
        };
        let receipt = match outcome {
            Ok(receipt) => receipt.as_ref(),
            Err(error) => {
                return Err(failure_at(&self.call, error, position.clone(), starts));
            }
        };
        let counts = receipt.map(|receipt| receipt.counts).unwrap_or_default();
        let method = receipt.and_then(|receipt| receipt.method).map(|method| match method {
            SendMethod::Arrays => "arrays",
            SendMethod::Copy => "copy",
            SendMethod::Conflict => "conflict",
            SendMethod::Stage => "stage",
        });
        let counted = counts.by_name().to_vec();
        let (id, position, positions) = (id.clone(), position.clone(), positions.clone());
        Ok(Some((id, position, counts.read, counted, method, positions)))
    }
}

/// The writer of a thread, and its state between two orders.
struct Worker {
    control: Arc<Control>,
    rows: Option<Rows>,
    /// The input options of the first rows.
    read: Option<InputOptions>,
    metrics: Option<MetricsFile>,
    /// The number of rows that were committed.
    committed: u64,
}

/// Carries out one order after the other, until the sender is gone.
fn work(orders: &Receiver<WriterOrder>, control: Arc<Control>) {
    let mut worker = Worker { control, rows: None, read: None, metrics: None, committed: 0 };
    for WriterOrder { what, outcome } in orders {
        // At the end of the interpreter nothing is waiting.
        let _ = outcome.send(worker.carry_out(what));
    }
    if worker.rows.is_some() {
        let message = "the Writer was not closed";
        worker.finish(Some(&Error::new(Kind::Interrupted, message)));
    }
}

impl Worker {
    fn carry_out(&mut self, what: OrderKind) -> Done {
        let is_last = matches!(what, OrderKind::Close(_));
        let names = match &what {
            OrderKind::Participants(names) => names.clone(),
            _ => Vec::new(),
        };
        let starts = match &what {
            OrderKind::Write(rest, ..) | OrderKind::Check(rest) => rest.starts.clone(),
            _ => Vec::new(),
        };
        let outcome = self.attempt(what);
        let rows = self.rows.as_ref();
        let id = rows.and_then(Rows::id).map(str::to_owned);
        let position = rows.and_then(Rows::position).map(str::to_owned);
        let position_of = |name: &String| rows?.position_of(name).map(str::to_owned);
        let positions = names.iter().map(position_of).collect();
        if is_last {
            self.rows = None;
        }
        Done { id, position, positions, starts, outcome }
    }

    fn attempt(&mut self, what: OrderKind) -> Result<Option<Receipt>> {
        let Self { control, rows, read, .. } = self;
        match what {
            OrderKind::Open(options, durability, is_shared) => {
                let nothing = Source::from_bytes("<data>", Arc::default());
                let load = door::RowOptions::new(&options, Some(nothing.into()))?;
                self.metrics = load.metrics(control)?;
                match load.writer(durability, is_shared, control) {
                    Ok(writer) => *rows = Some(writer),
                    Err(error) => {
                        self.finish(Some(&error));
                        return Err(error);
                    }
                }
            }
            OrderKind::Participants(names) => {
                rows.as_mut().ok_or_else(closed)?.open_participants(&names, control)?;
            }
            OrderKind::Write(rest, extras) => {
                let writer = rows.as_mut().ok_or_else(closed)?;
                let write =
                    |input: &_| extras.with(|extras| writer.write_with(input, extras, control));
                let receipt = with_input(rest, read, write)?;
                self.committed += receipt.counts.rows() - receipt.counts.rejected;
                return Ok(Some(receipt));
            }
            OrderKind::Check(rest) => {
                let writer = rows.as_mut().ok_or_else(closed)?;
                with_input(rest, read, |input| writer.check(input, control))?;
            }
            OrderKind::Flush => rows.as_mut().ok_or_else(closed)?.flush(control)?,
            OrderKind::GiveUp => rows.iter_mut().for_each(Rows::give_up),
            OrderKind::Close(has_failed) => {
                let ended = rows.as_mut().map_or(Ok(()), |rows| rows.close(control));
                let failed = Error::new(Kind::Interrupted, "the program has failed");
                self.finish(ended.as_ref().err().or(has_failed.then_some(&failed)));
                ended?;
            }
        }
        Ok(None)
    }

    /// Reports the end of the run and closes the file for metrics.
    fn finish(&mut self, error: Option<&Error>) {
        self.control.finish(self.committed, error);
        self.metrics = None;
    }
}

/// Runs `work` with rows that are read like the first ones.
fn with_input<T>(
    WriterRest { options, inputs, is_empty, .. }: WriterRest,
    read: &mut Option<InputOptions>,
    work: impl FnOnce(&InputOptions) -> Result<T>,
) -> Result<T> {
    let mut input = match read.take() {
        Some(mut input) if !is_empty => {
            input.files = inputs;
            input
        }
        before => {
            *read = before;
            door::RowOptions::new(&options, Some(inputs))?.input().clone()
        }
    };
    let done = work(&input);
    if is_empty {
        return done;
    }
    // The batches belong to Python.
    input.files = Inputs::default();
    *read = Some(input);
    done
}

impl GivenExtras {
    /// Runs `work` with this data as the writer takes it.
    fn with<T>(&self, work: impl FnOnce(&WriteExtras<'_>) -> T) -> T {
        let Self { position, steps, rejected, rejects } = self;
        let steps: Option<Vec<Step<'_>>> = steps.as_ref().map(|steps| {
            let steps = steps.iter();
            let step = steps.map(|(participant, from, to)| Step {
                participant,
                from: from.as_deref(),
                to,
            });
            step.collect()
        });
        let positions = match &steps {
            Some(steps) => Positions::Steps(steps),
            None => Positions::from(position.as_deref()),
        };
        let rejects = rejects.as_ref();
        let rejects = rejects.map(|(table, columns, rows)| RejectRows { table, columns, rows });
        work(&WriteExtras { positions, rejected: *rejected, rejects })
    }
}

fn rest(py: Python<'_>, options: String, input: &PyInput) -> PyResult<WriterRest> {
    let given = input.clone_given(py);
    let raised = given.raised.clone();
    let (inputs, starts) = given.into_numbered().map_err(|error| failure(&error, &raised))?;
    Ok(WriterRest { options, inputs, starts, is_empty: input.is_empty() })
}

fn closed() -> Error {
    Error::new(Kind::Usage, "the Writer is closed")
}

fn lost() -> Error {
    let message = "internal error: the Writer's thread ended unexpectedly";
    Error::new(Kind::Internal, message).with_sqlstate("XX000")
}
