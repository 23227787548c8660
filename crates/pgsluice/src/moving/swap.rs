//! The swap: one transaction in which the partitioned table takes the name of the table, and the objects that
//! belong to the name. At the end each of its properties must equal that of the original table.

use std::time::{Duration, Instant};

use pgsluice_core::catalog::Relation;

use super::branches::Branches;
use super::build::add_foreign_keys;
use super::follow::{FIRST_UNDER_LOCK, Follower};
use super::patience::{self, LONGEST};
use super::referring::{self, Referring};
use super::sql::ddl;
use super::sql::definitions::{LATE, OID, PUBLISHED, SEQUENCE};
use super::sql::locks::{ATTEMPT, FRESH, GIVE_UP, IN_THE_WAY, lock_out_autovacuum, lock_parents};
use super::survey::{NewIndex, Survey};
use super::table::{Property, Table, add_columns, describe};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::policy::{self, Policy};
use crate::error::{Error, Result};
use crate::pg::connect::Link;
use crate::pg::sql::{BEGIN, COMMIT_DURABLY, ROLLBACK, lock_exclusively, lock_timeout};
use crate::testing::failpoint::failpoint;

/// Maximum number of log entries that are processed under the lock, after many attempts.
const MAX_UNDER_LOCK: i64 = 20_000;

/// The interval between two notices about lock holders.
const NOTICE: Duration = Duration::from_secs(10);

/// The facts that the swap needs, read in advance.
pub(super) struct Swap<'a> {
    survey: &'a Survey,
    branches: &'a Branches,
    /// The session of the move, which holds the lock on the table if it is offline.
    link: &'a Link,
    max_lock: Duration,
    /// The follower of the table, if others write to it.
    follower: Option<&'a Follower<'a>>,
    /// The statements that add the foreign keys, if the tree does not have them.
    foreign_keys: Vec<String>,
    /// The foreign keys of other tables that referred to the table before the first attempt.
    referring: Vec<Referring>,
    /// Sequences of identity columns: the new one and the old one, both qualified and quoted, the name of the
    /// old one, and its name after the swap.
    sequences: Vec<(String, String, String, String)>,
}

/// The outcome of the swap.
#[derive(Debug, Default)]
pub(super) struct Swapped {
    /// Whether the table is partitioned.
    pub(super) is_done: bool,
    /// The longest time for which one attempt made other sessions wait.
    pub(super) longest: Duration,
    /// The number of rows that were followed between the attempts and in the last one.
    pub(super) followed: u64,
    /// The foreign keys of other tables that refer to the new table, or will refer to it.
    pub(super) referring: Vec<Referring>,
}

impl<'a> Swap<'a> {
    /// Adds the new sequences and the foreign keys to the survey.
    pub(super) async fn prepare(
        (survey, branches): (&'a Survey, &'a Branches),
        link: &'a Link,
        max_lock: Duration,
        follower: Option<&'a Follower<'a>>,
    ) -> Result<Self> {
        let client = &link.client;
        let foreign_keys = match follower {
            None => Vec::new(),
            Some(_) => add_foreign_keys(survey, branches),
        };
        let mut sequences = Vec::new();
        for (identity, old) in &survey.identities {
            let new =
                client.query_one(SEQUENCE, &[&survey.root.to_string(), &identity.column]).await?;
            let new: Option<String> = new.get(0);
            let (sequence, name) = (identity.sequence.clone(), identity.name.clone());
            sequences.extend(new.map(|new| (new, sequence, name, old.clone())));
        }
        let referring = referring::read(client, survey).await?;
        Ok(Self { survey, branches, link, max_lock, follower, foreign_keys, referring, sequences })
    }

    /// Swaps, and commits. Retries while other sessions hold locks. `last` is the last statement.
    pub(super) async fn run(&self, control: &Control, last: &str) -> Result<Swapped> {
        let mut noticed: Option<Instant> = None;
        let (mut swapped, mut max, mut count) = (Swapped::default(), FIRST_UNDER_LOCK, 0_u32);
        loop {
            let attempt = match self.begin(control).await {
                Ok(()) => {
                    let began = Instant::now();
                    let attempt = self.attempt(control, count, max, last).await;
                    swapped.longest = swapped.longest.max(began.elapsed());
                    attempt
                }
                Err(error) => Err(error),
            };
            match attempt {
                Ok(Some((rows, referring))) => {
                    swapped.followed += rows;
                    swapped.is_done = true;
                    return Ok(Swapped { referring, ..swapped });
                }
                // Too many entries were left to be processed under the lock.
                Ok(None) => max = (2 * max).min(MAX_UNDER_LOCK),
                Err(error) if error.sqlstate().map(policy::for_sqlstate) == Some(Policy::Retry) => {
                }
                Err(error) => return Err(error),
            }
            count += 1;
            self.link.client.batch_execute(self.give_up()).await?;
            if noticed.is_none_or(|at| at.elapsed() >= NOTICE) {
                noticed = Some(Instant::now());
                self.notice(control).await?;
            }
            patience::rest(self.wait(), control).await?;
            if let Some(follower) = self.follower {
                swapped.followed += follower.catch_up(control).await?;
            }
        }
    }

    /// Begins an attempt without blocking other sessions yet.
    async fn begin(&self, control: &Control) -> Result<()> {
        let only = |table: &Relation| format!("ONLY {table}");
        let mut tables: Vec<String> = self.others().map(only).collect();
        let begin = match self.follower {
            None => ATTEMPT,
            // Triggers and foreign keys are created on each leaf, and the log is dropped.
            Some(Follower { log, .. }) => {
                tables.extend(self.replaced_tables().map(only));
                tables.extend([self.survey.root.to_string(), log.name.clone()]);
                BEGIN
            }
        };
        let lock = (!tables.is_empty()).then(|| lock_out_autovacuum(&tables));
        let begin = [begin].into_iter().chain(lock.as_deref()).collect::<Vec<_>>().join("; ");
        let beginning = async { Ok(self.link.client.batch_execute(&begin).await?) };
        self.link.canceller.unless_stopped(control, beginning).await
    }

    /// Returns how long one attempt waits for each lock.
    fn wait(&self) -> Duration {
        match self.follower {
            None if self.referring.is_empty() => self.max_lock,
            None => self.max_lock.min(LONGEST),
            // The work under the lock takes time as well.
            Some(_) if self.locks_one_table() => self.max_lock / 2,
            Some(_) => (self.max_lock / 2).min(LONGEST),
        }
    }

    /// Whether the swap locks only one table. With several, a writer may hold one lock and wait for another.
    fn locks_one_table(&self) -> bool {
        self.foreign_keys.is_empty() && self.referring.is_empty() && self.survey.drain.is_none()
    }

    /// Returns the other tables whose foreign keys refer to the table.
    fn others(&self) -> impl Iterator<Item = &Relation> {
        self.referring.iter().map(|key| &key.table)
    }

    fn give_up(&self) -> &'static str {
        if self.follower.is_some() { ROLLBACK } else { GIVE_UP }
    }

    async fn notice(&self, control: &Control) -> Result<()> {
        self.link.client.batch_execute(FRESH).await?;
        let own = self.survey.drain.iter().map(|drain| drain.oid);
        let others = self.referring.iter().map(|key| key.oid);
        let tables: Vec<u32> = own.chain([self.survey.table.oid]).chain(others).collect();
        let row = self.link.client.query_one(IN_THE_WAY, &[&tables]).await?;
        let label = self.survey.table.relation.label();
        let who = row
            .get::<_, Option<String>>(0)
            .unwrap_or_else(|| "a session that has ended".to_owned());
        control.notice(&format!("waiting to swap in {label}: locked by {who}"));
        Ok(())
    }

    /// Makes one attempt. Returns the number of rows that were followed under the lock, and the foreign keys
    /// of other tables that were replaced, or `None` if there are too many log entries.
    async fn attempt(
        &self,
        control: &Control,
        count: u32,
        max: i64,
        last: &str,
    ) -> Result<Option<(u64, Vec<Referring>)>> {
        let client = &self.link.client;
        let locking = async {
            let mut statements = vec![lock_timeout(self.wait())];
            if !self.foreign_keys.is_empty() {
                statements.extend(lock_parents(self.survey.parents()));
            }
            statements.push(lock_exclusively(self.lock_order(count).into_iter()));
            Ok(client.batch_execute(&statements.join("; ")).await?)
        };
        self.link.canceller.unless_stopped(control, locking).await?;
        let followed = match self.follower {
            None => 0,
            Some(follower) => match self.follow(follower, max).await? {
                Some(rows) => rows,
                None => return Ok(None),
            },
        };
        // Privileges, views and dependent objects may have changed since the survey.
        let referring = self.survey.check_again(client).await?;
        let oid = self.survey.table.oid;
        let now = describe(client, oid).await?;
        let (left, taken) = self.describe_others(&referring).await?;
        let exchange = match &self.survey.drain {
            None => self.take_place().await?,
            Some(drain) => {
                self.check_same(&drain.things, &now, true)?;
                drain.swap(self.survey, self.branches)
            }
        };
        client.batch_execute(&[left, exchange, taken].concat().join(";\n")).await?;
        if self.survey.drain.is_none() {
            self.check_carried(&describe_new_table(self.survey, now)).await?;
        }
        client.batch_execute(last).await?;
        failpoint("moving::committing");
        client.batch_execute(COMMIT_DURABLY).await?;
        failpoint("moving::committed");
        Ok(Some((followed, referring)))
    }

    /// Returns the tables to lock in an attempt, in order. A transaction that writes to another table usually
    /// looks up this one afterwards, but it may have written to this one before. So the order alternates
    /// between attempts.
    fn lock_order(&self, count: u32) -> Vec<&Relation> {
        let own: Vec<&Relation> = self.replaced_tables().collect();
        let targets = self.referring.iter().map(|key| &key.target).filter(|it| !own.contains(it));
        let own: Vec<&Relation> = targets.chain(own.iter().copied()).collect();
        let others: Vec<&Relation> = self.others().collect();
        if count.is_multiple_of(2) { [others, own].concat() } else { [own, others].concat() }
    }

    /// Returns the tables that are replaced, in the order in which other sessions lock them.
    fn replaced_tables(&self) -> impl Iterator<Item = &Relation> {
        let parent = self.survey.drain.iter().map(|drain| &drain.parent);
        parent.chain([&self.survey.table.relation])
    }

    /// Returns the statements that give the partitioned table the name of the table, and the objects that
    /// belong to the name.
    async fn take_place(&self) -> Result<Vec<String>> {
        let late = self.link.client.query(LATE, &[&self.survey.table.oid]).await?;
        let late = late.iter().map(|row| row.get(0));
        let keys = self.foreign_keys.iter().cloned();
        Ok(self.renames().into_iter().chain(late).chain(keys).collect())
    }

    /// Returns the statements that remove the table from foreign keys and publications, and the statements
    /// that add the table that has its name afterwards.
    async fn describe_others(&self, referring: &[Referring]) -> Result<(Vec<String>, Vec<String>)> {
        let published = self.link.client.query(PUBLISHED, &[&self.survey.table.oid]).await?;
        let (left, taken): (Vec<String>, Vec<String>) =
            published.iter().map(|row| (row.get(0), row.get(1))).unzip();
        let more = self.survey.count(self.branches);
        let added = referring.iter().filter(|key| !key.is_late(more)).flat_map(Referring::add);
        let dropped = referring.iter().map(Referring::drop);
        Ok((left.into_iter().chain(dropped).collect(), taken.into_iter().chain(added).collect()))
    }

    /// Processes the last entries of the log, and drops it. Returns `None` if there are more than `max`.
    async fn follow(&self, follower: &Follower<'_>, max: i64) -> Result<Option<u64>> {
        let client = &self.link.client;
        follower.check().await?;
        let Table { options, tablespace, .. } = &self.survey.table;
        let now =
            Table::read(client, self.survey.table.oid, self.survey.table.relation.clone()).await?;
        if (&now.options, &now.tablespace) != (options, tablespace) {
            return Err(self.differs(
                "storage options",
                &format!(
                    "The new table has{options}{tablespace}; the table has{}{} now.",
                    now.options, now.tablespace
                ),
            ));
        }
        if follower.bound(max, 0).await?.is_some() {
            return Ok(None);
        }
        let rows = follower.pass(None).await?;
        client.batch_execute(&follower.log.drop()).await?;
        Ok(Some(rows))
    }

    fn renames(&self) -> Vec<String> {
        let Survey { table, root, old, indexes, .. } = self.survey;
        let Relation { schema, name: own } = &table.relation;
        let mut statements = Vec::new();
        for (new, sequence, name, old) in &self.sequences {
            // This statement locks the sequence, so that no other session takes a number from it.
            statements.push(ddl::rename_sequence(sequence, old));
            statements.push(ddl::go_on(new, schema, old));
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

    /// Fails if the new table differs from the old one.
    async fn check_carried(&self, before: &[Property]) -> Result<()> {
        let client = &self.link.client;
        let Relation { schema, name } = &self.survey.table.relation;
        let oid: u32 = client.query_one(OID, &[schema, name]).await?.get(0);
        let now = describe(client, oid).await?;
        self.check_same(before, &now, false)
    }

    /// Fails if the properties of a table differ from its earlier ones, or from those of the table that it
    /// replaces.
    fn check_same(&self, before: &[Property], now: &[Property], is_one_table: bool) -> Result<()> {
        let lost = before.iter().find(|thing| !now.contains(thing));
        let gained = now.iter().find(|thing| !before.contains(thing));
        let Some((kind, what, _)) = lost.or(gained) else { return Ok(()) };
        let text = |things: &[Property]| {
            let thing = things.iter().find(|thing| (&thing.0, &thing.1) == (kind, what));
            thing.map_or("nothing", |thing| thing.2.as_str()).to_owned()
        };
        let (before, now) = (text(before), text(now));
        let detail = match is_one_table {
            true => format!("The table had {before}, and has {now} now."),
            false => format!("The table has {before}; the new one has {now}."),
        };
        Err(self.differs(&format!("{kind} {what}"), &detail))
    }

    fn differs(&self, what: &str, detail: &str) -> Error {
        let label = self.survey.table.relation.label();
        let message = format!("cannot partition table {label}: its {what} would differ");
        Error::new(Kind::Server, message).with_sqlstate("0A000").with_detail(detail)
    }
}

/// Returns the expected description of the new table. Its unique keys may have more columns, and its foreign
/// keys may belong to its leaves until they are checked.
fn describe_new_table(survey: &Survey, mut things: Vec<Property>) -> Vec<Property> {
    if survey.log.is_some() {
        let is_late = |thing: &Property| survey.foreign_keys.iter().any(|key| key.name == thing.1);
        things.retain(|thing| thing.0 != "constraint" || !is_late(thing));
    }
    for NewIndex { index, widened: columns, .. } in &survey.indexes {
        let Some(columns) = columns else { continue };
        for (kind, name, text) in &mut things {
            if *name == index.name && matches!(kind.as_str(), "index" | "constraint") {
                *text = add_columns(text, columns);
            }
        }
    }
    things
}
