//! The command line: `run(args)` turns arguments into calls of the `pgsluice` crate.

mod conceal;
mod exit;
mod generate;
mod ledger;
mod load;
mod options;
mod output;
mod plan;
mod progress;
mod server;
mod signals;
mod summary;
mod target;
mod tree;
mod verify;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};
use pgsluice::{Error, Kind};

use crate::conceal::conceal;

/// Loads data into partitioned PostgreSQL, leaf by leaf.
#[derive(Debug, Parser)]
#[command(name = "pgsluice", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Load files into a table, each row straight into its leaf partition
    Load(load::LoadArgs),
    /// Say what a load would do and why, from a sample of the input; loads nothing
    Plan(plan::PlanArgs),
    /// Compare a table with the input it was loaded from: rows, checksums, and leaves
    Verify(verify::VerifyArgs),
    /// Draw the partition tree of a table, with bounds, rows and sizes
    Tree(tree::TreeArgs),
    /// Say which loads the target knows, and what is in of each; forget one
    Ledger(ledger::LedgerArgs),
    /// Start or stop the embedded PostgreSQL, or print its URL
    Server(server::ServerArgs),
    /// Print what a shell needs to complete commands and options
    Completions(generate::CompletionsArgs),
    /// Write man pages, one for each command
    Man(generate::ManArgs),
}

/// The command line as clap knows it, for what is written about it.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program with `args`, its own name first, and returns its exit status.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            output::print_usage(&error);
            return exit::of_usage(&error);
        }
    };
    let done = |()| exit::DONE;
    let status = match cli.command {
        Command::Load(args) => load::run(&args),
        Command::Plan(args) => plan::run(&args).map(done),
        Command::Verify(args) => verify::run(&args).map(done),
        Command::Tree(args) => tree::run(&args).map(done),
        Command::Ledger(args) => ledger::run(&args).map(done),
        Command::Server(args) => server::run(args).map(done),
        Command::Completions(args) => generate::completions(&args, command()).map(done),
        Command::Man(args) => generate::man(&args, command()).map(done),
    };
    match status {
        Ok(status) => status,
        Err(error) => {
            output::say(&format!("error: {}", message(&error)));
            exit::of(&error)
        }
    }
}

/// The error in words. One about arguments may name one that has a password in it; what the server says
/// of a row is told as it is.
fn message(error: &Error) -> String {
    match error.kind() {
        Kind::Usage | Kind::Input => conceal(&error.to_string()),
        Kind::Data | Kind::Connection | Kind::Server | Kind::Internal | Kind::Interrupted => {
            error.to_string()
        }
    }
}
