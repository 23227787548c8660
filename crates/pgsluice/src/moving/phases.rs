//! The phases of a move, from the lock or the log to the swap.

use std::sync::Arc;
use std::time::Instant;

use pgsluice_core::catalog::quoted;
use tokio::runtime::Runtime;

use super::follow::{Follower, explain};
use super::hold::Hold;
use super::kept::{Copied, Kept};
use super::log::Watched;
use super::record::Record;
use super::survey::Survey;
use super::swap::{Swap, Swapped};
use super::{Move, Moved, Until, build, verify};
use crate::control::Control;
use crate::error::Result;
use crate::job::{InputOptions, Job};
use crate::load::{Load, lock_watch};
use crate::source::Relation;
use crate::testing::failpoint::failpoint;

impl Move {
    /// Fills the tree and swaps it in.
    pub(super) fn begin(
        &self,
        hold: &Hold,
        record: &Record<'_>,
        runtime: &Runtime,
        control: &Arc<Control>,
    ) -> Result<(Copied, Swapped)> {
        let survey = &hold.survey;
        let follower = lock_watch::watched(&self.target, control, || {
            let Some(log) = &survey.log else { return Ok(None) };
            let beginning = Follower::begin(log, survey, &hold.link, self.max_lock, control);
            runtime.block_on(beginning).map(Some)
        })?;
        failpoint("moving::logged");
        let load = Load::new(self.job(survey), self.target.clone());
        let loaded = hold.watched(runtime, control, || load.run(control).map_err(explain));
        let copied = Copied::of(loaded?);
        failpoint("moving::copied");
        let swapped = lock_watch::watched(&self.target, control, || {
            runtime.block_on(async {
                let Hold { survey, branches, .. } = hold;
                record.advance("index").await?;
                build::build(survey, branches, self.speed.jobs, &self.target, control).await?;
                if let Some(Follower { log, watched, .. }) = &follower {
                    let state = Kept::write(self, survey, branches, watched, &copied);
                    record.keep(log, &state).await?;
                }
                failpoint("moving::built");
                if self.until == Some(Until::Copy) {
                    return Ok(Swapped::default());
                }
                self.finish(hold, record, follower.as_ref(), control).await
            })
        })?;
        Ok((copied, swapped))
    }

    /// Goes on with a tree that has the rows and the indexes.
    pub(super) fn go_on(
        &self,
        hold: &Hold,
        record: &Record<'_>,
        watched: Watched,
        runtime: &Runtime,
        control: &Control,
    ) -> Result<Swapped> {
        let Hold { link, survey, .. } = hold;
        lock_watch::watched(&self.target, control, || {
            runtime.block_on(async {
                let follower = match &survey.log {
                    Some(log) => Some(Follower::go_on(log, survey, link, watched).await?),
                    None => None,
                };
                self.finish(hold, record, follower.as_ref(), control).await
            })
        })
    }

    /// Returns the outcome, and drops what a failed move has created.
    pub(super) fn ended(
        &self,
        moved: Result<(Copied, Swapped)>,
        hold: Hold,
        record: &Record<'_>,
        runtime: &Runtime,
        began: Instant,
    ) -> Result<Moved> {
        let (copied, Swapped { is_done, longest, followed }) = match moved {
            Ok(moved) => moved,
            Err(error) => {
                return Err(runtime.block_on(record.take_back(error, &hold)));
            }
        };
        let Hold { survey, branches, .. } = &hold;
        Ok(Moved {
            table: survey.table.relation.label(),
            rows: copied.rows,
            rows_followed: followed,
            leaves: branches.leaves().len(),
            old_table: survey.old.label(),
            swapped: is_done,
            seconds: began.elapsed().as_secs_f64(),
            locked_seconds: longest.as_secs_f64(),
            changes: survey.changes.clone(),
            fallbacks: copied.fallbacks,
            notes: copied.notes,
            warnings: copied.warnings,
        })
    }

    /// Brings the tree, which has the rows that were copied and their indexes, to the present, and swaps it in.
    async fn finish(
        &self,
        hold: &Hold,
        record: &Record<'_>,
        follower: Option<&Follower<'_>>,
        control: &Control,
    ) -> Result<Swapped> {
        let Hold { link, survey, branches } = hold;
        let (jobs, target) = (self.speed.jobs, &self.target);
        let mut followed = self.follow(record, follower, control).await?;
        failpoint("moving::followed");
        if self.verifies {
            record.advance("verify").await?;
            verify::verify(survey, link, follower, target, control).await?;
            followed += self.follow(record, follower, control).await?;
        }
        if self.until.is_some() {
            record.advance("follow").await?;
            return Ok(Swapped { followed, ..Swapped::default() });
        }
        record.advance("swap").await?;
        let keys = match follower {
            None => Vec::new(),
            Some(_) => build::add_foreign_keys(survey, branches),
        };
        let swap = Swap::prepare(survey, link, self.max_lock, follower, keys).await?;
        let mut swapped = swap.run(control, &record.forget()).await?;
        record.done();
        swapped.followed += followed;
        if follower.is_some() {
            let (limits, sessions) = ((jobs, self.max_lock), (link, target));
            let completed =
                build::complete_foreign_keys(survey, branches, limits, sessions, control).await;
            completed.map_err(|error| {
                let label = survey.table.relation.label();
                error.with_detail(format!(
                    "Table {label} is partitioned. Its foreign keys hold for new rows, but not all \
                     partitions or the table itself have them as valid constraints."
                ))
            })?;
        }
        Ok(swapped)
    }

    /// Follows the changes of the table until little is left. Returns the number of changed rows.
    async fn follow(
        &self,
        record: &Record<'_>,
        follower: Option<&Follower<'_>>,
        control: &Control,
    ) -> Result<u64> {
        let Some(follower) = follower else { return Ok(0) };
        record.advance("follow").await?;
        follower.catch_up(control).await
    }

    /// Returns the load that copies the rows.
    fn job(&self, survey: &Survey) -> Job {
        let mut job = Job::new(survey.root.to_string());
        let own = &survey.table.relation;
        let filter = survey.log.as_ref().map(|log| log.not_logged(&quoted(&own.name)));
        job.input =
            InputOptions::of_relation(Relation { filter, ..Relation::new(own.to_string()) });
        job.speed = self.speed.clone();
        job.safety.self_test = self.self_test;
        job.target.is_scratch = true;
        // Without the lock the rows are of no use, so there is nothing to resume.
        job.safety.ledger = None;
        job
    }
}
