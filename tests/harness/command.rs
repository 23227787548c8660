//! `pgsluice` as a process with any arguments, for commands without a summary.

use std::path::Path;
use std::process::Stdio;

use super::{Outcome, program};

/// Runs the program with `arguments`, and with `input` on standard input if given.
pub(crate) fn run(arguments: &[&str], input: Option<&Path>) -> Outcome {
    let mut command = program();
    command.args(arguments).stdin(Stdio::null());
    if let Some(input) = input {
        command.stdin(std::fs::File::open(input).expect("the input opens"));
    }
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    Outcome {
        status: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
