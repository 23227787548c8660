//! `pgsluice load` as a process: its arguments, its exit status, and its summary.
//!
//! `PGSLUICE_BIN` names another program to run in its place.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::copy_options::CopyOptions;

/// One load.
#[derive(Clone, Debug)]
pub(crate) struct Load<'a> {
    pub(crate) url: &'a str,
    /// As in SQL.
    pub(crate) table: String,
    pub(crate) files: &'a [PathBuf],
    /// The one file is given on standard input.
    pub(crate) stdin: bool,
    pub(crate) copy: &'a CopyOptions,
    pub(crate) jobs: u32,
    pub(crate) memory: Option<&'a str>,
}

/// What the process left behind.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The object that `--json` prints, as far as the tests look at it.
#[derive(Debug, Deserialize)]
pub(crate) struct Summary {
    pub(crate) rows_read: u64,
    pub(crate) rows_loaded: u64,
    pub(crate) lanes: Lanes,
    pub(crate) fallbacks: Vec<Fallback>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Lanes {
    pub(crate) native: u64,
    pub(crate) server: u64,
    pub(crate) slow: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Fallback {
    pub(crate) what: String,
    pub(crate) why: String,
    pub(crate) rows: u64,
}

impl Load<'_> {
    pub(crate) fn run(&self) -> Outcome {
        let program = std::env::var_os("PGSLUICE_BIN")
            .unwrap_or_else(|| OsString::from(env!("CARGO_BIN_EXE_pgsluice")));
        let mut command = Command::new(&program);
        command.arg("load");
        if self.stdin {
            let file = File::open(&self.files[0]).expect("the input opens");
            command.arg("-").stdin(file);
        } else {
            command.args(self.files).stdin(Stdio::null());
        }
        command.args(["-t", &self.table, "-d", self.url, "-j", &self.jobs.to_string()]);
        command.args(self.memory.iter().flat_map(|memory| ["--memory", memory]));
        command.args(self.copy.arguments()).args(["--json", "-q"]);
        let output = command.output().unwrap_or_else(|error| panic!("{program:?}: {error}"));
        Outcome {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Outcome {
    /// The summary of a load that succeeded.
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
    /// The rules that hold for every summary: each row has a lane, and none leaves the native
    /// lane without a reason.
    fn balance(&self) -> Result<(), String> {
        let Lanes { native, server, slow } = self.lanes;
        if native + server + slow != self.rows_read {
            return Err("the lanes do not add up to the rows read".into());
        }
        let said: u64 = self.fallbacks.iter().map(|fallback| fallback.rows).sum();
        if said < server + slow {
            return Err("rows left the native lane without a reason".into());
        }
        match self.fallbacks.iter().find(|f| f.what.is_empty() || f.why.is_empty()) {
            Some(silent) => Err(format!("a fallback without a reason: {silent:?}")),
            None => Ok(()),
        }
    }
}
