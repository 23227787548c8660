//! The door for other languages: a command with its options as a JSON object, of what the caller hands over, and its
//! outcome as `--json` has it. There is one set of options and of checks.

use std::sync::Arc;

use pgsluice::error::{Named, Remedy};
use pgsluice::gather::relay::Relay;
use pgsluice::inspect::leaves::Leaves;
use pgsluice::job::InputOptions;
use pgsluice::writer::{Durability, Writer};
use pgsluice::{Control, Error, Inputs, Job, Kind, Load, Result};
use serde::Serialize;

use crate::failure;
use crate::ledger::{FinishArgs, ListArgs, ShowArgs};
use crate::load::LoadArgs;
use crate::plan::PlanArgs;
use crate::spec::read;
use crate::tree::TreeArgs;
use crate::verify::VerifyArgs;

/// Carries out a command and prints nothing: watch and stop it through `control`. `options` is a JSON object. With
/// `given`, these inputs stand in place of files.
///
/// Returns the object that `--json` prints.
///
/// # Errors
///
/// What the command line refuses, by [`Kind::Usage`], and what the command ends in.
pub fn run(
    command: &str,
    options: &str,
    given: Option<Inputs>,
    control: &Arc<Control>,
) -> Result<String> {
    match command {
        "load" => {
            let RowOptions { args, job } = RowOptions::new(options, given)?;
            let load = |target| Load::new(job.clone(), target).run(control);
            args.target.with(true, load).map(|summary| json(&summary))
        }
        "plan" => {
            let mut args: PlanArgs = read(options)?;
            // It is read by the server as well.
            args.input.given = given.map(|given| given.kept_as_files(control)).transpose()?;
            args.report(control).map(|report| json(&report))
        }
        "verify" => {
            let mut args: VerifyArgs = read(options)?;
            args.input.given = given;
            args.audit(control).map(|audit| json(&audit))
        }
        "tree" => read::<TreeArgs>(options)?.drawn(control).map(|tree| json(&tree)),
        "ledger" => read::<ListArgs>(options)?.loads(true, control).map(|loads| json(&loads)),
        "ledger_finish" => {
            read::<FinishArgs>(options)?.finish(true, control).map(|load| json(&load))
        }
        "ledger_show" => read::<ShowArgs>(options)?.details(true, control).map(|it| json(&it)),
        other => Err(Error::new(Kind::Usage, format!("there is no command {other}"))),
    }
}

/// Finds the leaf of each row of `given`, with the options of `plan`.
///
/// # Errors
///
/// Those of [`run`], and of [`pgsluice::inspect::leaves::find`].
pub fn leaves(options: &str, given: Option<Inputs>, control: &Arc<Control>) -> Result<Leaves> {
    let mut args: PlanArgs = read(options)?;
    args.input.given = given;
    args.leaves(control)
}

/// Rows that go another way than a load's, as the options of a load say it.
#[derive(Debug)]
pub struct RowOptions {
    args: LoadArgs,
    job: Job,
}

impl RowOptions {
    /// Reads the options of a load. With `given`, these inputs stand in place of files.
    ///
    /// # Errors
    ///
    /// What the command line refuses, by [`Kind::Usage`], and inputs that are not there.
    pub fn new(options: &str, given: Option<Inputs>) -> Result<Self> {
        let mut args: LoadArgs = read(options)?;
        args.input.given = given;
        let job = args.job()?;
        Ok(Self { args, job })
    }

    /// What it says of its input.
    #[must_use]
    pub fn input(&self) -> &InputOptions {
        &self.job.input
    }

    /// Opens a writer, for which only what it says of its table, its ledger and the server matters. With `is_shared`
    /// several writers share the load.
    ///
    /// # Errors
    ///
    /// Those of [`Writer::open`].
    pub fn writer(
        &self,
        durability: Durability,
        is_shared: bool,
        control: &Control,
    ) -> Result<Writer> {
        let mut job = self.job.clone();
        job.safety.shared = is_shared;
        job.safety.load_id = job.safety.load_id.filter(|_| self.args.is_named());
        let open = |target| Writer::open(job.clone(), target, durability, control);
        self.args.target.with(true, open)
    }

    /// Begins to gather its rows for a connection of the caller's own; only what it says of its input, its table, its
    /// memory and the server matters.
    ///
    /// # Errors
    ///
    /// Those of [`Relay::begin`].
    pub fn relay(&self, control: &Arc<Control>) -> Result<Relay> {
        self.args.target.with(true, |target| Relay::begin(&self.job, &target, control))
    }
}

/// An error as the object of `--json`, and in words.
#[derive(Clone, Debug)]
pub struct Described {
    /// The object.
    pub json: String,
    /// Message, detail and hint as PostgreSQL words them.
    pub text: String,
}

impl Described {
    /// Returns the error as [`Error::spelled`] words it.
    #[must_use]
    pub fn of(
        error: &Error,
        spell: impl Fn(&Named) -> String,
        way: impl Fn(&Remedy) -> Option<String>,
    ) -> Self {
        let error = error.clone().spelled(spell, way);
        Self { json: json(&failure::object(&error)), text: failure::text(&error) }
    }
}

fn json(value: &impl Serialize) -> String {
    // It has names for keys, and numbers that are finite.
    serde_json::to_string(value).unwrap_or_default()
}
