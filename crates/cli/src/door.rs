//! The door for other languages: a command as the command line's own options describe it, of what the caller hands
//! over, and its outcome as `--json` has it. There is one set of options and of checks.

use std::ffi::OsString;
use std::sync::Arc;

use clap::FromArgMatches;
use pgsluice::error::Remedy;
use pgsluice::gather::relay::Relay;
use pgsluice::inspect::leaves::Leaves;
use pgsluice::job::InputOptions;
use pgsluice::writer::{Durability, Writer};
use pgsluice::{Control, Error, Inputs, Job, Kind, Loader, Result};
use serde::Serialize;

use crate::load::LoadArgs;
use crate::{Cli, Command, failure, help, ledger};

/// Carries out a command and prints nothing: watch and stop it through `control`. `args` are those of `pgsluice`,
/// without this word. With `given`, the inputs that they name stand for these.
///
/// Returns the object that `--json` prints.
///
/// # Errors
///
/// What the command line refuses, by [`Kind::Usage`], and what the command ends in.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    given: Option<Inputs>,
    control: &Arc<Control>,
) -> Result<String> {
    match parse(args)? {
        Command::Load(mut args) => {
            args.input.given = given;
            let job = args.job()?;
            let load = |target| Loader::new(job.clone(), target).run(control);
            args.input.target.with(true, load).map(|summary| json(&summary))
        }
        Command::Plan(mut args) => {
            // It is read by the server as well.
            args.input.given = given.map(|given| given.kept_as_files(control)).transpose()?;
            args.report(control).map(|report| json(&report))
        }
        Command::Verify(mut args) => {
            args.input.given = given;
            args.audit(control).map(|audit| json(&audit))
        }
        Command::Tree(args) => args.drawn(control).map(|tree| json(&tree)),
        Command::Ledger(args) => match args.read(true, control)? {
            Some(ledger::Read::Loads(loads)) => Ok(json(&loads)),
            Some(ledger::Read::Load(details)) => Ok(json(&details)),
            None => Err(silent()),
        },
        Command::Server(_) | Command::Completions(_) | Command::Man(_) => Err(silent()),
    }
}

/// Finds the leaf of each row of `given`; `args` are those of `pgsluice plan`, without these words.
///
/// # Errors
///
/// Those of [`run`], and of [`pgsluice::inspect::leaves::find`].
pub fn leaves(
    args: impl IntoIterator<Item = OsString>,
    given: Option<Inputs>,
    control: &Arc<Control>,
) -> Result<Leaves> {
    match parse(std::iter::once(OsString::from("plan")).chain(args))? {
        Command::Plan(mut args) => {
            args.input.given = given;
            args.leaves(control)
        }
        _ => Err(silent()),
    }
}

/// Rows that go another way than a load's, as the options of a load say it.
#[derive(Debug)]
pub struct Rows {
    args: LoadArgs,
    job: Job,
}

impl Rows {
    /// Reads the arguments of `pgsluice load`. With `given`, the inputs that they name stand for these.
    ///
    /// # Errors
    ///
    /// What the command line refuses, by [`Kind::Usage`], and inputs that are not there.
    pub fn new(args: impl IntoIterator<Item = OsString>, given: Option<Inputs>) -> Result<Self> {
        match parse(args)? {
            Command::Load(mut args) => {
                args.input.given = given;
                let job = args.job()?;
                Ok(Self { args, job })
            }
            _ => Err(silent()),
        }
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
        let mut job = self.job.clone();
        job.safety.load_id = job.safety.load_id.filter(|_| self.args.is_named());
        let open = |target| Writer::open(job.clone(), target, durability, control);
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

fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command> {
    let words = std::iter::once(OsString::from("pgsluice")).chain(args);
    let matches = help::command::<Cli>().try_get_matches_from(words);
    let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    Ok(cli.map_err(|error| failure::of_usage(&error))?.command)
}

/// The error for a command that prints no object.
fn silent() -> Error {
    Error::new(Kind::Usage, "this command returns no result")
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

fn json(value: &impl Serialize) -> String {
    // It has names for keys, and numbers that are finite.
    serde_json::to_string(value).unwrap_or_default()
}
