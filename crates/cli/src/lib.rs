//! The command line: `run(args)` turns arguments into calls of the `pgsluice` crate.

mod server;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "pgsluice", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start or stop the embedded PostgreSQL, or print its URL
    Server(server::ServerArgs),
}

/// Runs the program with `args`, its own name first.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let Command::Server(args) = cli.command;
    match server::run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "pgsluice: {error}");
            ExitCode::from(if error.kind() == pgsluice::Kind::Usage { 2 } else { 1 })
        }
    }
}
