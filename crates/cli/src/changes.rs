//! The options for rows whose key is in the table already.

use clap::{Args, ValueEnum};
use pgsluice::Result;
use pgsluice::job::{ChangeOptions, Duplicates, OnConflict};

use crate::options::{parse_columns, parse_name};

#[derive(Args, Debug)]
#[command(next_help_heading = "Rows that are there already")]
pub(crate) struct ChangeArgs {
    /// What becomes of a row whose key is in the table [default: error]
    #[arg(long, value_name = "ACTION")]
    on_conflict: Option<ActionName>,
    /// The columns by which rows are the same: id,"Created at" [default: the primary key]
    #[arg(long, value_name = "NAMES")]
    key: Option<String>,
    /// The columns that are set [default: all of the input but the key]
    #[arg(long, value_name = "NAMES")]
    update: Option<String>,
    /// Leave out rows whose key is not in the table
    #[arg(long)]
    no_insert: bool,
    /// Update only where the input has a greater value in this column
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    newer: Option<String>,
    /// Delete the row in the table where this column of the input is true, or of another type not NULL
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    delete_when: Option<String>,
    /// Which row counts of several of the input with one key [default: last to update, otherwise first]
    #[arg(long, value_name = "WHICH")]
    duplicates: Option<WhichName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ActionName {
    /// The server refuses it
    Error,
    /// It is left out
    Skip,
    /// The row in the table becomes what it says
    Update,
    /// The row in the table is deleted; the input has keys
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WhichName {
    First,
    Last,
    /// None: the load fails
    Error,
}

impl ChangeArgs {
    /// Returns the options as they were typed.
    pub(crate) fn options(&self) -> Result<ChangeOptions> {
        let names = |list: &Option<String>| list.as_deref().map(parse_columns).transpose();
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
            WhichName::First => Duplicates::First,
            WhichName::Last => Duplicates::Last,
            WhichName::Error => Duplicates::Error,
        });
        Ok(options)
    }
}
