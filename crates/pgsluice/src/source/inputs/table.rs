//! Tables among the inputs.

use std::sync::Arc;

use pgsluice_core::origin::Origin;
use pgsluice_session::conninfo::Target;

use super::super::interruptible::unless_stopped;
use super::super::relation::{OpenRelation, Relation, Snapshots, open};
use super::super::{FileFormat, InputNames};
use super::{Input, Inputs, Place, Reread, resolve};
use crate::control::Control;
use crate::error::Result;

impl Input {
    /// Describes a place in the input for messages.
    pub(crate) fn describe_place(&self, at: u64) -> String {
        match &self.place {
            Place::OpenTable(_) => {
                let origin = Origin { input: 0, at };
                self.locate(origin, 1).to_string()
            }
            _ if self.format.is_typed() => format!("row {at}"),
            _ => format!("byte {at}"),
        }
    }

    /// Returns the place of the row at `offset` of `source`, if this input contains it. `source` may be a
    /// partition of a table.
    pub(crate) fn place_of(&self, source: &str, offset: u64) -> Option<u64> {
        match &self.place {
            Place::OpenTable(relation) => relation.place_of(source, offset),
            _ => (self.name == source).then_some(offset),
        }
    }

    /// Creates an input from a table.
    pub fn from_relation(relation: Relation) -> Self {
        Self::from_snapshots(relation, Snapshots::One)
    }

    /// Creates an input from a table that is read under these snapshots.
    pub(crate) fn from_snapshots(relation: Relation, snapshots: Snapshots) -> Self {
        let name = relation.name.clone();
        resolve::pipe(name, Place::Table(relation, snapshots)).holding(FileFormat::Table)
    }

    /// Whether rows of the input may differ when it is read again.
    pub(crate) fn may_change(&self) -> bool {
        self.table().is_some_and(|table| table.snapshots() == Snapshots::Each)
    }

    /// Returns the input, with its table opened if it is one.
    fn with_open_table(
        &self,
        open: impl FnOnce(&Relation, Snapshots) -> Result<OpenRelation>,
    ) -> Result<Self> {
        let Place::Table(relation, snapshots) = &self.place else { return Ok(self.clone()) };
        let relation = open(relation, *snapshots)?;
        let (name, size) = (relation.label().to_owned(), Some(relation.size()));
        let reread = Reread::FromStart;
        let place = Place::OpenTable(Arc::new(relation));
        Ok(Self { name, size, reread, place, ..self.clone() })
    }

    /// Returns the table, if the input is one and is open.
    pub(crate) fn table(&self) -> Option<&Arc<OpenRelation>> {
        match &self.place {
            Place::OpenTable(relation) => Some(relation),
            _ => None,
        }
    }
}

impl Inputs {
    /// Opens the tables among the inputs, each for at most `readers` concurrent sessions. Returns the inputs
    /// and the names of their columns.
    ///
    /// # Errors
    ///
    /// Fails if a table does not exist or cannot be read.
    pub(crate) fn open_tables(
        &self,
        target: &Target,
        control: &Arc<Control>,
        readers: usize,
    ) -> Result<(Self, InputNames)> {
        let (inputs, target, of_thread) = (self.clone(), target.clone(), Arc::clone(control));
        // The caller may be inside a runtime, in which another one cannot be entered.
        let opened = unless_stopped(control, move || {
            let open = |relation: &Relation, snapshots| {
                open((relation, snapshots), &target, &of_thread, readers)
            };
            inputs.iter().map(|input| input.with_open_table(open)).collect::<Result<Vec<_>>>()
        })?;
        let mut names = InputNames { are_all: true, ..InputNames::default() };
        for input in &opened {
            let Some(table) = input.table() else { continue };
            let columns = table.columns().iter().map(|column| column.name.clone());
            names.add(&input.name, columns.collect());
        }
        Ok((self.with_list(opened), names))
    }

    /// Returns the table, if the input is one.
    pub(crate) fn table(&self) -> Option<&OpenRelation> {
        self.first()?.table().map(|table| &**table)
    }
}
