//! A COPY that has begun.

use std::pin::Pin;
use std::sync::Arc;

use pgsluice_core::bucket::Payload;
use tokio_postgres::CopyInSink;

use super::failure::Failure;
use super::message::Message;

/// Where its rows are sent.
pub(super) type Sink = Pin<Box<CopyInSink<Message>>>;

/// A COPY, and what the session has stored before in the leaves of its payload, if that is compared.
pub(super) type Begun = (Sink, Option<Vec<i64>>);

/// A transaction of one payload that has begun, or could not, before it was its turn.
pub(super) struct Ahead {
    pub(super) payload: Arc<Payload>,
    pub(super) begun: Result<Begun, Failure>,
}
