//! A writer in a thread of its own. Python hands it one order after the other, and waits for the outcome of each.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use pgsluice::job::InputOptions;
use pgsluice::source::Input as Source;
use pgsluice::writer::send_method::SendMethod;
use pgsluice::writer::{Durability, Receipt, Writer as Rows};
use pgsluice::{Control, Error, Inputs, Kind, Result};
use pgsluice_cli::door;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::failure::{failure, failure_at};
use crate::input::PyInput;
use crate::stream::Raised;

/// A writer.
#[pyclass(frozen, weakref, name = "Writer", module = "pgsluice._native")]
pub(crate) struct PyWriter {
    control: Arc<Control>,
    orders: Mutex<Sender<WriterOrder>>,
}

/// Something that a writer is doing.
#[pyclass(frozen, module = "pgsluice._native")]
pub(crate) struct Doing {
    received: Mutex<Receiver<Done>>,
    /// The outcome stays: a signal may end the wait that has received it.
    done: OnceLock<Done>,
}

/// The outcome of an order: the name and the position of the writer behind it, and what was written.
struct Done {
    id: Option<String>,
    position: Option<String>,
    /// The number of the first row of each part of the rows.
    starts: Vec<u64>,
    outcome: Result<Option<Receipt>>,
}

struct WriterOrder {
    what: What,
    outcome: Sender<Done>,
}

/// Rows that are written or tried: the options for reading them, the rows, and the number of the first row of each
/// part of them.
struct WriterRest {
    options: String,
    inputs: Inputs,
    starts: Vec<u64>,
}

enum What {
    Open(String, Durability),
    Write(WriterRest, Option<String>, u64),
    Check(WriterRest),
    Flush,
    GiveUp,
    Close,
}

#[pymethods]
impl PyWriter {
    /// A writer that is not open.
    #[new]
    fn new() -> Self {
        let control = Arc::new(Control::default());
        let (orders, to_do) = channel();
        let of_thread = Arc::clone(&control);
        thread::spawn(move || work(&to_do, &of_thread));
        Self { control, orders: Mutex::new(orders) }
    }

    /// Opens it with `options` of a load; each write is durable, unless it `is_lazy`.
    fn open(&self, options: String, is_lazy: bool) -> PyResult<Doing> {
        let durability = if is_lazy { Durability::Flush } else { Durability::Commit };
        self.order(What::Open(options, durability))
    }

    /// Writes rows in one transaction, with the position behind them, and counts the rows that were rejected. The first
    /// `options` say how all rows are read.
    #[pyo3(signature = (options, input, position=None, rejected=0))]
    fn write(
        &self,
        py: Python<'_>,
        options: String,
        input: &PyInput,
        position: Option<String>,
        rejected: u64,
    ) -> PyResult<Doing> {
        self.order(What::Write(rest(py, options, input)?, position, rejected))
    }

    /// Tries rows, and stores none.
    fn check(&self, py: Python<'_>, options: String, input: &PyInput) -> PyResult<Doing> {
        self.order(What::Check(rest(py, options, input)?))
    }

    /// Makes what was written durable.
    fn flush(&self) -> PyResult<Doing> {
        self.order(What::Flush)
    }

    /// Forgets rows that are in doubt.
    fn give_up(&self) -> PyResult<Doing> {
        self.order(What::GiveUp)
    }

    /// Closes it.
    fn close(&self) -> PyResult<Doing> {
        self.order(What::Close)
    }

    /// Asks what it is doing to end in order.
    fn stop(&self) {
        self.control.stop.interrupt();
    }
}

impl PyWriter {
    fn order(&self, what: What) -> PyResult<Doing> {
        let (outcome, received) = channel();
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = orders.send(WriterOrder { what, outcome });
        sent.map_err(|_| PyRuntimeError::new_err("the Writer's thread has ended"))?;
        Ok(Doing { received: Mutex::new(received), done: OnceLock::new() })
    }
}

#[pymethods]
impl Doing {
    /// Waits for the end, but no longer than so many seconds. None if it is not over; then the name and the position
    /// of the writer, the rows that were sent, what became of them, and how they were sent. A `Failure` has the position
    /// too, and the rows of earlier calls that it is about.
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
        let Done { id, position, starts, outcome } = match done {
            Ok(done) => done,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failure(&lost(), &Raised::default()));
            }
        };
        let receipt = match outcome {
            Ok(receipt) => receipt.as_ref(),
            Err(error) => return Err(failure_at(error, position.clone(), starts)),
        };
        let counts = receipt.map(|receipt| receipt.counts).unwrap_or_default();
        let method = receipt.and_then(|receipt| receipt.method).map(|method| match method {
            SendMethod::Arrays => "arrays",
            SendMethod::Copy => "copy",
            SendMethod::Conflict => "conflict",
            SendMethod::Stage => "stage",
        });
        Ok(Some((id.clone(), position.clone(), counts.read, counts.by_name().to_vec(), method)))
    }
}

/// The thread: carries out one order after the other, until there can be no more.
fn work(orders: &Receiver<WriterOrder>, control: &Arc<Control>) {
    let (mut rows, mut read) = (None, None);
    for WriterOrder { what, outcome } in orders {
        let done = carry_out(what, &mut rows, &mut read, control);
        // At the end of the interpreter nothing waits.
        let _ = outcome.send(done);
    }
}

fn carry_out(
    what: What,
    rows: &mut Option<Rows>,
    read: &mut Option<InputOptions>,
    control: &Arc<Control>,
) -> Done {
    let is_last = matches!(what, What::Close);
    let starts = match &what {
        What::Write(rest, ..) | What::Check(rest) => rest.starts.clone(),
        _ => Vec::new(),
    };
    let outcome = attempt(what, rows, read, control);
    let id = rows.as_ref().and_then(Rows::id).map(str::to_owned);
    let position = rows.as_ref().and_then(Rows::position).map(str::to_owned);
    if is_last {
        *rows = None;
    }
    Done { id, position, starts, outcome }
}

fn attempt(
    what: What,
    rows: &mut Option<Rows>,
    read: &mut Option<InputOptions>,
    control: &Arc<Control>,
) -> Result<Option<Receipt>> {
    match what {
        What::Open(options, durability) => {
            let nothing = Source::of_bytes("<data>", Arc::default());
            let load = door::RowOptions::new(&options, Some(nothing.into()))?;
            *rows = Some(load.writer(durability, control)?);
        }
        What::Write(rest, position, rejected) => {
            let writer = rows.as_mut().ok_or_else(closed)?;
            let write = |input: &_| writer.write(input, position.as_deref(), rejected, control);
            return with_input(rest, read, write).map(Some);
        }
        What::Check(rest) => {
            let writer = rows.as_mut().ok_or_else(closed)?;
            with_input(rest, read, |input| writer.check(input, control))?;
        }
        What::Flush => rows.as_mut().ok_or_else(closed)?.flush(control)?,
        What::GiveUp => rows.iter_mut().for_each(Rows::give_up),
        What::Close => rows.as_mut().map_or(Ok(()), |rows| rows.close(control))?,
    }
    Ok(None)
}

/// Does `work` with rows, which are read as the first ones were.
fn with_input<T>(
    WriterRest { options, inputs, .. }: WriterRest,
    read: &mut Option<InputOptions>,
    work: impl FnOnce(&InputOptions) -> Result<T>,
) -> Result<T> {
    let mut input = match read.take() {
        Some(mut input) => {
            input.files = inputs;
            input
        }
        None => door::RowOptions::new(&options, Some(inputs))?.input().clone(),
    };
    let done = work(&input);
    // The batches are Python's.
    input.files = Inputs::default();
    *read = Some(input);
    done
}

fn rest(py: Python<'_>, options: String, input: &PyInput) -> PyResult<WriterRest> {
    let handed = input.handed(py);
    let raised = handed.raised.clone();
    let (inputs, starts) = handed.numbered().map_err(|error| failure(&error, &raised))?;
    Ok(WriterRest { options, inputs, starts })
}

fn closed() -> Error {
    Error::new(Kind::Usage, "the Writer is closed")
}

fn lost() -> Error {
    let message = "internal error: the Writer's thread ended unexpectedly";
    Error::new(Kind::Internal, message).with_sqlstate("XX000")
}
