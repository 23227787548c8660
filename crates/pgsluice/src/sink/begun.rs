//! A COPY that has begun.

use std::pin::Pin;

use tokio_postgres::CopyInSink;

use super::message::Message;

/// Where its rows are sent.
pub(super) type Sink = Pin<Box<CopyInSink<Message>>>;

/// A COPY, and what the session has stored before in the leaves of its payload, if that is compared.
pub(super) type Begun = (Sink, Option<Vec<i64>>);
