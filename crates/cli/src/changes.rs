//! The options for rows whose key exists in the table.

use clap::{Args, ValueEnum};
use pgsluice::Result;
use pgsluice::job::{ChangeOptions, Duplicates, OnConflict};
use serde::Deserialize;

use crate::names::{Names, name, parse_name};
use crate::spec::{Given, listed};

#[derive(Args, Debug, Default, Deserialize)]
#[command(next_help_heading = "Existing rows")]
#[serde(default)]
pub(crate) struct ChangeArgs {
    /// Action for an input row whose key exists in the table [default: error]
    #[arg(long, value_name = "ACTION")]
    #[serde(deserialize_with = "listed")]
    on_conflict: Option<ActionName>,
    /// Columns that identify a row: id,"Created at" [default: the primary key]
    #[arg(long, value_name = "NAMES")]
    key: Option<Names>,
    /// Columns to set [default: all columns of the input but the key]
    #[arg(long, value_name = "NAMES")]
    update: Option<Names>,
    /// Skip input rows whose key does not exist in the table
    #[arg(long)]
    no_insert: bool,
    /// Update an existing row only if the input row has a greater value in this column
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    #[serde(deserialize_with = "name")]
    newer: Option<String>,
    /// Delete the existing row if this input column is true, or, for other types, not NULL
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    #[serde(deserialize_with = "name")]
    delete_when: Option<String>,
    /// Which input row wins if several have the same key [default: last with --on-conflict update,
    /// otherwise first]
    #[arg(long, value_name = "WHICH")]
    #[serde(deserialize_with = "listed")]
    duplicates: Option<DuplicatesName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ActionName {
    /// The load fails
    Error,
    /// The input row is skipped
    Skip,
    /// The existing row is updated from the input row
    Update,
    /// The existing row is deleted; the input holds keys
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DuplicatesName {
    First,
    Last,
    /// None: the load fails
    Error,
}

impl ChangeArgs {
    /// Returns whether an action for existing rows was given.
    pub(crate) fn on_conflict(&self) -> Given {
        Given("on-conflict", self.on_conflict.is_some())
    }

    /// Converts the arguments into options of a load.
    pub(crate) fn options(&self) -> Result<ChangeOptions> {
        let names = |list: &Option<Names>| list.as_ref().map(Names::columns).transpose();
        let mut options = ChangeOptions::default();
        options.on_conflict = match self.on_conflict {
            None | Some(ActionName::Error) => OnConflict::Error,
            Some(ActionName::Skip) => OnConflict::Skip,
            Some(ActionName::Update) => OnConflict::Update,
            Some(ActionName::Delete) => OnConflict::Delete,
        };
        options.key = names(&self.key)?;
        options.update = names(&self.update)?;
        options.newer.clone_from(&self.newer);
        options.delete_when.clone_from(&self.delete_when);
        options.no_insert = self.no_insert;
        options.duplicates = self.duplicates.map(|which| match which {
            DuplicatesName::First => Duplicates::First,
            DuplicatesName::Last => Duplicates::Last,
            DuplicatesName::Error => Duplicates::Error,
        });
        Ok(options)
    }
}
