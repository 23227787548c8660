//! A TLS connector that records how far the handshake came. The meaning of a failure depends on it, and
//! tokio-postgres does not report it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rustls::client::ClientConfig;
use tokio_postgres::Socket;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Progress of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TlsState {
    /// The server did not agree to TLS, or was not asked.
    Unused,
    /// The handshake began and has not succeeded.
    Begun,
    /// The connection is encrypted.
    Done,
}

/// tokio-postgres's connector for rustls, watched.
#[derive(Clone)]
pub(super) struct WatchedConnector {
    inner: MakeRustlsConnect,
    state: Arc<AtomicU8>,
}

impl WatchedConnector {
    pub(super) fn new(config: ClientConfig) -> Self {
        Self { inner: MakeRustlsConnect::new(config), state: Arc::default() }
    }

    pub(super) fn state(&self) -> TlsState {
        match self.state.load(Ordering::Relaxed) {
            0 => TlsState::Unused,
            1 => TlsState::Begun,
            _ => TlsState::Done,
        }
    }
}

type Connector = <MakeRustlsConnect as MakeTlsConnect<Socket>>::TlsConnect;
type WatchedStream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// One handshake to watch.
pub(super) struct Handshake {
    inner: Connector,
    state: Arc<AtomicU8>,
}

impl MakeTlsConnect<Socket> for WatchedConnector {
    type Stream = WatchedStream;
    type TlsConnect = Handshake;
    type Error = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, Self::Error> {
        let inner = MakeTlsConnect::<Socket>::make_tls_connect(&mut self.inner, host)?;
        Ok(Handshake { inner, state: self.state.clone() })
    }
}

impl TlsConnect<Socket> for Handshake {
    type Stream = WatchedStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<WatchedStream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            self.state.store(1, Ordering::Relaxed);
            let stream = self.inner.connect(socket).await?;
            self.state.store(2, Ordering::Relaxed);
            Ok(stream)
        })
    }
}
