//! Move: converts a plain table into a partitioned one. Its rows are copied into a tree beside it, which then
//! takes its name.
//!
//! ```text
//!               offline                             online
//!     survey    the table, its future leaves, and obstacles
//!     lock      SHARE: others can read
//!     create    the tree, without indexes, and the record of the move
//!     log                                           a trigger writes the keys of changed rows to a log
//!     copy      a load from the table into the tree
//!                                                   without the rows in the log
//!     build     indexes of the leaves, then of the tree
//!               foreign keys
//!     follow                                        logged rows are looked up again, until few are left
//!     verify    the tree has the rows of the table
//!                                                   except for those in the log
//!     swap      ACCESS EXCLUSIVE, renames, and objects that belong to the name
//!                                                   the last rows of the log
//!     after                                         foreign keys are checked
//! ```
//!
//! Offline, one transaction holds the lock from the survey to the swap, which it commits. If its session
//! ends, the swap cannot happen, so no write to the table is ever lost. Online, the log contains every write
//! since before the copy, and the swap refuses a log that may be incomplete. An interrupted online move is
//! kept, and the next one continues it. Otherwise the tree is dropped when a move fails. If that fails too,
//! the ledger has a record of it, and the next move of the table or [`abort`] drops it.

mod bounds;
mod branches;
mod build;
mod drain;
mod estimate;
mod follow;
mod hold;
mod log;
mod patience;
mod phases;
mod record;
mod referring;
mod spec;
mod sql;
mod state;
mod survey;
mod swap;
mod table;
mod verify;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use self::hold::Hold;
use self::record::{Record, UnfinishedMove};
pub use self::record::{abort, list};
pub use self::spec::{DEFAULT_AHEAD, Level, Shape};
use self::state::MoveState;
use self::survey::Survey;
use crate::control::{Control, Event};
use crate::counts::summary::Fallback;
use crate::error::kind::Kind;
use crate::error::{Error, Result, Words, option};
use crate::job::{DEFAULT_LEDGER, SpeedOptions};
pub use crate::ledger::sql::moves::MoveEntry;
use crate::pg::conninfo::Target;
use crate::pg::runtime::runtime;

/// The default time for which one attempt of the swap waits for locks and holds them.
pub const DEFAULT_MAX_LOCK: Duration = Duration::from_millis(500);

/// The conversion of a table into a partitioned one.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use pgsluice::core::catalog::Strategy;
/// use pgsluice::moving::{Level, Move, Shape};
/// use pgsluice::{Control, Target};
///
/// let level = Level { strategy: Strategy::Range, columns: vec!["placed".to_owned()] };
/// let mut shape = Shape::by([level]);
/// shape.step = Some("month".to_owned());
/// let target = Target::from_url("postgresql://localhost/shop")?;
/// let moved = Move::new("events", shape, target).run(&Arc::new(Control::default()))?;
/// println!("{} rows in {} leaves", moved.rows, moved.leaves);
/// # Ok::<(), pgsluice::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Move {
    /// The table's name, written as in SQL.
    pub table: String,
    /// The partitions that it gets.
    pub shape: Shape,
    /// The server that contains it.
    pub target: Target,
    /// Options for the speed of the copy and of index builds.
    pub speed: SpeedOptions,
    /// Whether the self-test asks the server about some keys before rows are copied.
    pub self_test: bool,
    /// The schema of the ledger.
    pub ledger: String,
    /// Whether writes to the table are blocked until it is partitioned. Otherwise changes are followed.
    pub is_offline: bool,
    /// Whether the partition key is added to unique keys that lack it.
    pub widens_keys: bool,
    /// Whether old and new rows are compared before the swap.
    pub verifies: bool,
    /// The longest wait for locks in one attempt of the swap.
    pub max_lock: Duration,
    /// The phase after which an online move stops, to be continued later; `None` to swap.
    pub until: Option<Until>,
    /// Whether to continue an earlier move, whatever its shape. Otherwise an earlier move with another shape
    /// is dropped.
    pub goes_on: bool,
}

/// A phase of an online move after which it can stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The rows are copied, and the indexes are built.
    Copy,
    /// Changes were followed, and the rows compared.
    Follow,
}

/// The plan of a move.
#[derive(Debug, Serialize)]
pub struct MovePlan {
    /// The table.
    pub table: String,
    /// The estimated number of rows; `None` if the table was never analyzed.
    pub rows_estimated: Option<u64>,
    /// Bytes of the table. The tree needs the same space in addition.
    pub bytes: u64,
    /// Bytes of its indexes. The tree needs the same space in addition.
    pub index_bytes: u64,
    /// Free bytes on the table's file system; `None` if the server is on another computer, or its directory
    /// is unknown.
    pub free_bytes: Option<u64>,
    /// A rough estimate of the time for the copy, the comparison and the indexes.
    pub seconds_estimated: f64,
    /// The number of leaves that are created, apart from the DEFAULT partition if one is drained; 0 if there are obstacles.
    pub leaves: usize,
    /// The obstacles, each with the next step.
    pub obstacles: Vec<[String; 2]>,
    /// Differences between the table and the partitioned one.
    pub changes: Vec<String>,
    /// The statements that create the tree; empty if there are obstacles.
    pub ddl: Vec<String>,
    /// The future name of the original table.
    pub old_table: String,
}

/// The outcome of a move.
#[derive(Debug, Serialize)]
pub struct Moved {
    /// The table.
    pub table: String,
    /// The partitioned table whose DEFAULT partition it was; `None` if it has become partitioned itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The rows that were copied.
    pub rows: u64,
    /// The number of leaves, apart from the DEFAULT partition if one was drained.
    pub leaves: usize,
    /// The new name of the original table.
    pub old_table: String,
    /// Whether the table is partitioned. Otherwise changes are logged, and the move can go on.
    pub swapped: bool,
    /// The duration of the move.
    pub seconds: f64,
    /// Rows that were changed during the move. A row counts each time that it was followed.
    pub rows_followed: u64,
    /// The longest time for which one attempt of the swap made other sessions wait.
    pub locked_seconds: f64,
    /// Differences from the original table.
    pub changes: Vec<String>,
    /// The rows that were not copied by the fastest method, and the reasons.
    pub fallbacks: Vec<Fallback>,
    /// Notes of the load that copied the rows.
    pub notes: Vec<String>,
    /// Warnings of the load.
    pub warnings: Vec<String>,
}

impl Move {
    /// Describes a move that has not begun.
    pub fn new(table: impl Into<String>, shape: Shape, target: Target) -> Self {
        Self {
            table: table.into(),
            shape,
            target,
            speed: SpeedOptions::default(),
            self_test: true,
            ledger: DEFAULT_LEDGER.to_owned(),
            is_offline: false,
            widens_keys: false,
            verifies: true,
            max_lock: DEFAULT_MAX_LOCK,
            until: None,
            goes_on: false,
        }
    }

    /// Returns the plan of the move. Takes no locks beyond those of queries.
    ///
    /// # Errors
    ///
    /// Fails if the table or its rows do not fit the shape. Obstacles do not cause an error.
    pub fn plan(&self, control: &Control) -> Result<MovePlan> {
        self.shape.check()?;
        runtime()?.block_on(async {
            let link = hold::open(&self.target, control).await?;
            let looking = async {
                let Self { table, shape, widens_keys, is_offline, .. } = self;
                let client = &link.client;
                let mut survey =
                    Survey::make(client, table, shape, *widens_keys, *is_offline).await?;
                let (mut leaves, mut ddl) = (0, Vec::new());
                if survey.obstacles.is_empty() {
                    let branches = survey.branches(shape, &link.client).await?;
                    leaves = survey.count(&branches);
                    ddl = survey.ddl(&branches, &link.client).await?;
                }
                let free = estimate::free(&survey.table, client).await?;
                Ok(MovePlan::new(survey, free, leaves, ddl))
            };
            link.canceller.unless_stopped(control, looking).await
        })
    }

    /// Blocks until the table is partitioned, or until the phase after which the move stops is complete. If
    /// the move fails, the table is unchanged.
    ///
    /// # Errors
    ///
    /// Fails if there is an obstacle, and like a [`Load`].
    pub fn run(&self, control: &Arc<Control>) -> Result<Moved> {
        let began = Instant::now();
        let mut moved = self.carry_out(control, began);
        control.finish(control.rows_in(), moved.as_ref().err());
        if let Ok(moved) = &mut moved {
            // The load that copied the rows does not know of later warnings.
            let mut later = control.progress.warnings();
            later.retain(|warning| !moved.warnings.contains(warning));
            moved.warnings.extend(later);
        }
        moved
    }

    fn carry_out(&self, control: &Arc<Control>, began: Instant) -> Result<Moved> {
        self.check()?;
        control.emit(&Event::Phase { name: "survey" });
        // It must live as long as its sessions.
        let runtime = runtime()?;
        let Some(left) = runtime.block_on(record::clean(self, control))? else {
            let hold = Hold::take(self, &runtime, control)?;
            let record = runtime.block_on(Record::create(self, &hold, control))?;
            let moved = self.begin(&hold, &record, &runtime, control);
            return self.ended(moved, hold, &record, &runtime, began);
        };
        let UnfinishedMove { state: MoveState { survey, branches, watched, filled, .. }, load } =
            left;
        let hold = runtime.block_on(Hold::take_over(self, survey, branches, control))?;
        let taking = Record::take_over(self, &hold.survey.table, load, control);
        let record = runtime.block_on(taking)?;
        let moved = self.go_on(&hold, &record, (watched, filled), &runtime, control);
        self.ended(moved, hold, &record, &runtime, began)
    }
}

impl Move {
    fn check(&self) -> Result<()> {
        if self.is_offline && self.until.is_some() {
            return Err(Error::new(
                Kind::Usage,
                Words::from("") + option("until") + " cannot be used with " + option("offline"),
            ));
        }
        if self.shape.of.is_some() && self.widens_keys {
            return Err(Error::new(
                Kind::Usage,
                Words::from("") + option("widen-keys") + " cannot be used with " + option("of"),
            ));
        }
        if self.goes_on { Ok(()) } else { self.shape.check() }
    }
}

impl MovePlan {
    fn new(survey: Survey, free_bytes: Option<u64>, leaves: usize, ddl: Vec<String>) -> Self {
        let Survey { table, obstacles, changes, old, .. } = survey;
        Self {
            free_bytes,
            seconds_estimated: estimate::seconds(&table),
            table: table.relation.label(),
            rows_estimated: (table.rows >= 0.0).then_some(table.rows as u64),
            bytes: table.bytes,
            index_bytes: table.index_bytes,
            leaves,
            obstacles: obstacles
                .into_iter()
                .map(|it| [it.why, it.next.spell(ToString::to_string)])
                .collect(),
            changes,
            ddl,
            old_table: old.label(),
        }
    }
}
