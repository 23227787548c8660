//! The command line: `run(args)` converts arguments into calls of the `pgsluice` crate.

mod advice;
mod changes;
mod complete;
mod conceal;
pub mod door;
mod exchange;
mod exit;
mod failure;
mod from;
mod generate;
mod help;
mod ledger;
mod load;
mod log;
mod names;
mod options;
mod output;
mod partition;
mod password;
mod plan;
mod plan_json;
mod progress;
mod remedy;
mod reports;
mod server;
mod signals;
mod spec;
mod speed;
mod summary;
mod target;
mod tree;
mod verify;

use std::ffi::OsString;

use clap::{FromArgMatches, Parser, Subcommand};
use pgsluice::error::Named;

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
    Load(Box<load::LoadArgs>),
    /// Show what a load would do and why, from a sample of the input; load nothing
    Plan(plan::PlanArgs),
    /// Compare a table with the input it was loaded from: rows, checksums, and leaves
    Verify(verify::VerifyArgs),
    /// Turn a plain table into a partitioned one, or drain a DEFAULT partition
    Partition(partition::PartitionArgs),
    /// Draw the partition tree of a table, with bounds, rows and sizes
    Tree(tree::TreeArgs),
    /// List, show or forget the loads in the target's ledger
    Ledger(ledger::LedgerArgs),
    /// Start or stop the embedded PostgreSQL, or print its URL
    Server(server::ServerArgs),
    /// Print the completion script of a shell
    Completions(complete::CompletionsArgs),
    /// Write man pages, one for each command
    Man(generate::ManArgs),
}

/// Returns the command line as a clap command, for its documentation.
pub fn command() -> clap::Command {
    help::command::<Cli>()
}

/// Runs the program with `args`, which begin with its own name, and returns its exit status.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    match complete::answer(&args, command) {
        Ok(false) => {}
        Ok(true) => return exit::DONE,
        Err(error) => {
            output::print_usage(&error);
            return exit::from_clap(&error);
        }
    }
    let line = match args.iter().any(|arg| arg == "-?") {
        true => help::brief(command()),
        false => command(),
    };
    let matches = advice::add(line).try_get_matches_from(&args);
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            output::print_usage(&error);
            if error.use_stderr() && args.iter().any(|arg| arg == "--json") {
                failure::print(&failure::from_clap(&error));
            }
            return exit::from_clap(&error);
        }
    };
    let done = |()| exit::DONE;
    let json = cli.command.json();
    let status = match cli.command {
        Command::Load(load) => load::run(&load),
        Command::Plan(plan) => plan::run(&plan).map(done),
        Command::Verify(verify) => verify::run(&verify),
        Command::Partition(partition) => partition::run(&partition),
        Command::Tree(tree) => tree::run(&tree).map(done),
        Command::Ledger(ledger) => ledger::run(&ledger).map(done),
        Command::Server(server) => server::run(server).map(done),
        Command::Completions(of) => complete::script(&of).map(done),
        Command::Man(of) => generate::man(&of, command()).map(done),
    };
    match status {
        Ok(status) => status,
        Err(error) => {
            let error = error.spell(Named::to_string, |remedy| remedy::command(&args, remedy));
            output::say(&format!("error: {}", failure::text(&error)));
            if json {
                failure::print(&error);
            }
            exit::from_error(&error)
        }
    }
}

impl Command {
    /// Whether the outcome is printed as JSON.
    fn json(&self) -> bool {
        match self {
            Self::Load(args) => args.json(),
            Self::Plan(args) => args.json,
            Self::Verify(args) => args.json,
            Self::Partition(args) => args.json(),
            Self::Tree(args) => args.json,
            Self::Ledger(args) => args.json(),
            Self::Server(_) | Self::Completions(_) | Self::Man(_) => false,
        }
    }
}
