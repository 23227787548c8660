//! The servers under test: where they are, a scratch database for each test, and plain sessions.
//!
//! Apart from the tests so that they read as what they check. The clusters are thrown away, so
//! the URLs are a superuser's.

use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use futures_util::{SinkExt, TryStreamExt};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, Error, NoTls, SimpleQueryMessage};

/// A cell of a result in text form.
pub(crate) type Cell = Option<String>;

/// One of the two servers under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Pg15,
    Pg18,
}

impl Server {
    pub(crate) fn major(self) -> u32 {
        match self {
            Self::Pg15 => 15,
            Self::Pg18 => 18,
        }
    }

    /// The superuser's URL, from the environment.
    pub(crate) fn url(self) -> String {
        let name = format!("PGSLUICE_TEST_URL_{}", self.major());
        std::env::var(&name).unwrap_or_else(|_| panic!("{name} is not set: run by `make test`"))
    }

    /// A new empty database, dropped with the value.
    pub(crate) fn scratch(self) -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("sluice_{}_{count}", std::process::id());
        let admin = Session::open(&self.url());
        admin.run(&format!("CREATE DATABASE {name}"));
        Scratch { url: with_database(&self.url(), &name), name, admin }
    }
}

/// A database that lives as long as the test.
pub(crate) struct Scratch {
    admin: Session,
    name: String,
    url: String,
}

impl Scratch {
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn session(&self) -> Session {
        Session::open(&self.url)
    }

    /// Sets a parameter for every session that begins from now on, whoever opens it.
    pub(crate) fn set(&self, parameter: &str, value: &str) {
        let value = value.replace('\'', "''");
        self.admin.run(&format!("ALTER DATABASE {} SET {parameter} = '{value}'", self.name));
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        if let Err(error) = self.admin.try_run(&sql) {
            eprintln!("{sql}: {error}");
        }
    }
}

/// A connection that blocks, with the few statements that tests need.
pub(crate) struct Session {
    runtime: Runtime,
    client: Client,
}

impl Session {
    pub(crate) fn open(url: &str) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let client = runtime.block_on(async {
            let (client, connection) =
                tokio_postgres::connect(url, NoTls).await.expect("the test server answers");
            tokio::spawn(connection);
            client
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

    /// Runs `COPY ... FROM STDIN` with `input` and gives the number of rows.
    pub(crate) fn copy_in(&self, sql: &str, input: Vec<u8>) -> Result<u64, Error> {
        self.runtime.block_on(async {
            let mut sink = pin!(self.client.copy_in(sql).await?);
            sink.send(Bytes::from(input)).await?;
            sink.finish().await
        })
    }

    /// Runs `COPY ... TO STDOUT` and gives its bytes.
    pub(crate) fn copy_out(&self, sql: &str) -> Vec<u8> {
        self.runtime.block_on(async {
            let stream = self.client.copy_out(sql).await.expect("COPY TO begins");
            let pieces: Vec<Bytes> = stream.try_collect().await.expect("COPY TO ends");
            pieces.concat()
        })
    }
}

/// The server's own words, which the error's `Display` leaves out.
pub(crate) fn explain(error: &Error) -> String {
    error.as_db_error().map_or_else(
        || error.to_string(),
        |db| format!("{} {} {:?}", db.code().code(), db.message(), db.detail()),
    )
}

fn with_database(url: &str, name: &str) -> String {
    let (base, options) = url.split_once('?').map_or((url, None), |(b, o)| (b, Some(o)));
    let host = base.find("://").expect("a URL") + 3;
    let end = base[host..].find('/').map_or(base.len(), |slash| host + slash);
    let options = options.map(|o| format!("?{o}")).unwrap_or_default();
    format!("{}/{name}{options}", &base[..end])
}
