//! `pgsluice load` as a process: its arguments, its exit status, and its summary.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde::Deserialize;

use super::{CopyOptions, program};

/// One load.
#[derive(Clone, Debug)]
pub(crate) struct Load<'a> {
    pub(crate) url: &'a str,
    /// The table, as in SQL.
    pub(crate) table: String,
    pub(crate) files: &'a [PathBuf],
    /// Whether the single file is given on standard input.
    pub(crate) stdin: bool,
    pub(crate) copy: &'a CopyOptions,
    pub(crate) jobs: u32,
    pub(crate) memory: Option<&'a str>,
    /// Whether the rows of each leaf go to it by name. Otherwise a few rows would go through the root, and
    /// the test would not cover leaves.
    pub(crate) by_leaf: bool,
    /// Whether rows are sent as text, unchanged.
    pub(crate) as_text: bool,
}

/// A load that reads from standard input.
#[derive(Debug)]
pub(crate) struct Running(Child);

/// The result of the process.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The part of the `--json` object that the tests use.
#[derive(Debug, Deserialize)]
pub(crate) struct Summary {
    pub(crate) rows_read: u64,
    pub(crate) rows_loaded: u64,
    pub(crate) lanes: Lanes,
    pub(crate) fallbacks: Vec<Fallback>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Lanes {
    pub(crate) routed_natively: u64,
    pub(crate) routed_by_query: u64,
    pub(crate) routed_by_server: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Fallback {
    pub(crate) what: String,
    pub(crate) why: String,
    pub(crate) rows: u64,
}

impl Load<'_> {
    pub(crate) fn run(&self) -> Outcome {
        let mut command = self.command();
        command.args(self.copy.arguments());
        if self.stdin {
            command.stdin(File::open(&self.files[0]).expect("the input opens"));
        } else {
            command.stdin(Stdio::null());
        }
        Outcome::from_output(
            command.output().unwrap_or_else(|error| panic!("{command:?}: {error}")),
        )
    }

    /// Runs the load without options for the format, which the file names imply.
    pub(crate) fn run_guessed(&self) -> Outcome {
        let mut command = self.command();
        command.stdin(Stdio::null());
        Outcome::from_output(
            command.output().unwrap_or_else(|error| panic!("{command:?}: {error}")),
        )
    }

    /// Begins a load from standard input, which is fed in pieces.
    pub(crate) fn start(&self) -> Running {
        let mut command = self.command();
        command.args(self.copy.arguments());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    fn command(&self) -> Command {
        let mut command = program();
        command.arg("load");
        if self.stdin {
            command.arg("-");
        } else {
            command.args(self.files);
        }
        command.args(["-t", &self.table, "-d", self.url, "-j", &self.jobs.to_string()]);
        command.args(self.memory.iter().flat_map(|memory| ["--memory", memory]));
        // With an explicit number, the tree is always read.
        command.arg(if self.by_leaf { "--few-rows=0" } else { "--few-rows=300" });
        command.args(self.as_text.then_some("--wire=text"));
        command.args(["--json", "-q"]);
        command
    }
}

impl Running {
    /// Writes a piece of the input. A load that has already ended reads nothing.
    pub(crate) fn feed(&mut self, piece: &str) {
        let stdin = self.0.stdin.as_mut().expect("a pipe");
        let _ = stdin.write_all(piece.as_bytes()).and_then(|()| stdin.flush());
    }

    /// Ends the input, and waits until the load ends.
    pub(crate) fn end(self) -> Outcome {
        Outcome::from_output(self.0.wait_with_output().expect("the load ends"))
    }
}

impl Outcome {
    fn from_output(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Returns the summary of a load that succeeded.
    pub(crate) fn summary(&self) -> Result<Summary, String> {
        if self.status != Some(0) {
            return Err(format!("exit status {:?}\n{}", self.status, self.stderr));
        }
        let summary: Summary = serde_json::from_str(&self.stdout)
            .map_err(|error| format!("no summary: {error}\n{}\n{}", self.stdout, self.stderr))?;
        summary.balance().map_err(|error| format!("{error}\n{summary:#?}"))?;
        Ok(summary)
    }
}

impl Summary {
    /// Checks the rules for every summary: each row has a lane, and no row leaves the native lane without a reason.
    fn balance(&self) -> Result<(), String> {
        let Lanes { routed_natively: native, routed_by_query: server, routed_by_server: slow } =
            self.lanes;
        if native + server + slow != self.rows_read {
            return Err("the lanes do not add up to the rows read".into());
        }
        let reported: u64 = self.fallbacks.iter().map(|fallback| fallback.rows).sum();
        if reported < server + slow {
            return Err("rows left the native lane without a reason".into());
        }
        match self.fallbacks.iter().find(|f| f.what.is_empty() || f.why.is_empty()) {
            Some(silent) => Err(format!("a fallback without a reason: {silent:?}")),
            None => Ok(()),
        }
    }
}
