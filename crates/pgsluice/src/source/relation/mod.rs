//! Relation: a table of a server, read in place of files.
//!
//! One session exports a snapshot and holds it until the load ends. Other sessions import it, and each copies
//! out one range of pages after another. All rows therefore come from the same snapshot, and every read returns
//! them in the same order.
//!
//! If the caller knows which rows change, each range is read under a snapshot of its own
//! ([`Snapshots::Each`]), so that VACUUM is not held back. One session only keeps the pages in place, by an
//! ACCESS SHARE lock.
//!
//! The place of a row is its ctid, prefixed with the number of its heap. Receipts, rejects and messages refer
//! to it.

mod heap;
mod open;
mod read;
mod rows;
mod session;

use std::sync::Arc;

use pgsluice_json::{KeyTarget, Objects, UnknownKeys};
use pgsluice_session::conninfo::Target;

pub(crate) use self::heap::{OpenRelation, SourceColumn};
pub(super) use self::open::open;
use self::read::begin;
pub(crate) use self::rows::CopiedRows;
use super::parallel::ParallelReader;
use super::row_form::RowForm;

/// A table that is read in place of files.
///
/// ```no_run
/// use pgsluice::{Control, InputOptions, Job, Load, Relation, Target};
///
/// let mut job = Job::new("orders");
/// let filter = Some("total > 0".to_owned());
/// job.input = InputOptions::from_relation(Relation { filter, ..Relation::new("public.orders_old") });
/// let target = Target::from_url("postgresql://localhost/shop")?;
/// let summary = Load::new(job, target).run(&std::sync::Arc::new(Control::default()))?;
/// println!("{} rows are in", summary.rows_loaded);
/// # Ok::<(), pgsluice::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Relation {
    /// The name as written in SQL, optionally qualified.
    pub name: String,
    /// The server and database that contain the table; `None` if it is in the target's database.
    pub server: Option<Target>,
    /// The SQL condition that a row must meet to be read; `None` to read all rows.
    pub filter: Option<String>,
}

/// The snapshots under which a table is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Snapshots {
    /// One for all rows.
    One,
    /// One for each range of pages. A load can be resumed although rows were changed; it skips the places
    /// that it has loaded. The condition must not change the order of rows.
    Each,
}

impl Relation {
    /// Names a table in the target's database, to be read without a condition.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), server: None, filter: None }
    }
}

/// The mapping from rows of one table to rows of another.
#[derive(Clone, Debug)]
pub(crate) struct Copied {
    /// The source columns, in the order of the target's columns.
    names: Arc<[String]>,
    /// The writer of rejected rows.
    objects: Objects,
    form: RowForm,
}

impl Copied {
    /// Creates a mapping to `columns`, whose keys are the names of the source columns.
    pub(crate) fn new(columns: Vec<KeyTarget>, form: RowForm) -> Self {
        let names = columns.iter().map(|target| target.key.clone()).collect();
        let objects = Objects::new(columns, UnknownKeys::Refuse);
        Self { names, objects, form }
    }

    /// Returns the number of columns.
    pub(super) fn columns(&self) -> usize {
        self.names.len()
    }

    /// Returns the writer of rejected rows.
    pub(super) fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Returns the form in which rows are written.
    pub(super) fn form(&self) -> &RowForm {
        &self.form
    }

    /// Returns the form in which rows are written, mutably.
    pub(super) fn form_mut(&mut self) -> &mut RowForm {
        &mut self.form
    }

    /// Starts reading a table.
    pub(super) fn open(&self, relation: &Arc<OpenRelation>) -> ParallelReader<CopiedRows> {
        begin(self, relation)
    }
}
