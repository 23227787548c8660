//! The COPY statements that a session has prepared. Preparing one again would take a round trip.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::pin::Pin;

use tokio_postgres::{Client, CopyInSink, Error, Statement};

use crate::bucket::message::Message;

/// The maximum number of prepared statements. The server needs some kilobytes for each.
const MAX_STATEMENTS: usize = 64;

/// A COPY that has begun, to which rows are sent.
pub(crate) type CopySink = Pin<Box<CopyInSink<Message>>>;

/// The COPY statements of one connection, by their text.
#[derive(Default)]
pub(crate) struct Statements {
    by_text: RefCell<HashMap<String, Statement>>,
    has_refused: Cell<bool>,
}

impl Statements {
    /// Begins a COPY. The server looks up the names in it each time.
    pub(crate) async fn begin(&self, client: &Client, copy: &str) -> Result<CopySink, Error> {
        let prepared = self.by_text.borrow().get(copy).cloned();
        let statement = match prepared {
            Some(statement) => statement,
            None => self.store(copy, client.prepare(copy).await?),
        };
        let begun = client.copy_in(&statement).await;
        self.has_refused.set(self.has_refused.get() || begun.is_err());
        Ok(Box::pin(begun?))
    }

    /// Whether a COPY could not begin. Its connection must not be used again: tokio-postgres 0.7 then sends a
    /// second Sync, and takes the answer to it for the answer to the next request.
    pub(super) fn has_refused(&self) -> bool {
        self.has_refused.get()
    }

    fn store(&self, copy: &str, statement: Statement) -> Statement {
        let mut statements = self.by_text.borrow_mut();
        if statements.len() == MAX_STATEMENTS {
            statements.clear();
        }
        statements.insert(copy.to_owned(), statement.clone());
        statement
    }
}
