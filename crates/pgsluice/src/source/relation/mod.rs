//! Relation: a table of a server in place of files.
//!
//! One session holds a snapshot as long as the load lasts. Several others take it over, and each copies ranges of pages
//! out, one after the other. So all rows are those of one moment, and they come in the same order whenever they are read
//! under that snapshot.
//!
//! The place of a row in the input is its ctid, behind the number of its heap: receipts, rejects and messages name it.

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
use super::batches::Batches;
use super::written::Written;

/// A table that is read in place of files.
#[derive(Clone, Debug)]
pub struct Relation {
    /// Its name as SQL takes it: perhaps qualified, perhaps quoted.
    pub name: String,
    /// The server and the database that it is in; None for those of the target.
    pub server: Option<Target>,
    /// The condition for rows that are read, in SQL, if not all are.
    pub filter: Option<String>,
}

impl Relation {
    /// Takes all rows of a table in the database of the target.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), server: None, filter: None }
    }
}

/// How the rows of a table become rows of another one.
#[derive(Clone, Debug)]
pub(crate) struct Copied {
    /// The columns that are read, in the order of the columns that are written.
    names: Arc<[String]>,
    /// Writes rows that are rejected.
    objects: Objects,
    written: Written,
}

impl Copied {
    /// Writes `columns`, each of which has its name in the table that is read.
    pub(crate) fn new(columns: Vec<KeyTarget>, written: Written) -> Self {
        let names = columns.iter().map(|target| target.key.clone()).collect();
        let objects = Objects::new(columns, UnknownKeys::Refuse);
        Self { names, objects, written }
    }

    /// How many columns rows have.
    pub(super) fn columns(&self) -> usize {
        self.names.len()
    }

    /// Writes rows that are rejected.
    pub(super) fn objects(&self) -> &Objects {
        &self.objects
    }

    /// What is written of each row.
    pub(super) fn written(&self) -> &Written {
        &self.written
    }

    /// What is written of each row, to be changed.
    pub(super) fn written_mut(&mut self) -> &mut Written {
        &mut self.written
    }

    /// Begins to read a table.
    pub(super) fn open(&self, relation: &Arc<OpenRelation>) -> Batches {
        begin(self, relation)
    }
}
