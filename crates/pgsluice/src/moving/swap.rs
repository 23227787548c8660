//! The swap: one transaction in which the partitioned table takes the name of the table, and all that belongs to the
//! name. At the end it must be, thing by thing, what the table was.

use std::time::{Duration, Instant};

use pgsluice_core::catalog::Relation;
use tokio_postgres::Client;

use super::sql::ddl;
use super::sql::definitions::{DESCRIBED, LATE, OID, SEQUENCE};
use super::sql::locks::{ATTEMPT, FRESH, GIVE_UP, IN_THE_WAY};
use super::survey::{NewIndex, Survey};
use super::table::widened;
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::policy::{self, Policy};
use crate::error::{Error, Result};
use crate::pg::connect::Link;
use crate::pg::sql::{COMMIT_DURABLY, lock_exclusively, lock_timeout};
use crate::testing::failpoint::failpoint;

/// A pause between two attempts, in terms of how long one waits: others wait behind it.
const REST: u32 = 10;

/// The interval between two notices about lock holders.
const NOTICE: Duration = Duration::from_secs(10);

/// The facts that the swap needs, read in advance.
pub(super) struct Swap<'a> {
    survey: &'a Survey,
    /// Holds the lock on the table.
    link: &'a Link,
    max_lock: Duration,
    /// Sequences of identity columns: the new one, qualified and quoted, the old one, and the old one's name and the
    /// name that it gets.
    sequences: Vec<(String, String, String, String)>,
}

/// A thing that users see: kind, name, and text.
type Thing = (String, String, String);

impl<'a> Swap<'a> {
    /// Finds the new sequences.
    pub(super) async fn prepare(
        survey: &'a Survey,
        link: &'a Link,
        max_lock: Duration,
    ) -> Result<Self> {
        let client = &link.client;
        let mut sequences = Vec::new();
        for (identity, old) in &survey.identities {
            let new =
                client.query_one(SEQUENCE, &[&survey.root.to_string(), &identity.column]).await?;
            let new: Option<String> = new.get(0);
            let (sequence, name) = (identity.sequence.clone(), identity.name.clone());
            sequences.extend(new.map(|new| (new, sequence, name, old.clone())));
        }
        Ok(Self { survey, link, max_lock, sequences })
    }

    /// Swaps, and commits. Tries again as long as others hold locks. `last` is the last statement. Returns how long
    /// one attempt made readers wait at most.
    pub(super) async fn run(&self, control: &Control, last: &str) -> Result<Duration> {
        let mut noticed: Option<Instant> = None;
        let mut longest = Duration::ZERO;
        loop {
            let began = Instant::now();
            let attempt = self.attempt(control, last).await;
            longest = longest.max(began.elapsed());
            let Err(error) = attempt else { return Ok(longest) };
            if error.sqlstate().map(policy::of) != Some(Policy::Retry) {
                return Err(error);
            }
            self.link.client.batch_execute(GIVE_UP).await?;
            if noticed.is_none_or(|at| at.elapsed() >= NOTICE) {
                noticed = Some(Instant::now());
                self.notice(control).await?;
            }
            tokio::select! {
                () = tokio::time::sleep(self.max_lock * REST) => {}
                () = control.stop.stopped() => {}
            }
            if control.stop.is_stopped() {
                return Err(control.stop.failure().unwrap_or_else(Error::interrupted));
            }
        }
    }

    async fn notice(&self, control: &Control) -> Result<()> {
        self.link.client.batch_execute(FRESH).await?;
        let row = self.link.client.query_one(IN_THE_WAY, &[&self.survey.table.oid]).await?;
        let label = self.survey.table.relation.label();
        let who = row.get::<_, Option<String>>(0).unwrap_or_else(|| "nobody any more".to_owned());
        control.progress.notice(format!("waiting to swap in {label}: locked by {who}"));
        Ok(())
    }

    async fn attempt(&self, control: &Control, last: &str) -> Result<()> {
        let client = &self.link.client;
        let locking = async {
            let timeout = lock_timeout(self.max_lock);
            let lock = lock_exclusively(std::iter::once(&self.survey.table.relation));
            Ok(client.batch_execute(&[ATTEMPT, &timeout, &lock].join("; ")).await?)
        };
        self.link.canceller.unless_stopped(control, locking).await?;
        // Privileges, views and what depends on the table may have changed until now.
        let oid = self.survey.table.oid;
        self.survey.check_again(client).await?;
        let late = client.query(LATE, &[&oid]).await?;
        let before = expected(self.survey, described(client, oid).await?);
        let late = late.iter().map(|row| row.get(0));
        let statements: Vec<String> = self.renames().into_iter().chain(late).collect();
        client.batch_execute(&statements.join(";\n")).await?;
        self.check_carried(&before).await?;
        client.batch_execute(last).await?;
        failpoint("moving::committing");
        client.batch_execute(COMMIT_DURABLY).await?;
        failpoint("moving::committed");
        Ok(())
    }

    fn renames(&self) -> Vec<String> {
        let Survey { table, root, old, indexes, .. } = self.survey;
        let Relation { schema, name: own } = &table.relation;
        let mut statements = Vec::new();
        for (new, sequence, ..) in &self.sequences {
            statements.push(ddl::go_on(new, sequence));
        }
        for (new, sequence, name, old) in &self.sequences {
            statements.push(ddl::rename_sequence(sequence, old));
            statements.push(ddl::rename_sequence(new, name));
        }
        statements.push(ddl::rename("TABLE", schema, own, &old.name));
        for NewIndex { index, old, .. } in indexes {
            statements.push(ddl::rename("INDEX", schema, &index.name, old));
        }
        statements.push(ddl::rename("TABLE", schema, &root.name, own));
        for NewIndex { index, new, .. } in indexes {
            statements.push(ddl::rename("INDEX", schema, new, &index.name));
        }
        statements
    }

    /// Refuses a table that is not what the old one was.
    async fn check_carried(&self, before: &[Thing]) -> Result<()> {
        let client = &self.link.client;
        let Relation { schema, name } = &self.survey.table.relation;
        let oid: u32 = client.query_one(OID, &[schema, name]).await?.get(0);
        let now = described(client, oid).await?;
        let lost = before.iter().find(|thing| !now.contains(thing));
        let gained = now.iter().find(|thing| !before.contains(thing));
        let Some((kind, what, _)) = lost.or(gained) else { return Ok(()) };
        let text = |things: &[Thing]| {
            let thing = things.iter().find(|thing| (&thing.0, &thing.1) == (kind, what));
            thing.map_or("nothing", |thing| thing.2.as_str()).to_owned()
        };
        let label = self.survey.table.relation.label();
        let message = format!("cannot partition table {label}: its {kind} {what} would differ");
        Err(Error::new(Kind::Server, message).with_sqlstate("0A000").with_detail(format!(
            "The table has {}; the new one has {}.",
            text(before),
            text(&now)
        )))
    }
}

async fn described(client: &Client, oid: u32) -> Result<Vec<Thing>> {
    let rows = client.query(DESCRIBED, &[&oid]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect())
}

/// Returns the description of the new table, whose unique keys may have more columns.
fn expected(survey: &Survey, mut things: Vec<Thing>) -> Vec<Thing> {
    for NewIndex { index, widened: columns, .. } in &survey.indexes {
        let Some(columns) = columns else { continue };
        for (kind, name, text) in &mut things {
            if *name == index.name && matches!(kind.as_str(), "index" | "constraint") {
                *text = widened(text, columns);
            }
        }
    }
    things
}
