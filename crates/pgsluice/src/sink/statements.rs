//! The COPY statements that a session has prepared: to prepare one again takes a round trip.

use std::cell::RefCell;
use std::collections::HashMap;
use std::pin::Pin;

use tokio_postgres::{Client, CopyInSink, Error, Statement};

use crate::bucket::message::Message;

/// How many are kept at once. The server keeps some kilobytes for each.
const MOST: usize = 64;

/// A COPY that has begun: where its rows are sent.
pub(crate) type Sink = Pin<Box<CopyInSink<Message>>>;

/// Those of one connection, by their text.
#[derive(Default)]
pub(crate) struct Statements(RefCell<HashMap<String, Statement>>);

impl Statements {
    /// Begins a COPY. Names in it are looked up each time that it begins.
    pub(crate) async fn begin(&self, client: &Client, copy: &str) -> Result<Sink, Error> {
        let kept = self.0.borrow().get(copy).cloned();
        let statement = match kept {
            Some(statement) => statement,
            None => self.keep(copy, client.prepare(copy).await?),
        };
        Ok(Box::pin(client.copy_in(&statement).await?))
    }

    fn keep(&self, copy: &str, statement: Statement) -> Statement {
        let mut kept = self.0.borrow_mut();
        if kept.len() == MOST {
            kept.clear();
        }
        kept.insert(copy.to_owned(), statement.clone());
        statement
    }
}
