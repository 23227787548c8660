//! Runs statements over several connections at once.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use futures_util::future::join_all;

use super::conninfo::Target;
use super::qualified::qualify;
use super::{connect, sql};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result, sqlstate};

/// A deparsed statement.
pub(crate) struct Statement {
    pub(crate) sql: String,
    /// The object to create, for errors: "index a of public.b".
    pub(crate) what: String,
    /// Whether it builds an index, for the progress display.
    pub(crate) is_index: bool,
}

/// Runs `tasks` over up to `jobs` connections. The statements of one task run in order.
pub(crate) async fn run(
    tasks: &[Vec<Statement>],
    jobs: usize,
    target: &Target,
    control: &Control,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let workers = (0..jobs.min(tasks.len())).map(|_| work(tasks, &next, target, control));
    // Wait for all of them, because a stopped one still cancels its statement.
    join_all(workers).await.into_iter().collect()
}

/// Runs tasks on one connection until there are no more.
async fn work(
    tasks: &[Vec<Statement>],
    next: &AtomicUsize,
    target: &Target,
    control: &Control,
) -> Result<()> {
    let link = control.stop.unless_stopped(connect::open(target)).await?;
    let doing = async {
        let session =
            [sql::NO_LOCK_TIMEOUT, sql::DEPARSE_SETTINGS, sql::RESET_SEARCH_PATH].join(";");
        link.client.batch_execute(&session).await?;
        while let Some(task) = tasks.get(next.fetch_add(1, Relaxed)) {
            for statement in task {
                let made = link.client.batch_execute(&safe(&statement.sql)).await;
                made.map_err(|error| refused(statement, error))?;
                control.progress.indexes_built.fetch_add(u64::from(statement.is_index), Relaxed);
            }
        }
        Ok(())
    };
    let done = link.canceller.unless_stopped(control, doing).await;
    done.inspect_err(|error| control.stop.fail(error.clone()))
}

/// Returns a statement with its names qualified, because they were deparsed under another search_path. A
/// statement that cannot be qualified runs under that search_path, and functions of its index then cannot use
/// the user's.
fn safe(statement: &str) -> String {
    match qualify(statement) {
        Some(qualified) => qualified,
        None => [sql::PG_CATALOG_ONLY, statement, sql::RESET_SEARCH_PATH].join("; "),
    }
}

fn refused(statement: &Statement, error: tokio_postgres::Error) -> Error {
    let blames_row = error.code().is_some_and(|code| sqlstate::blames_row(code.code()));
    let error =
        Error::from(error).with_detail(format!("pgsluice was reproducing {}.", statement.what));
    if blames_row { error.with_kind(Kind::Data) } else { error }
}
