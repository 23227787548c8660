//! Opens connections: each host in order, each of its addresses, with and without TLS as `sslmode` requires.
//!
//! `attempt` connects to one address, and `watch` records whether its TLS handshake began. `backend` and `login_pid`
//! find out whether the session is shared. `failure` words the errors. The order of attempts, and when they end,
//! is that of libpq's `PQconnectPoll` (`src/interfaces/libpq/fe-connect.c`, 18).

mod attempt;
mod backend;
mod link;
mod login_pid;
mod timeouts;
mod watch;

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use futures_util::future::join;
use tokio_postgres::Client;

use crate::conninfo::{Endpoint, Place, SessionAttrs, Target};
use crate::error::backoff::Backoff;
use crate::error::plain_io;
use crate::failure::FailedAttempt;
use crate::{Error, Result};
use attempt::Candidate;
pub use link::{Caller, Canceller, Link, Pid};

/// A statement that makes unqualified names and operators refer to the system's own, whatever the user's schemas
/// contain.
pub const PG_CATALOG_ONLY: &str = "SET search_path = pg_catalog, pg_temp";

/// The approximate pause after the first failure.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Time limit of the probe for shared sessions: a pool without a free session does not answer.
const PROBE: Duration = Duration::from_secs(1);

/// Connects and logs in. The connection then runs as a task of the current tokio runtime, which needs its timer
/// enabled.
///
/// # Errors
/// Fails with libpq's message, with SQLSTATE if the server refused, and the next step. If several hosts were
/// tried, the first failure is the message and the others are its detail.
pub async fn connect(target: &Target) -> Result<Client> {
    Ok(open(target).await?.client)
}

/// Connects a session for pgsluice's own statements, which run no user's code. They find the objects of
/// `pg_catalog`, whatever the schemas of the user's search_path contain.
pub async fn connect_internal(target: &Target) -> Result<Client> {
    let client = connect(target).await?;
    client.batch_execute(PG_CATALOG_ONLY).await?;
    Ok(client)
}

/// Returns the idle session, reset as by [`connect_internal`], or a new one if it was lost.
pub async fn reuse_or_connect(idle: Option<Client>, target: &Target) -> Result<Client> {
    match idle {
        Some(idle) if idle.batch_execute(PG_CATALOG_ONLY).await.is_ok() => Ok(idle),
        _ => connect_internal(target).await,
    }
}

/// Connects and logs in, for a session that may have to be stopped. Retries passing failures for as long as the
/// target allows.
pub async fn open(target: &Target) -> Result<Link> {
    let link = patiently(target, || async {
        let link = try_all(target).await?;
        link.identify().await.map_err(|error| vec![FailedAttempt::from_session(&error)])?;
        Ok(link)
    });
    let link = link.await?;
    check_dedicated(target, &link).await?;
    link.set_timeouts(target).await?;
    Ok(link)
}

/// Connects like [`open`], but only up to the login: [`identify_with`] and [`Link::set_timeouts`] can be sent together with
/// the first queries.
pub async fn log_in(target: &Target) -> Result<Link> {
    patiently(target, || try_all(target)).await
}

/// Identifies the session of `link`, in one round trip with `questions`, which change nothing. Returns `None` if
/// the session was lost or refused, and fails if it is shared.
pub async fn identify_with<T>(
    target: &Target,
    link: &Link,
    questions: impl Future<Output = T>,
) -> Result<Option<T>> {
    let (identified, answers) = join(link.identify(), questions).await;
    if identified.is_err() {
        return Ok(None);
    }
    check_dedicated(target, link).await?;
    Ok(Some(answers))
}

async fn patiently<F>(target: &Target, login: impl Fn() -> F) -> Result<Link>
where
    F: Future<Output = Result<Link, Vec<FailedAttempt>>>,
{
    let began = Instant::now();
    let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
    loop {
        let failures = match login().await {
            Ok(link) => return Ok(link),
            Err(failures) => failures,
        };
        if !failures.last().is_some_and(FailedAttempt::may_pass) {
            return Err(summarize(failures).permanent());
        }
        let left = target.patience().saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(summarize(failures));
        }
        tokio::time::sleep(backoff.pause().min(left)).await;
    }
}

/// Fails if the pool shares its sessions between clients.
async fn check_dedicated(target: &Target, link: &Link) -> Result<()> {
    find_pool_error(target, link).await.map_or(Ok(()), Err)
}

/// Returns why the target's pool cannot be used, if so. The first connection through it finds out.
async fn find_pool_error(target: &Target, link: &Link) -> Option<Error> {
    if let Some(known) = target.pool().get() {
        return known.clone();
    }
    if !link.is_pooled() {
        return None;
    }
    let found = probe(target, link).await.err();
    target.pool().get_or_init(|| found).clone()
}

/// Detects a pool in transaction mode, as far as possible. There, the session of `link`, which is in no
/// transaction, goes to the next client, or `link` gets another session.
async fn probe(target: &Target, link: &Link) -> Result<()> {
    let probing = async {
        let Ok(other) = try_all(target).await else { return Ok(()) };
        other.client.batch_execute("BEGIN").await?;
        other.identify().await?;
        let checked = link.check_apart(&other).await;
        other.client.batch_execute("COMMIT").await?;
        checked
    };
    tokio::time::timeout(PROBE, probing).await.unwrap_or(Ok(()))
}

/// Tries each host once, or twice where a standby is preferred.
async fn try_all(target: &Target) -> Result<Link, Vec<FailedAttempt>> {
    let mut failures = Vec::new();
    for &wanted in passes(target.session()) {
        for endpoint in in_order(target.endpoints().iter().collect(), target.shuffle()) {
            match connect_endpoint(target, endpoint, wanted).await {
                Ok(link) => return Ok(link),
                Err(mut failed) => {
                    let moves_on = failed.last().is_none_or(|failure| failure.moves_on);
                    failures.append(&mut failed);
                    if !moves_on {
                        return Err(failures);
                    }
                }
            }
        }
    }
    Err(failures)
}

/// Returns the kinds of session to look for, one pass over all hosts each: `prefer-standby` looks for a standby
/// first, then accepts any.
fn passes(wanted: SessionAttrs) -> &'static [SessionAttrs] {
    match wanted {
        SessionAttrs::Any => &[SessionAttrs::Any],
        SessionAttrs::ReadWrite => &[SessionAttrs::ReadWrite],
        SessionAttrs::ReadOnly => &[SessionAttrs::ReadOnly],
        SessionAttrs::Primary => &[SessionAttrs::Primary],
        SessionAttrs::Standby => &[SessionAttrs::Standby],
        SessionAttrs::PreferStandby => &[SessionAttrs::Standby, SessionAttrs::Any],
    }
}

async fn connect_endpoint(
    target: &Target,
    endpoint: &Endpoint,
    wanted: SessionAttrs,
) -> Result<Link, Vec<FailedAttempt>> {
    let mut failures = Vec::new();
    for address in addresses(endpoint, target.shuffle()).await.map_err(|failure| vec![failure])? {
        match attempt::connect(target, &Candidate { endpoint, address }, wanted).await {
            Ok(link) => return Ok(link),
            Err(failed) => {
                let moves_on = failed.last().is_none_or(|failure| failure.moves_on);
                failures.extend(failed);
                if !moves_on {
                    break;
                }
            }
        }
    }
    Err(failures)
}

/// Resolves the addresses of a host; `None` stands for its socket.
async fn addresses(
    endpoint: &Endpoint,
    shuffle: bool,
) -> Result<Vec<Option<IpAddr>>, FailedAttempt> {
    let host = match &endpoint.place {
        Place::Socket(_) => return Ok(vec![None]),
        Place::Address(address, _) => return Ok(vec![Some(*address)]),
        Place::Host(host) => host,
    };
    match tokio::net::lookup_host((host.as_str(), endpoint.port)).await {
        Ok(found) => Ok(in_order(found.map(|address| Some(address.ip())).collect(), shuffle)),
        Err(error) => {
            let why = plain_io(&error);
            let why = why.strip_prefix("failed to lookup address information: ").unwrap_or(&why);
            Err(FailedAttempt::new(format!(
                "could not translate host name \"{host}\" to address: {why}"
            ))
            .with_hint("Check the host name: host= in the connection string, or PGHOST.")
            .moving_on())
        }
    }
}

fn in_order<T>(mut list: Vec<T>, shuffle: bool) -> Vec<T> {
    if shuffle {
        let random = RandomState::new();
        let mut keyed: Vec<(u64, T)> =
            (0u64..).zip(list).map(|(i, item)| (random.hash_one(i), item)).collect();
        keyed.sort_by_key(|(key, _)| *key);
        list = keyed.into_iter().map(|(_, item)| item).collect();
    }
    list
}

fn summarize(failures: Vec<FailedAttempt>) -> crate::Error {
    let mut failures = failures.into_iter();
    let first = failures.next().unwrap_or_else(|| FailedAttempt::new("no host to connect to"));
    first.into_error(failures.collect())
}
