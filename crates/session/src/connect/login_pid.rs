//! Learns the process that a server names at login. tokio-postgres keeps it private, but writes it into cancel
//! requests, so one is written here and sent nowhere.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::CancelToken;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

/// Position of the process in a CancelRequest, after its length and its code.
const PROCESS: std::ops::Range<usize> = 8..12;

/// The length of a CancelRequest.
const LENGTH: usize = 16;

/// Returns the process that the server named when `token` was made, if it named one.
pub(super) async fn login_pid(token: &CancelToken) -> Option<i32> {
    let mut sent = Vec::new();
    token.cancel_query_raw(Recorder(&mut sent), Agreeing).await.ok()?;
    let request = &sent[sent.len().checked_sub(LENGTH)?..];
    Some(i32::from_be_bytes(request[PROCESS].try_into().ok()?))
}

/// A stream that keeps the bytes written to it.
struct Recorder<'a>(&'a mut Vec<u8>);

/// A TLS connector that encrypts nothing.
struct Agreeing;

impl<'a> TlsConnect<Recorder<'a>> for Agreeing {
    type Stream = Recorder<'a>;
    type Error = Infallible;
    type Future = Ready<Result<Recorder<'a>, Infallible>>;

    fn connect(self, stream: Recorder<'a>) -> Self::Future {
        ready(Ok(stream))
    }
}

impl TlsStream for Recorder<'_> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Recorder<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buffer.put_slice(b"S");
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Recorder<'_> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
