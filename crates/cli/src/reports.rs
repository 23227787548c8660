//! The options that report a run to other programs: `--metrics` and `--log`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum, ValueHint};
use pgsluice::error::option;
use pgsluice::source::Input;
use pgsluice::{Control, Error, Kind, MetricsFile, Result};
use serde::Deserialize;

use crate::log::{EventLog, LogFormat};
use crate::spec::Given;

#[derive(Args, Debug, Default, Deserialize)]
#[command(next_help_heading = "Output")]
#[serde(default)]
pub(crate) struct ReportArgs {
    /// Write metrics to FILE for Prometheus, and replace it each second and at the end
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    metrics: Option<PathBuf>,
    /// Append a line for each event to FILE; -: to standard error, in place of progress and summary
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    #[serde(skip)]
    log: Option<PathBuf>,
    /// Format of these lines [default: text]
    #[arg(long, value_name = "FORMAT")]
    #[serde(skip)]
    log_format: Option<FormatArg>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatArg {
    Text,
    /// One JSON object in each line
    Json,
}

impl ReportArgs {
    /// Fails if options contradict each other, or if a report would overwrite one of the `inputs`.
    pub(crate) fn check(&self, inputs: &[Input]) -> Result<()> {
        let log = Given("log", self.log.is_some());
        Given("log-format", self.log_format.is_some()).requires(&log)?;
        if self.metrics.as_deref() == Some(Path::new("-")) {
            let message = "metrics cannot be written to standard output";
            return Err(Error::new(Kind::Usage, message)
                .with_hint("They are replaced each second: name a file."));
        }
        if self.metrics.is_some() && self.metrics == self.log {
            let message = "metrics and log cannot be written to the same file";
            return Err(Error::new(Kind::Usage, message));
        }
        let log = self.log.as_ref().filter(|_| !self.is_on_stderr());
        for (name, path) in [("metrics", self.metrics.as_ref()), ("log", log)] {
            let found = path.and_then(|path| path.canonicalize().ok());
            let is_it = |input: &&Input| {
                found.is_some() && Path::new(&input.name).canonicalize().ok() == found
            };
            if let Some(input) = inputs.iter().find(is_it) {
                let message = format!("\"{}\" is an input of the load", input.name);
                return Err(Error::new(Kind::Usage, message)
                    .with_hint("Name another file: " + option(name).with("FILE")));
            }
        }
        Ok(())
    }

    /// Returns the options that make no sense for a command that only plans.
    pub(crate) fn list_run_options(&self) -> [Given; 2] {
        [Given("metrics", self.metrics.is_some()), Given("log", self.log.is_some())]
    }

    /// Whether the log goes to standard error. Other messages would be mixed with its lines.
    pub(crate) fn is_on_stderr(&self) -> bool {
        self.log.as_deref() == Some(Path::new("-"))
    }

    /// Opens the files, and reports all events of `control` to them. The metrics end with the returned value.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written.
    pub(crate) fn begin(&self, control: &Arc<Control>) -> Result<Option<MetricsFile>> {
        if let Some(path) = &self.log {
            let format = match self.log_format {
                Some(FormatArg::Json) => LogFormat::Json,
                Some(FormatArg::Text) | None => LogFormat::Text,
            };
            let path = Some(&**path).filter(|_| !self.is_on_stderr());
            control.listen(Arc::new(EventLog::open(path, format)?));
        }
        self.metrics.as_ref().map(|path| MetricsFile::begin(path, control)).transpose()
    }
}
