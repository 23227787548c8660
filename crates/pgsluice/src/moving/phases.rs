//! The phases of a move, from the lock or the log to the swap.

use std::sync::Arc;
use std::time::Instant;

use pgsluice_core::catalog::quote_identifier;
use tokio::runtime::Runtime;

use super::follow::{Follower, explain};
use super::hold::Hold;
use super::log::Watched;
use super::record::Record;
use super::state::{CopyOutcome, Filled, MoveState};
use super::survey::Survey;
use super::swap::{Swap, Swapped};
use super::{Move, Moved, Until, build, referring, verify};
use crate::control::{Control, Event};
use crate::error::Result;
use crate::job::{InputOptions, Job};
use crate::load::{Load, lock_watch};
use crate::pg::sql::COMMIT;
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
    ) -> Result<(CopyOutcome, Swapped)> {
        let survey = &hold.survey;
        let follower = lock_watch::report_waits(&self.target, control, || {
            let Some(log) = &survey.log else { return Ok(None) };
            let beginning = Follower::begin(log, survey, &hold.link, self.max_lock, control);
            runtime.block_on(beginning).map(Some)
        })?;
        runtime.block_on(self.save_state(hold, record, follower.as_ref(), &Filled::default()))?;
        failpoint("moving::logged");
        self.fill(hold, record, (follower.as_ref(), Filled::default()), runtime, control)
    }

    /// Continues with the tree of another process.
    pub(super) fn go_on(
        &self,
        hold: &Hold,
        record: &Record<'_>,
        (watched, filled): (Watched, Filled),
        runtime: &Runtime,
        control: &Arc<Control>,
    ) -> Result<(CopyOutcome, Swapped)> {
        let Hold { link, survey, .. } = hold;
        let follower = runtime.block_on(async {
            match &survey.log {
                Some(log) => Follower::go_on(log, survey, link, watched).await.map(Some),
                None => Ok(None),
            }
        })?;
        self.fill(hold, record, (follower.as_ref(), filled), runtime, control)
    }

    /// Runs the remaining phases: copies, builds, follows, and swaps.
    fn fill(
        &self,
        hold: &Hold,
        record: &Record<'_>,
        (follower, filled): (Option<&Follower<'_>>, Filled),
        runtime: &Runtime,
        control: &Arc<Control>,
    ) -> Result<(CopyOutcome, Swapped)> {
        let Filled { copied, is_built } = filled;
        let copied = match copied {
            Some(copied) => copied,
            None => self.copy(hold, record, follower, runtime, control)?,
        };
        failpoint("moving::copied");
        let mut filled = Filled { copied: Some(copied), is_built };
        let swapped = lock_watch::report_waits(&self.target, control, || {
            runtime.block_on(async {
                if !is_built {
                    self.save_state(hold, record, follower, &filled).await?;
                    record.advance("index", control).await?;
                    build::build(hold, &record.client, self.speed.jobs, &self.target, control)
                        .await?;
                    filled.is_built = true;
                    self.save_state(hold, record, follower, &filled).await?;
                }
                failpoint("moving::built");
                if self.until == Some(Until::Copy) {
                    return Ok(Swapped::default());
                }
                self.finish(hold, record, follower, control).await
            })
        })?;
        Ok((filled.copied.unwrap_or_default(), swapped))
    }

    /// Copies the rows, or those that an interrupted copy has not copied.
    fn copy(
        &self,
        hold: &Hold,
        record: &Record<'_>,
        follower: Option<&Follower<'_>>,
        runtime: &Runtime,
        control: &Arc<Control>,
    ) -> Result<CopyOutcome> {
        let load = Load::new(self.job(&hold.survey, &record.load), self.target.clone());
        if let Some(follower) = follower {
            runtime.block_on(follower.hold_pages())?;
        }
        control.emit(&Event::Phase { name: "copy" });
        let loading = || load.run_as_part(control).map_err(explain);
        let loaded = hold.run_while_held(runtime, control, loading)?;
        if follower.is_some() {
            runtime.block_on(hold.link.client.batch_execute(COMMIT))?;
        }
        Ok(CopyOutcome::from_summary(loaded))
    }

    /// Saves the state from which another process can continue, if changes are logged.
    async fn save_state(
        &self,
        hold: &Hold,
        record: &Record<'_>,
        follower: Option<&Follower<'_>>,
        filled: &Filled,
    ) -> Result<()> {
        let Some(Follower { log, watched, .. }) = follower else { return Ok(()) };
        record.save_state(log, &MoveState::write(self, hold, watched, filled)).await
    }

    /// Returns the outcome. Drops the tree of a failed move.
    pub(super) fn ended(
        &self,
        moved: Result<(CopyOutcome, Swapped)>,
        hold: Hold,
        record: &Record<'_>,
        runtime: &Runtime,
        began: Instant,
    ) -> Result<Moved> {
        let (copied, Swapped { is_done, longest, followed, .. }) = match moved {
            Ok(moved) => moved,
            Err(error) => {
                return Err(runtime.block_on(record.take_back(error, &hold)));
            }
        };
        let Hold { survey, branches, .. } = &hold;
        Ok(Moved {
            table: survey.table.relation.label(),
            of: survey.drain.as_ref().map(|drain| drain.parent.label()),
            rows: copied.rows,
            rows_followed: followed,
            leaves: survey.count(branches),
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

    /// Follows the remaining changes, compares the rows and swaps. The tree has the copied rows and their
    /// indexes.
    async fn finish(
        &self,
        hold: &Hold,
        record: &Record<'_>,
        follower: Option<&Follower<'_>>,
        control: &Control,
    ) -> Result<Swapped> {
        let Hold { link, survey, branches } = hold;
        let target = &self.target;
        let mut followed = self.follow(record, follower, control).await?;
        failpoint("moving::followed");
        if self.verifies {
            record.advance("verify", control).await?;
            verify::verify(survey, link, follower, target, control).await?;
            followed += self.follow(record, follower, control).await?;
        }
        if self.until.is_some() {
            record.advance("follow", control).await?;
            return Ok(Swapped { followed, ..Swapped::default() });
        }
        record.advance("swap", control).await?;
        let swap = Swap::prepare((survey, branches), link, self.max_lock, follower).await?;
        let mut swapped = swap.run(control, &record.forget()).await?;
        record.record_done();
        swapped.followed += followed;
        self.complete(hold, &swapped, follower.is_some(), control).await?;
        Ok(swapped)
    }

    /// Completes the foreign keys that the swap has added without checking rows: those of other tables, and
    /// the table's own if `has_own`.
    async fn complete(
        &self,
        hold: &Hold,
        swapped: &Swapped,
        has_own: bool,
        control: &Control,
    ) -> Result<()> {
        let Hold { link, survey, branches } = hold;
        let (jobs, target) = (self.speed.jobs, &self.target);
        let (keys, of) = (&swapped.referring, (survey, survey.count(branches)));
        let late = referring::add_late(keys, of, self.max_lock, link, control).await;
        // The table's own come first: an error about the others ends the move, and their rows are more likely
        // to violate them.
        let own = if has_own {
            let (limits, sessions) = ((jobs, self.max_lock), (link, target));
            build::complete_foreign_keys(survey, branches, limits, sessions, control).await
        } else {
            Ok(())
        };
        let others = match late {
            Ok(()) => referring::validate(keys, of, jobs, target, control).await,
            late => late,
        };
        let label = survey.table.relation.label();
        let detail = format!(
            "Table {label} is partitioned. Its own foreign keys hold for new rows, but not all partitions or \
             the table itself have them as valid constraints."
        );
        match (others, own) {
            (Err(error), Err(_)) => Err(error.with_detail(detail)),
            (others, own) => own.map_err(|error| error.with_detail(detail)).and(others),
        }
    }

    /// Follows the changes of the table until few are left. Returns the number of changed rows.
    async fn follow(
        &self,
        record: &Record<'_>,
        follower: Option<&Follower<'_>>,
        control: &Control,
    ) -> Result<u64> {
        let Some(follower) = follower else { return Ok(0) };
        record.advance("follow", control).await?;
        follower.catch_up(control).await
    }

    /// Returns the load that copies the rows. Its name in the ledger is `id`.
    fn job(&self, survey: &Survey, id: &str) -> Job {
        let mut job = Job::new(survey.root.to_string());
        let own = &survey.table.relation;
        let relation = Relation::new(own.to_string());
        job.speed = self.speed.clone();
        job.safety.self_test = self.self_test;
        job.target.is_scratch = true;
        match &survey.log {
            Some(log) => {
                let filter = Some(log.not_logged(&quote_identifier(&own.name)));
                job.input = InputOptions::from_changing(Relation { filter, ..relation });
                job.safety.ledger = Some(self.ledger.clone());
                job.safety.load_id = Some(id.to_owned());
            }
            None => {
                job.input = InputOptions::from_relation(relation);
                // Without the lock the copied rows are useless, so there is nothing to resume.
                job.safety.ledger = None;
            }
        }
        job
    }
}
