//! `pgsluice partition`: converts a plain table into a partitioned one, or drains a DEFAULT partition.

mod text;

use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use pgsluice::core::catalog::Strategy;
use pgsluice::error::{Words, command};
use pgsluice::job::Job;
use pgsluice::moving::{
    DEFAULT_AHEAD, DEFAULT_MAX_LOCK, Level, Move, MoveEntry, Shape, Until, abort, list,
};
use pgsluice::{Control, Error, Kind, Result, Target};

use crate::ledger::LedgerPlace;
use crate::load::{run_with_progress, warn};
use crate::names::parse_columns;
use crate::output::{print, print_json, say};
use crate::reports::ReportArgs;
use crate::spec::Given;
use crate::speed::SpeedArgs;
use crate::target::{TargetArgs, parse_time};
use crate::{complete, exit, signals};

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct PartitionArgs {
    /// The table, written as in SQL: orders, sales.orders, "Orders"
    #[arg(required = true, add = complete::table())]
    table: Option<String>,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    moving: MoveArgs,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    speed: SpeedArgs,
    #[command(flatten, next_help_heading = "Ledger")]
    place: LedgerPlace,
    #[command(flatten)]
    output: MoveOutputArgs,
    #[command(flatten)]
    reports: ReportArgs,
    #[command(subcommand)]
    command: Option<PartitionCommand>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Partitions")]
struct ShapeArgs {
    /// Partition key: "RANGE (placed)", "LIST (country)", "HASH (id)"; twice for two levels
    #[arg(long, value_name = "KEY")]
    by: Vec<String>,
    /// Width of the ranges: month, day, "7 days", 1000
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
    /// Number of hash partitions
    #[arg(long, value_name = "N")]
    leaves: Option<usize>,
    /// Number of ranges to create after the last one that has rows [default: 3]
    #[arg(long, value_name = "N")]
    ahead: Option<usize>,
    /// Also create a DEFAULT partition at each level of ranges or lists
    #[arg(long)]
    default_partition: bool,
    /// Take partition keys and bounds from another partitioned table, written as in SQL
    #[arg(long, value_name = "TABLE", add = complete::table())]
    like: Option<String>,
    /// The table is the DEFAULT partition of this one: move its rows to new partitions
    #[arg(long, value_name = "TABLE", add = complete::table())]
    of: Option<String>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Move")]
struct MoveArgs {
    /// Block writes to the table until it is partitioned; reads go on
    #[arg(long)]
    offline: bool,
    /// Print what would be done and what is in the way, and change nothing
    #[arg(long)]
    plan: bool,
    /// Add the partition key to unique keys that lack it, which PostgreSQL requires
    #[arg(long)]
    widen_keys: bool,
    #[command(flatten)]
    swap: SwapArgs,
    /// Stop when the rows are copied, or when changes are followed and the rows compared
    #[arg(long, value_name = "PHASE")]
    until: Option<UntilArg>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum UntilArg {
    Copy,
    Follow,
}

#[derive(Args, Debug)]
struct SwapArgs {
    /// Skip the comparison of old and new rows before the swap
    #[arg(long)]
    no_verify: bool,
    /// Longest time for which one attempt to lock the table makes others wait: 500ms, 2s [default: 500ms]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    max_lock: Option<Duration>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
struct MoveOutputArgs {
    /// Print the outcome or the error as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Print neither progress nor summary
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum PartitionCommand {
    /// List the tables that are being partitioned
    Status {
        #[command(flatten)]
        target: TargetArgs,
        #[command(flatten)]
        place: LedgerPlace,
        /// Print them as a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Go on with a table whose changes are logged: copy the rows that are missing, and swap
    Swap {
        #[command(flatten)]
        of: TableArgs,
        #[command(flatten)]
        swap: SwapArgs,
        #[command(flatten)]
        output: MoveOutputArgs,
        #[command(flatten)]
        reports: ReportArgs,
    },
    /// Drop the new partitions of an unfinished run; the table itself does not change
    Abort {
        #[command(flatten)]
        of: TableArgs,
    },
}

#[derive(Args, Debug)]
struct TableArgs {
    /// The table, written as in SQL
    #[arg(add = complete::table())]
    table: String,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    place: LedgerPlace,
}

/// Runs `pgsluice partition` and returns its exit status.
pub(crate) fn run(args: &PartitionArgs) -> Result<u8> {
    match &args.command {
        Some(PartitionCommand::Status { target, place, json }) => target.with(*json, |target| {
            let moves = pgsluice::runtime()?.block_on(list(&target, place.schema()))?;
            if *json { print_json(&moves) } else { print(&text::table(&moves)) }
        }),
        Some(PartitionCommand::Swap {
            of: TableArgs { table, target, place },
            swap,
            output,
            reports,
        }) => {
            reports.check(&[])?;
            target.with(output.quiet || reports.is_on_stderr(), |target| {
                let mut it = Move::new(table, Shape::by([]), target);
                it.goes_on = true;
                place.schema().clone_into(&mut it.ledger);
                swap.set(&mut it);
                carry_out(&it, output, reports)
            })
        }
        Some(PartitionCommand::Abort { of: TableArgs { table, target, place } }) => {
            target.with(false, |target| {
                let MoveEntry { table, .. } =
                    pgsluice::runtime()?.block_on(abort(&target, place.schema(), table))?;
                say(&format!("what was created beside {table} is dropped; the table is as it was"));
                Ok(())
            })
        }
        None => {
            let shape = args.shape.shape()?;
            args.moving.check()?;
            args.reports.check(&[])?;
            let plan = Given("plan", args.moving.plan);
            args.reports.list_run_options().iter().try_for_each(|option| option.excludes(&plan))?;
            args.target.with(args.output.quiet || args.reports.is_on_stderr(), |target| {
                args.carry_out(shape.clone(), target)
            })
        }
    }
    .map(|()| exit::DONE)
}

impl PartitionArgs {
    /// Whether the outcome is printed as JSON.
    pub(crate) fn json(&self) -> bool {
        match &self.command {
            Some(PartitionCommand::Status { json, .. }) => *json,
            Some(PartitionCommand::Swap { output, .. }) => output.json,
            Some(PartitionCommand::Abort { .. }) => false,
            None => self.output.json,
        }
    }

    fn carry_out(&self, shape: Shape, target: Target) -> Result<()> {
        let it = self.describe(shape, target);
        if self.moving.plan {
            let control = Arc::new(Control::default());
            let _watch = signals::stop(&control, last_words)?;
            let plan = it.plan(&control)?;
            return if self.output.json {
                print_json(&plan)
            } else {
                print(&text::describe_plan(&plan, self.moving.offline))
            };
        }
        carry_out(&it, &self.output, &self.reports)
    }

    fn describe(&self, shape: Shape, target: Target) -> Move {
        let table = self.table.clone().unwrap_or_default();
        let mut it = Move::new(table, shape, target);
        let mut job = Job::default();
        self.speed.set(&mut job);
        it.speed = job.speed;
        it.self_test = job.safety.self_test;
        self.place.schema().clone_into(&mut it.ledger);
        it.is_offline = self.moving.offline;
        it.widens_keys = self.moving.widen_keys;
        it.until = self.moving.until.map(|phase| match phase {
            UntilArg::Copy => Until::Copy,
            UntilArg::Follow => Until::Follow,
        });
        self.moving.swap.set(&mut it);
        it
    }
}

/// Returns the error of a move that did not end in time after Ctrl-C.
fn last_words(_: &Control) -> Error {
    let hint = "To see whether something is left beside the table, use ";
    Error::interrupted().with_hint(Words::from(hint) + command("partition status") + ".")
}

/// Runs a move, and prints its outcome.
fn carry_out(it: &Move, output: &MoveOutputArgs, reports: &ReportArgs) -> Result<()> {
    let (json, quiet) = (output.json, output.quiet || reports.is_on_stderr());
    let control = Arc::new(Control::default());
    let _metrics = reports.begin(&control)?;
    let _watch = signals::stop(&control, last_words)?;
    let moved = run_with_progress(&control, quiet, None, || it.run(&control))?;
    match quiet {
        false => say(&text::summary(&moved)),
        true if reports.is_on_stderr() => {}
        true => warn(&moved.warnings),
    }
    if json { print_json(&moved) } else { Ok(()) }
}

impl SwapArgs {
    fn set(&self, it: &mut Move) {
        it.verifies = !self.no_verify;
        it.max_lock = self.max_lock.unwrap_or(DEFAULT_MAX_LOCK);
    }
}

impl MoveArgs {
    fn check(&self) -> Result<()> {
        Given("no-verify", self.swap.no_verify).excludes(&Given("plan", self.plan))?;
        Given("until", self.until.is_some()).excludes(&Given("plan", self.plan))
    }
}

impl ShapeArgs {
    fn shape(&self) -> Result<Shape> {
        let levels = self.by.iter().map(|key| parse_key(key)).collect::<Result<Vec<_>>>()?;
        let mut shape = Shape::by(levels);
        shape.step.clone_from(&self.step);
        shape.leaves = self.leaves;
        shape.ahead = self.ahead.unwrap_or(DEFAULT_AHEAD);
        shape.has_default = self.default_partition;
        shape.like.clone_from(&self.like);
        shape.of.clone_from(&self.of);
        shape.check()?;
        Ok(shape)
    }
}

/// Parses a key in the syntax of PARTITION BY.
fn parse_key(key: &str) -> Result<Level> {
    let refused = || {
        Error::new(Kind::Usage, format!("\"{key}\" is not a partition key")).with_hint(
            "Valid keys are, for example, \"RANGE (placed)\", \"LIST (country)\" and \"HASH (id)\".",
        )
    };
    let (word, rest) = key.trim().split_once('(').ok_or_else(refused)?;
    let list = rest.trim_end().strip_suffix(')').ok_or_else(refused)?;
    let strategy = match word.trim().to_ascii_lowercase().as_str() {
        "range" => Strategy::Range,
        "list" => Strategy::List,
        "hash" => Strategy::Hash,
        _ => return Err(refused()),
    };
    Ok(Level { strategy, columns: parse_columns(list)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(key: &str) -> Option<Vec<String>> {
        parse_key(key).ok().map(|level| level.columns)
    }

    #[test]
    fn keys_are_read_as_sql_has_them() {
        assert_eq!(columns("RANGE (Placed)"), Some(vec!["placed".to_owned()]));
        assert_eq!(
            columns("hash(id,\"Kind, \"\"x\"\"\")"),
            Some(vec!["id".into(), "Kind, \"x\"".into()])
        );
        assert_eq!(columns(" List ( \"b)\" ) "), Some(vec!["b)".to_owned()]));
        for refused in ["placed", "RANGE", "RANGE ()", "HASH (a) x", "BTREE (a)", "HASH (\"a)"] {
            assert_eq!(columns(refused), None, "{refused}");
        }
    }
}
