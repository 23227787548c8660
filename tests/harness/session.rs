//! Plain sessions with the servers under test.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, TryStreamExt};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, NoTls, SimpleQueryMessage};

/// A cell of a result in text form.
pub(crate) type Cell = Option<String>;

/// A blocking connection, with the few methods that tests need.
pub(crate) struct Session {
    runtime: Runtime,
    client: Client,
}

impl Session {
    pub(crate) fn open(url: &str) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let client = runtime.block_on(async {
            let mut tries = 300;
            loop {
                match tokio_postgres::connect(url, NoTls).await {
                    Ok((client, connection)) => {
                        tokio::spawn(connection);
                        break client;
                    }
                    // The connection recovers from a failed statement.
                    Err(error)
                        if error.code() == Some(&SqlState::CANNOT_CONNECT_NOW) && tries > 0 =>
                    {
                        tries -= 1;
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                    Err(error) => panic!("the test server does not answer: {error:?}"),
                }
            }
        });
        Self { runtime, client }
    }

    pub(crate) fn try_run(&self, sql: &str) -> Result<(), Error> {
        self.runtime.block_on(self.client.batch_execute(sql))
    }

    pub(crate) fn run(&self, sql: &str) {
        self.try_run(sql).unwrap_or_else(|error| panic!("{}\nin: {sql}", explain(&error)));
    }

    pub(crate) fn rows(&self, sql: &str) -> Vec<Vec<Cell>> {
        let messages = self
            .runtime
            .block_on(self.client.simple_query(sql))
            .unwrap_or_else(|error| panic!("{}\nin: {sql}", explain(&error)));
        let row = |message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect())
            }
            _ => None,
        };
        messages.into_iter().filter_map(row).collect()
    }

    /// Runs `COPY ... FROM STDIN` with `input`. Returns the number of rows. The transaction is explicit,
    /// because the client does not notice if a commit after a COPY fails.
    pub(crate) fn copy_in(&self, sql: &str, input: Vec<u8>) -> Result<u64, Error> {
        self.run("BEGIN");
        let copied = self.runtime.block_on(async {
            let mut sink = pin!(self.client.copy_in(sql).await?);
            sink.send(Bytes::from(input)).await?;
            sink.finish().await
        });
        match copied {
            Ok(rows) => self.try_run("COMMIT").map(|()| rows),
            Err(error) => {
                // After a COPY that did not begin, the client confuses the answers.
                let _ = self.try_run("ROLLBACK");
                Err(error)
            }
        }
    }

    /// Runs `COPY ... TO STDOUT`. Returns its bytes.
    pub(crate) fn copy_out(&self, sql: &str) -> Vec<u8> {
        self.runtime.block_on(async {
            let stream = self.client.copy_out(sql).await.expect("COPY TO begins");
            let pieces: Vec<Bytes> = stream.try_collect().await.expect("COPY TO ends");
            pieces.concat()
        })
    }
}

/// Returns the server's message, which the error's `Display` omits.
pub(crate) fn explain(error: &Error) -> String {
    error.as_db_error().map_or_else(
        || error.to_string(),
        |db| format!("{} {} {:?}", db.code().code(), db.message(), db.detail()),
    )
}
