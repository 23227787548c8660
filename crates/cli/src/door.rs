//! The door for other languages: a load as the command line's own options describe it, of what the caller hands over,
//! and its outcome as `--json` has it. There is one set of options and of checks.

use std::ffi::OsString;
use std::sync::Arc;

use clap::FromArgMatches;
use pgsluice::counts::summary::Summary;
use pgsluice::error::Remedy;
use pgsluice::gather::relay::Relay;
use pgsluice::job::InputOptions;
use pgsluice::writer::{Durability, Writer};
use pgsluice::{Control, Error, Inputs, Job, Kind, Loader, Result};
use serde::Serialize;

use crate::load::LoadArgs;
use crate::{Cli, Command, failure, help};

/// A load that has not begun.
#[derive(Debug)]
pub struct Load {
    args: LoadArgs,
    job: Job,
}

impl Load {
    /// Reads the arguments of `pgsluice load`, without these two words. With `given`, the inputs that they name stand
    /// for these.
    ///
    /// # Errors
    ///
    /// What the command line refuses, by [`Kind::Usage`], and inputs that are not there.
    pub fn new(args: impl IntoIterator<Item = OsString>, given: Option<Inputs>) -> Result<Self> {
        let words = ["pgsluice", "load"].map(OsString::from).into_iter().chain(args);
        let matches = help::command::<Cli>().try_get_matches_from(words);
        let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
        match cli.map_err(|error| failure::of_usage(&error))?.command {
            Command::Load(mut args) => {
                args.input.given = given;
                let job = args.job()?;
                Ok(Self { args, job })
            }
            _ => Err(Error::new(Kind::Usage, "this is no load")),
        }
    }

    /// Carries it out, and prints nothing: watch and stop it through `control`.
    ///
    /// # Errors
    ///
    /// Those of [`Loader::run`].
    pub fn run(&self, control: &Arc<Control>) -> Result<Summary> {
        let load = |target| Loader::new(self.job.clone(), target).run(control);
        self.args.input.target.with(true, load)
    }

    /// What it says of its input.
    #[must_use]
    pub fn input(&self) -> &InputOptions {
        &self.job.input
    }

    /// Opens a writer, for which only what it says of its table, its ledger and the server matters.
    ///
    /// # Errors
    ///
    /// Those of [`Writer::open`].
    pub fn writer(&self, durability: Durability, control: &Control) -> Result<Writer> {
        let open = |target| Writer::open(self.job.clone(), target, durability, control);
        self.args.input.target.with(true, open)
    }

    /// Begins to gather its rows for a connection of the caller's own; only what it says of its input, its table, its
    /// memory and the server matters.
    ///
    /// # Errors
    ///
    /// Those of [`Relay::begin`].
    pub fn relay(&self, control: &Arc<Control>) -> Result<Relay> {
        self.args.input.target.with(true, |target| Relay::begin(&self.job, &target, control))
    }
}

/// An error as the object of `--json`, and in words.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The object.
    pub json: String,
    /// Message, detail and hint as PostgreSQL words them.
    pub text: String,
}

impl Failure {
    /// The error, whose ways out are worded by `word`, where that has words for one.
    #[must_use]
    pub fn of(error: &Error, word: impl Fn(&Remedy) -> Option<String>) -> Self {
        let error = error.clone().with_commands(word);
        Self { json: json(&failure::object(&error)), text: failure::text(&error) }
    }
}

/// The object that `--json` prints.
#[must_use]
pub fn json(value: &impl Serialize) -> String {
    // It has names for keys, and numbers that are finite.
    serde_json::to_string(value).unwrap_or_default()
}
