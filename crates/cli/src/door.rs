//! The interface for other languages: runs a command with its options as a JSON object, on inputs of the
//! caller, and returns the object of `--json`. The options and their checks are the same as for the command
//! line.

use std::sync::Arc;

use pgsluice::error::{Named, Remedy};
use pgsluice::gather::relay::Relay;
use pgsluice::inspect::leaves::Leaves;
use pgsluice::job::InputOptions;
use pgsluice::writer::{Durability, Writer};
use pgsluice::{Control, Error, Inputs, Job, Kind, Load, MetricsFile, Result};
use serde::Serialize;

use crate::failure;
use crate::ledger::{FinishArgs, ListArgs, ShowArgs};
use crate::load::LoadArgs;
use crate::plan::PlanArgs;
use crate::spec::read;
use crate::tree::TreeArgs;
use crate::verify::VerifyArgs;

/// Runs a command and prints nothing; `control` watches and stops it. `options` is a JSON object. If `given`,
/// these inputs replace the files.
///
/// Returns the object that `--json` prints.
///
/// # Errors
///
/// Fails with [`Kind::Usage`] for options that the command line would refuse, and if the command fails.
pub fn run(
    command: &str,
    options: &str,
    given: Option<Inputs>,
    control: &Arc<Control>,
) -> Result<String> {
    match command {
        "load" => {
            let RowOptions { args, job } = RowOptions::new(options, given)?;
            let _metrics = args.reports.begin(control)?;
            let load = |target| Load::new(job.clone(), target).run(control);
            args.target.with(true, load).map(|summary| json(&summary))
        }
        "plan" => {
            let mut args: PlanArgs = read(options)?;
            // The server reads it as well.
            args.input.given = given.map(|given| given.keep_as_files(control)).transpose()?;
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
/// Fails like [`run`] and [`pgsluice::inspect::leaves::find`].
pub fn leaves(options: &str, given: Option<Inputs>, control: &Arc<Control>) -> Result<Leaves> {
    let mut args: PlanArgs = read(options)?;
    args.input.given = given;
    args.leaves(control)
}

/// The options of a load, for rows that do not take the path of a load.
#[derive(Debug)]
pub struct RowOptions {
    args: LoadArgs,
    job: Job,
}

impl RowOptions {
    /// Reads the options of a load. If `given`, these inputs replace the files.
    ///
    /// # Errors
    ///
    /// Fails with [`Kind::Usage`] for options that the command line would refuse, and if an input does not
    /// exist.
    pub fn new(options: &str, given: Option<Inputs>) -> Result<Self> {
        let mut args: LoadArgs = read(options)?;
        args.input.given = given;
        let job = args.job()?;
        Ok(Self { args, job })
    }

    /// Returns the options of the input.
    #[must_use]
    pub fn input(&self) -> &InputOptions {
        &self.job.input
    }

    /// Opens a writer. Only the options of the table, the ledger and the server matter. If `is_shared`,
    /// several writers share the load.
    ///
    /// # Errors
    ///
    /// Fails like [`Writer::open`].
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

    /// Begins to write the metrics of a writer, if a file for them is given.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn metrics(&self, control: &Arc<Control>) -> Result<Option<MetricsFile>> {
        self.args.reports.begin(control)
    }

    /// Begins to gather rows for a connection of the caller. Only the options of the input, the table, the
    /// memory and the server matter.
    ///
    /// # Errors
    ///
    /// Fails like [`Relay::begin`].
    pub fn relay(&self, control: &Arc<Control>) -> Result<Relay> {
        self.args.target.with(true, |target| Relay::begin(&self.job, &target, control))
    }
}

/// An error as the object of `--json`, and as text.
#[derive(Clone, Debug)]
pub struct Described {
    /// The object.
    pub json: String,
    /// The message, detail and hint, in PostgreSQL's style.
    pub text: String,
}

impl Described {
    /// Describes the error with the spelling of [`Error::spell`].
    #[must_use]
    pub fn new(
        error: &Error,
        spell: impl Fn(&Named) -> String,
        way: impl Fn(&Remedy) -> Option<String>,
    ) -> Self {
        let error = error.clone().spell(spell, way);
        Self { json: json(&failure::object(&error)), text: failure::text(&error) }
    }
}

fn json(value: &impl Serialize) -> String {
    // Serialization cannot fail: the keys are names, and the numbers are finite.
    serde_json::to_string(value).unwrap_or_default()
}
