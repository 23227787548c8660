//! The servers under test: where they are, a scratch database for each test, and plain sessions.
//!
//! Apart from the tests so that they read as what they check. The clusters are thrown away, so
//! the URLs are a superuser's.

use std::io::Write;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, TryStreamExt};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error, NoTls, SimpleQueryMessage};

/// A cell of a result in text form.
pub(crate) type Cell = Option<String>;

/// One of the servers under test, by its major version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Server(u32);

/// A module for each major version, `pg13` and so on, and in it a test for each name, which calls
/// the function with the name and the server if that server is to be tried.
macro_rules! on_each_server {
    ($check:path, $names:tt) => {
        $crate::server::on_each_server!(@ pg13 13 $check, $names);
        $crate::server::on_each_server!(@ pg14 14 $check, $names);
        $crate::server::on_each_server!(@ pg15 15 $check, $names);
        $crate::server::on_each_server!(@ pg16 16 $check, $names);
        $crate::server::on_each_server!(@ pg17 17 $check, $names);
        $crate::server::on_each_server!(@ pg18 18 $check, $names);
    };
    (@ $module:ident $major:literal $check:path, [$($name:ident,)*]) => {
        mod $module {
            $(#[test] fn $name() {
                if let Some(server) = $crate::server::Server::to_try($major) {
                    $check(stringify!($name), server);
                }
            })*
        }
    };
}
pub(crate) use on_each_server;

impl Server {
    pub(crate) const PG15: Self = Self(15);
    pub(crate) const PG18: Self = Self(18);

    /// The server of this major version, if `PGSLUICE_TEST_MAJORS` asks for it.
    pub(crate) fn to_try(major: u32) -> Option<Self> {
        let asked = std::env::var("PGSLUICE_TEST_MAJORS").unwrap_or_else(|_| "15 18".into());
        let found = asked.split_whitespace().any(|word| word.parse() == Ok(major));
        if !found {
            say(&format!("skipped on {major}: PGSLUICE_TEST_MAJORS is {asked:?}"));
        }
        found.then_some(Self(major))
    }

    pub(crate) fn major(self) -> u32 {
        self.0
    }

    /// The superuser's URL, from the environment.
    pub(crate) fn url(self) -> String {
        let name = format!("PGSLUICE_TEST_URL_{}", self.major());
        std::env::var(&name).unwrap_or_else(|_| panic!("{name} is not set: run by `make test`"))
    }

    /// A new empty database, dropped with the value.
    pub(crate) fn scratch(self) -> Scratch {
        self.scratch_with(None)
    }

    /// The same, in a collation of libc.
    pub(crate) fn scratch_with(self, collation: Option<&str>) -> Scratch {
        let options = collation.map(|collation| self.libc(collation));
        self.create(&options.unwrap_or_default())
    }

    /// The same, in an encoding other than UTF-8.
    pub(crate) fn scratch_in(self, encoding: &str) -> Scratch {
        self.create(&format!("{} ENCODING '{encoding}'", self.libc("C")))
    }

    fn libc(self, collation: &str) -> String {
        let provider = if self.major() < 15 { "" } else { "LOCALE_PROVIDER libc" };
        format!("TEMPLATE template0 {provider} LC_COLLATE '{collation}' LC_CTYPE '{collation}'")
    }

    fn create(self, options: &str) -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("sluice_{}_{count}", std::process::id());
        let admin = Session::open(&self.url());
        admin.run(&format!("CREATE DATABASE {name} {options}"));
        // Whatever the role that loads: it may keep a ledger.
        admin.run(&format!("GRANT CREATE ON DATABASE {name} TO PUBLIC"));
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

/// What a URL says, for those who cannot take a URL.
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: String,
    pub(crate) database: String,
    pub(crate) user: String,
    pub(crate) password: String,
}

impl Address {
    pub(crate) fn of(url: &str) -> Self {
        let config: Config = url.parse().expect("a URL");
        let text = |part: Option<&str>| part.unwrap_or_default().to_owned();
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            Some(Host::Unix(path)) => path.to_string_lossy().into_owned(),
            None => String::new(),
        };
        Self {
            host,
            port: config.get_ports().first().unwrap_or(&5432).to_string(),
            database: text(config.get_dbname()),
            user: text(config.get_user()),
            password: String::from_utf8_lossy(config.get_password().unwrap_or_default()).into(),
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
            let mut tries = 300;
            loop {
                match tokio_postgres::connect(url, NoTls).await {
                    Ok((client, connection)) => {
                        tokio::spawn(connection);
                        break client;
                    }
                    // It recovers from what a test has done to it.
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

    /// Runs `COPY ... FROM STDIN` with `input` and gives the number of rows. The transaction is
    /// an explicit one, because the client does not hear of a commit that fails after a COPY.
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
                // After a COPY that did not begin, the client mistakes the answer for another.
                let _ = self.try_run("ROLLBACK");
                Err(error)
            }
        }
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

/// Says what must be seen even if the test succeeds: past the harness, which keeps such output.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The server's own words, which the error's `Display` leaves out.
pub(crate) fn explain(error: &Error) -> String {
    error.as_db_error().map_or_else(
        || error.to_string(),
        |db| format!("{} {} {:?}", db.code().code(), db.message(), db.detail()),
    )
}

pub(crate) fn with_database(url: &str, name: &str) -> String {
    let (base, options) = url.split_once('?').map_or((url, None), |(b, o)| (b, Some(o)));
    let host = base.find("://").expect("a URL") + 3;
    let end = base[host..].find('/').map_or(base.len(), |slash| host + slash);
    let options = options.map(|o| format!("?{o}")).unwrap_or_default();
    format!("{}/{name}{options}", &base[..end])
}
