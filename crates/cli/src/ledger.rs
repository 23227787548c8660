//! `pgsluice ledger`: which loads the target knows, and what is in of them.

use clap::{Args, Subcommand};
use pgsluice::ledger::lookup::{self, Details, Entry, Settled};
use pgsluice::{Error, Kind, Result};
use serde::Serialize;

use crate::output::{count, grouped, print, say};
use crate::target::TargetArgs;

#[derive(Args, Debug)]
pub(crate) struct LedgerArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List all loads, the newest first
    List {
        #[command(flatten)]
        target: TargetArgs,
        /// Print them as a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show one load: how its input is read, and which of its rows are in, by table
    Show {
        /// The load's id
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        target: TargetArgs,
        /// Print it as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Take a load out of the ledger; its rows stay in the table
    Forget {
        /// The load's id
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        target: TargetArgs,
    },
}

/// Carries out `pgsluice ledger`.
pub(crate) fn run(args: &LedgerArgs) -> Result<()> {
    let runtime = pgsluice::runtime()?;
    match &args.command {
        Command::List { target, json } => {
            let loads = runtime.block_on(lookup::list(&target.resolve(false)?))?;
            match json {
                true => print_json(&loads),
                false => print(&table(&loads)),
            }
        }
        Command::Show { id, target, json } => {
            let details = runtime.block_on(lookup::show(&target.resolve(false)?, id))?;
            match json {
                true => print_json(&details),
                false => print(&described(&details)),
            }
        }
        Command::Forget { id, target } => {
            let settled = runtime.block_on(lookup::forget(&target.resolve(false)?, id))?;
            let rows = match settled {
                Settled::Nothing | Settled::Busy => "its rows stay in the table",
                Settled::Committed => "its rows, which were in doubt, are committed",
                Settled::RolledBack => "its rows, which were in doubt, are rolled back",
            };
            say(&format!("load {id} is forgotten; {rows}"));
            Ok(())
        }
    }
}

fn print_json(value: &impl Serialize) -> Result<()> {
    let json = serde_json::to_string(value).map_err(|error| {
        Error::new(Kind::Input, format!("could not write what the ledger says: {error}"))
    })?;
    print(&json)
}

/// One line for each load, in columns.
fn table(loads: &[Entry]) -> String {
    let header = ["load", "table", "state", "begun", "rows", "sources"].map(str::to_owned);
    let line = |load: &Entry| {
        let Entry { id, table, state, begun, rows, sources, .. } = load;
        let begun = begun.split('.').next().unwrap_or_default().to_owned();
        [id.clone(), table.clone(), state.clone(), begun, grouped(*rows), sources.join(", ")]
    };
    let lines: Vec<[String; 6]> = [header].into_iter().chain(loads.iter().map(line)).collect();
    let width =
        |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4].map(width);
    let text = |[id, table, state, begun, rows, sources]: &[String; 6]| {
        let [a, b, c, d, e] = widths;
        format!("{id:a$}  {table:b$}  {state:c$}  {begun:d$}  {rows:>e$}  {sources}")
    };
    lines.iter().map(text).collect::<Vec<_>>().join("\n")
}

fn described(Details { entry, terms, prepared, receipts }: &Details) -> String {
    let Entry { id, table, state, attempts, begun, ended, rows, sources } = entry;
    let mut lines = vec![
        format!("load     {id}, {state}"),
        format!("table    {table}, {}", count(*rows, "row", "rows")),
        format!("begun    {begun}, {}", count(attempts.unsigned_abs().into(), "time", "times")),
    ];
    lines.extend(ended.iter().map(|ended| format!("ended    {ended}")));
    lines.extend(sources.iter().map(|source| format!("source   {source}")));
    lines.extend(terms.iter().map(|(name, value)| format!("term     {name}: {value}")));
    lines.extend(prepared.iter().map(|name| format!("in doubt {name}")));
    for of_table in receipts {
        let name = |source: u32| sources.get(source as usize).map_or("", String::as_str);
        let (source, byte) = of_table.upto;
        let mut line = format!(
            "receipt  {}: {}, to byte {byte} of {}",
            of_table.table,
            count(of_table.rows, "row", "rows"),
            name(source)
        );
        for (source, start, stop) in &of_table.ranges {
            line.push_str(&format!("; {start} to {stop} of {}", name(*source)));
        }
        lines.push(line);
    }
    lines.join("\n")
}
