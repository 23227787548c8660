//! The threads in which requests run.

use std::future::Future;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Once, OnceLock};

use tokio::runtime::{Builder, Runtime};

use crate::Result;
use crate::failure::{Cause, Failure};

/// The number of threads. They wait for the network most of the time, and decrypt.
const THREADS: usize = 2;

/// Returns the runtime of all requests. It is never shut down, because its tasks only read.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("pgsluice-objects")
            .enable_all()
            .build()
    });
    runtime.as_ref().map_err(|error| Failure::new(Cause::Other, error.to_string()))
}

/// Chooses the cryptography of all connections, unless the program has chosen one. Clients cannot be made before.
pub(crate) fn choose_cryptography() {
    static CHOSEN: Once = Once::new();
    CHOSEN.call_once(|| {
        // This fails if the program has chosen before.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// A result that a request will bring.
#[derive(Debug)]
pub(crate) struct Pending<T>(Receiver<Result<T>>);

impl<T: Send + 'static> Pending<T> {
    /// Begins a request.
    pub(crate) fn begin(request: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        let (sender, receiver) = sync_channel(1);
        match runtime() {
            Ok(runtime) => drop(runtime.spawn(async move {
                // The receiver may be gone.
                let _ = sender.send(request.await);
            })),
            Err(failure) => drop(sender.send(Err(failure))),
        }
        Self(receiver)
    }

    /// Returns a result that is there already.
    pub(crate) fn ready(value: T) -> Self {
        let (sender, receiver) = sync_channel(1);
        // The receiver is there.
        let _ = sender.send(Ok(value));
        Self(receiver)
    }

    /// Waits for the result.
    pub(crate) fn wait(self) -> Result<T> {
        let lost = |_| Failure::new(Cause::Other, "the request ended unexpectedly");
        self.0.recv().map_err(lost)?
    }
}

/// Runs a request and waits for its result.
pub(crate) fn wait<T: Send + 'static>(
    request: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    Pending::begin(request).wait()
}
