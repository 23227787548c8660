//! The session of a move, from the survey to the swap. It holds the lock on the table, or follows its changes.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use pgsluice_core::catalog::Relation;
use tokio::runtime::Runtime;
use tokio_postgres::Client;
use tokio_postgres::types::Oid;

use super::branches::Branches;
use super::patience::{LONGEST, REST};
use super::sql::locks::{ALL_ROWS, ATTEMPT, END_LOOK, GIVE_UP, LOOK, NO_LIMIT};
use super::survey::Survey;
use super::{Move, record};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::policy::{self, Policy};
use crate::error::{Error, Result};
use crate::load::lock_watch;
use crate::load::watch_thread::with_watch;
use crate::pg::connect::{self, Link};
use crate::pg::conninfo::Target;
use crate::pg::sql::{BEGIN, COMMIT, DEPARSE_SETTINGS, NO_LOCK_TIMEOUT, lock_shared, lock_timeout};

/// Interval between two checks whether the session still exists.
const INTERVAL: Duration = Duration::from_millis(50);

/// A table that is being moved.
pub(super) struct Hold {
    /// The session. If the table is locked, it is in the transaction that holds the lock.
    pub(super) link: Link,
    pub(super) survey: Survey,
    pub(super) branches: Branches,
}

/// Opens a session that resolves names as its user would.
pub(super) async fn open(target: &Target, control: &Control) -> Result<Link> {
    let link = control.stop.unless_stopped(connect::open(target)).await?;
    link.client.batch_execute(&[NO_LOCK_TIMEOUT, ALL_ROWS].join("; ")).await?;
    Ok(link)
}

impl Hold {
    /// Surveys the table. If the move is offline, locks it after all transactions that write to it have
    /// ended.
    pub(super) fn take(it: &Move, runtime: &Runtime, control: &Control) -> Result<Self> {
        lock_watch::report_waits(&it.target, control, || runtime.block_on(Self::lock(it, control)))
    }

    /// Continues a move of another process.
    pub(super) async fn take_over(
        it: &Move,
        survey: Survey,
        branches: Branches,
        control: &Control,
    ) -> Result<Self> {
        let link = open(&it.target, control).await?;
        claim(&link.client, survey.table.oid, &survey.table.relation).await?;
        let label = survey.table.relation.label();
        control.notice(&format!("going on with an earlier move of {label}"));
        link.client.batch_execute(DEPARSE_SETTINGS).await?;
        Ok(Self { link, survey, branches })
    }

    async fn lock(it: &Move, control: &Control) -> Result<Self> {
        let Move { table, shape, widens_keys, is_offline, .. } = it;
        let link = open(&it.target, control).await?;
        let locking = async {
            let client = &link.client;
            client.batch_execute(BEGIN).await?;
            let (oid, relation) = super::table::find(client, table).await?;
            claim(client, oid, &relation).await?;
            if *is_offline {
                // Obstacles are found before other sessions have to wait.
                client.batch_execute(LOOK).await?;
                let survey = Survey::make(client, table, shape, *widens_keys, true).await?;
                survey.check()?;
                client.batch_execute(END_LOOK).await?;
                match &survey.drain {
                    None => client.batch_execute(&lock_shared(&relation)).await?,
                    Some(drain) => lock_both(client, &drain.parent, &relation).await?,
                }
                if super::table::find(client, table).await?.0 != oid {
                    return Err(replaced(&relation.label()));
                }
            }
            // Otherwise other sessions could not replace a view that the survey reads, while the rows are
            // copied.
            client.batch_execute(LOOK).await?;
            let mut survey = Survey::make(client, table, shape, *widens_keys, *is_offline).await?;
            survey.check()?;
            survey.check_generated(client).await?;
            let branches = survey.branches(shape, client).await?;
            let end = if *is_offline { "" } else { COMMIT };
            client.batch_execute(&[END_LOOK, end, DEPARSE_SETTINGS].join(";")).await?;
            Ok((survey, branches))
        };
        let (survey, branches) = link.canceller.unless_stopped(control, locking).await?;
        Ok(Self { link, survey, branches })
    }

    /// Runs `work`, and stops it if the session has ended: without the lock, the copied rows are useless.
    pub(super) fn run_while_held<T>(
        &self,
        runtime: &Runtime,
        control: &Control,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        with_watch(work, |over| {
            let ended = async {
                while !over.load(Relaxed) {
                    tokio::time::sleep(INTERVAL).await;
                    if self.link.is_closed().await {
                        control.stop.fail(self.lost());
                        return;
                    }
                }
            };
            runtime.block_on(ended);
        })
    }

    fn lost(&self) -> Error {
        let label = self.survey.table.relation.label();
        let message = match &self.survey.log {
            None => format!("the session that kept others from writing to {label} has ended"),
            Some(_) => format!("the session of the move of {label} has ended"),
        };
        let error = Error::new(Kind::Server, message).with_sqlstate("08006").permanent();
        let error = error.only_hint("Run the command again.");
        let why = self.link.ending().map(|why| format!("The server reported: {why}."));
        why.into_iter().fold(error, Error::with_detail)
    }
}

/// Prevents writes to a partition and its parent. A writer may hold one lock and wait for the other. So each
/// attempt is shorter than `deadlock_timeout`, and writers can continue between two attempts.
async fn lock_both(client: &Client, parent: &Relation, partition: &Relation) -> Result<()> {
    let locks =
        [ATTEMPT, &lock_timeout(LONGEST), &lock_shared(parent), &lock_shared(partition), NO_LIMIT]
            .join("; ");
    while let Err(error) = client.batch_execute(&locks).await {
        let error = Error::from(error);
        if error.sqlstate().map(policy::for_sqlstate) != Some(Policy::Retry) {
            return Err(error);
        }
        client.batch_execute(GIVE_UP).await?;
        tokio::time::sleep(LONGEST * REST).await;
    }
    Ok(())
}

/// Takes the lock of the move of a table.
async fn claim(client: &Client, oid: Oid, relation: &Relation) -> Result<()> {
    if record::lock(client, oid).await? {
        return Ok(());
    }
    Err(record::busy(client, oid, &relation.label()).await?)
}

/// Returns the error about a table whose name now belongs to another one.
pub(super) fn replaced(label: &str) -> Error {
    let message = format!("another table is called {label} now");
    Error::new(Kind::Server, message).with_sqlstate("55000").with_hint("Run the command again.")
}
