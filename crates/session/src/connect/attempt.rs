//! One attempt at one address: encryption as `sslmode` requires, login, and a check of the session.

use std::error::Error as _;
use std::io;
use std::net::IpAddr;

use rustls::pki_types::ServerName;
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage, Socket};

use super::link::Link;
use super::watch::{TlsState, WatchedConnector};
use crate::conninfo::{Endpoint, Place, SessionAttrs, Target};
use crate::error::chain;
use crate::failure::FailedAttempt;
use crate::tls::{self, Mode};

/// One server at one of its addresses; without an address, its socket.
pub(super) struct Candidate<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) address: Option<IpAddr>,
}

/// Connects within the target's time limit.
pub(super) async fn connect(
    target: &Target,
    candidate: &Candidate<'_>,
    wanted: SessionAttrs,
) -> Result<Link, Vec<FailedAttempt>> {
    let work = async {
        let link = login(target, candidate).await?;
        check_session(&link.client, wanted).await.map_err(|failure| vec![failure])?;
        Ok(link)
    };
    let outcome = match target.timeout() {
        None => work.await,
        Some(limit) => tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
            let step = "Check host and port, or allow more time with connect_timeout.";
            Err(vec![FailedAttempt::new("timeout expired").with_hint(step).moving_on()])
        }),
    };
    let server = candidate.describe();
    outcome.map_err(|failures| failures.into_iter().map(|failure| failure.at(&server)).collect())
}

/// Logs in, with libpq's order of encrypted and plain attempts. Sockets are never encrypted.
async fn login(target: &Target, candidate: &Candidate<'_>) -> Result<Link, Vec<FailedAttempt>> {
    let mode = if candidate.address.is_none() { Mode::Disable } else { target.tls().mode };
    match mode {
        Mode::Disable => plain(target, candidate).await.map_err(|failure| vec![failure]),
        Mode::Allow => match plain(target, candidate).await {
            Err(first) if first.is_from_server() => {
                connect_encrypted(target, candidate, SslMode::Require)
                    .await
                    .map_err(|(second, _)| vec![first, second])
            }
            outcome => outcome.map_err(|failure| vec![failure]),
        },
        Mode::Prefer => match connect_encrypted(target, candidate, SslMode::Prefer).await {
            Err((first, true)) => {
                plain(target, candidate).await.map_err(|second| vec![first, second])
            }
            outcome => outcome.map_err(|(failure, _)| vec![failure]),
        },
        Mode::Require | Mode::VerifyCa | Mode::VerifyFull => {
            connect_encrypted(target, candidate, SslMode::Require)
                .await
                .map_err(|(failure, _)| vec![failure])
        }
    }
}

async fn plain(target: &Target, candidate: &Candidate<'_>) -> Result<Link, FailedAttempt> {
    let mut config = candidate.config(target);
    config.ssl_mode(SslMode::Disable);
    start(&config, NoTls, None)
        .await
        .map_err(|error| candidate.explain(&error, TlsState::Unused, false))
}

/// Tries a connection with TLS. A failure is returned with whether a plain attempt may succeed: TLS was to
/// blame, or the server refused over TLS.
async fn connect_encrypted(
    target: &Target,
    candidate: &Candidate<'_>,
    mode: SslMode,
) -> Result<Link, (FailedAttempt, bool)> {
    let tls = tls::client_config(target.tls(), candidate.host_name()).map_err(|f| (f, true))?;
    let tls = WatchedConnector::new(tls);
    let mut config = candidate.config(target);
    config.ssl_mode(mode).ssl_negotiation(target.tls().negotiation);
    start(&config, tls.clone(), Some(tls.clone())).await.map_err(|error| {
        let mut failure = candidate.explain(&error, tls.state(), mode == SslMode::Require);
        let direct = target.tls().negotiation == SslNegotiation::Direct;
        if direct && tls.state() == TlsState::Begun && !failure.has_hint() {
            failure = failure.with_hint("sslnegotiation=direct needs PostgreSQL 17 or later.");
        }
        let retry = match tls.state() {
            TlsState::Unused => false,
            TlsState::Begun => true,
            TlsState::Done => failure.is_from_server(),
        };
        (failure, retry)
    })
}

async fn start<T>(
    config: &Config,
    tls: T,
    watched: Option<WatchedConnector>,
) -> Result<Link, tokio_postgres::Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, connection) = config.connect(tls).await?;
    Ok(Link::new(client, connection, watched))
}

async fn check_session(client: &Client, wanted: SessionAttrs) -> Result<(), FailedAttempt> {
    if wanted == SessionAttrs::Any {
        return Ok(());
    }
    let query = "SELECT pg_catalog.pg_is_in_recovery(), \
                 pg_catalog.current_setting('transaction_read_only')";
    let failed =
        |text: String| FailedAttempt::new(format!("could not examine the session: {text}"));
    let messages = client.simple_query(query).await.map_err(|error| failed(chain(&error)))?;
    let row = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let row = row.ok_or_else(|| failed("no answer".to_owned()))?;
    let (standby, read_only) = (row.get(0) == Some("t"), row.get(1) == Some("on"));
    let refusal = match wanted {
        SessionAttrs::ReadWrite if read_only => "session is read-only",
        SessionAttrs::ReadOnly if !read_only => "session is not read-only",
        SessionAttrs::Primary if standby => "server is in hot standby mode",
        SessionAttrs::Standby | SessionAttrs::PreferStandby if !standby => {
            "server is not in hot standby mode"
        }
        _ => return Ok(()),
    };
    Err(FailedAttempt::new(refusal).moving_on())
}

impl Candidate<'_> {
    /// Returns the host's name as the user gave it.
    fn host_name(&self) -> Option<&str> {
        match &self.endpoint.place {
            Place::Host(host) | Place::Address(_, Some(host)) => Some(host),
            Place::Socket(_) | Place::Address(_, None) => None,
        }
    }

    fn config(&self, target: &Target) -> Config {
        let mut config = target.config().clone();
        config.port(self.endpoint.port);
        if let Some(password) = &self.endpoint.password {
            config.password(password);
        }
        match (&self.endpoint.place, self.address) {
            (Place::Socket(directory), _) => {
                config.host_path(directory);
            }
            (_, Some(address)) => {
                // rustls needs a name that it can parse, even if none is verified.
                let name = self.host_name().filter(|name| ServerName::try_from(*name).is_ok());
                config.host(name.map_or_else(|| address.to_string(), str::to_owned));
                config.hostaddr(address);
            }
            (_, None) => {}
        }
        config
    }

    /// Describes the server in libpq's words: `at "host" (address), port 5432`.
    fn describe(&self) -> String {
        if let Some(socket) = self.endpoint.socket() {
            return format!("on socket \"{}\"", socket.display());
        }
        let address = self.address.map(|address| address.to_string()).unwrap_or_default();
        let port = self.endpoint.port;
        match self.host_name() {
            Some(name) if name != address => format!("at \"{name}\" ({address}), port {port}"),
            _ => format!("at \"{address}\", port {port}"),
        }
    }

    fn explain(
        &self,
        error: &tokio_postgres::Error,
        state: TlsState,
        required: bool,
    ) -> FailedAttempt {
        if let Some(refusal) = error.as_db_error() {
            return self.name_passfile(FailedAttempt::from_server(refusal));
        }
        if state == TlsState::Begun {
            return FailedAttempt::from_tls(error);
        }
        let cause = error.source();
        match cause.and_then(|cause| cause.downcast_ref::<io::Error>()) {
            Some(io) if error.to_string() == "error connecting to server" => {
                FailedAttempt::from_network(io).with_hint(self.unreachable())
            }
            // The server rejects a client's certificate only after the handshake.
            Some(io) if io.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) => {
                FailedAttempt::from_tls(error)
            }
            Some(io) if io.kind() == io::ErrorKind::UnexpectedEof => closed_by_server(),
            Some(io) => FailedAttempt::new(crate::error::plain_io(io)).passing(),
            None if error.is_closed() => closed_by_server(),
            None if cause.is_some_and(|cause| cause.to_string() == "password missing") => {
                FailedAttempt::without_password()
                    .with_hint("Give it in PGPASSWORD, in ~/.pgpass, or in the connection string.")
            }
            None if required && state == TlsState::Unused => {
                FailedAttempt::new("server does not support SSL, but SSL was required")
                    .with_hint("Turn on ssl in the server, or change sslmode.")
            }
            None => FailedAttempt::new(chain(error)),
        }
    }

    fn name_passfile(&self, failure: FailedAttempt) -> FailedAttempt {
        match &self.endpoint.passfile {
            Some(file) if failure.has_code("28P01") => {
                failure.with_detail(format!("password retrieved from file \"{}\"", file.display()))
            }
            _ => failure,
        }
    }

    fn unreachable(&self) -> &'static str {
        match self.address {
            None => "Is the server running locally and accepting connections on that socket?",
            Some(_) => "Is the server running on that host and accepting TCP/IP connections?",
        }
    }
}

fn closed_by_server() -> FailedAttempt {
    FailedAttempt::new("server closed the connection unexpectedly").with_hint(
        "This probably means the server terminated abnormally before or while processing the request.",
    )
    .passing()
}
