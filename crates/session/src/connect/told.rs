//! Learns the process that a server names at login. tokio-postgres keeps it to itself, except in a
//! request to cancel, which is written here and sent nowhere.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::CancelToken;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

/// Where in a CancelRequest the process stands: behind its length and its code.
const PROCESS: std::ops::Range<usize> = 8..12;

/// The length of a CancelRequest.
const LENGTH: usize = 16;

/// The process that the other side has named when `token` was made, if it named one.
pub(super) async fn told(token: &CancelToken) -> Option<i32> {
    let mut said = Vec::new();
    token.cancel_query_raw(Nowhere(&mut said), Agreeing).await.ok()?;
    let request = &said[said.len().checked_sub(LENGTH)?..];
    Some(i32::from_be_bytes(request[PROCESS].try_into().ok()?))
}

/// Keeps what it is told, and agrees to any encryption.
struct Nowhere<'a>(&'a mut Vec<u8>);

/// Encrypts nothing.
struct Agreeing;

impl<'a> TlsConnect<Nowhere<'a>> for Agreeing {
    type Stream = Nowhere<'a>;
    type Error = Infallible;
    type Future = Ready<Result<Nowhere<'a>, Infallible>>;

    fn connect(self, stream: Nowhere<'a>) -> Self::Future {
        ready(Ok(stream))
    }
}

impl TlsStream for Nowhere<'_> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Nowhere<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buffer.put_slice(b"S");
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Nowhere<'_> {
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
