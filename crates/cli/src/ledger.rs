//! `pgsluice ledger`: the loads in the target's ledger, and their committed rows.

use clap::{Args, Subcommand};
use pgsluice::job::DEFAULT_LEDGER;
use pgsluice::ledger::Run;
use pgsluice::ledger::finish::{self, Expected, FinishedLoad};
use pgsluice::ledger::lookup::{self, Details, Filter, Forgotten, LedgerEntry};
use pgsluice::row_counts::RowCounts;
use pgsluice::{Control, Result, Target};
use serde::{Deserialize, Deserializer};

use crate::complete;
use crate::names::{name, parse_name};
use crate::output::{count, group_digits, print, print_json, say};
use crate::spec::parsed;
use crate::summary::row_counts;
use crate::target::TargetArgs;

#[derive(Args, Debug)]
pub(crate) struct LedgerArgs {
    #[command(subcommand)]
    command: LedgerCommand,
}

/// The ledger, one of possibly several on the server.
#[derive(Args, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct LedgerPlace {
    /// Schema of the ledger [default: pgsluice]
    #[arg(long, value_name = "SCHEMA", value_parser = parse_name)]
    #[serde(deserialize_with = "name")]
    ledger: Option<String>,
}

#[derive(Args, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ListArgs {
    /// Only loads of this table, written as in SQL
    #[arg(short, long, add = complete::table())]
    table: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    #[serde(flatten)]
    place: LedgerPlace,
    /// Print the loads as a JSON array
    #[arg(long)]
    #[serde(skip)]
    json: bool,
}

#[derive(Args, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ShowArgs {
    /// The load's id
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    #[serde(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    #[serde(flatten)]
    place: LedgerPlace,
    /// Print the load as one JSON object
    #[arg(long)]
    #[serde(skip)]
    json: bool,
}

#[derive(Args, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FinishArgs {
    /// The load's id
    #[arg(value_name = "ID")]
    id: String,
    /// Fail unless the load has N participants [default: as given when it began, otherwise any number]
    #[arg(long, value_name = "N")]
    participants: Option<u32>,
    /// Fail unless this is the sum of the "rows_hash" of its participants, modulo 2^64
    #[arg(long, value_name = "HASH", value_parser = parse_hash)]
    #[serde(deserialize_with = "hash")]
    rows_hash: Option<u64>,
    #[command(flatten)]
    #[serde(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    #[serde(flatten)]
    place: LedgerPlace,
    /// Print the load as one JSON object
    #[arg(long)]
    #[serde(skip)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum LedgerCommand {
    /// List loads, the newest first
    List(ListArgs),
    /// Show one load: how its input is read, and which of its rows are committed, by table
    Show(ShowArgs),
    /// Mark a load as finished, once the shares of all of its participants are in the table
    Finish(FinishArgs),
    /// Remove loads that are not running from the ledger; their rows stay in the table
    Forget {
        /// The load's id
        #[arg(value_name = "ID", required_unless_present_any = ["all", "unfinished", "older_than"],
              conflicts_with_all = ["all", "unfinished", "older_than", "table"])]
        id: Option<String>,
        /// All loads
        #[arg(long, conflicts_with = "unfinished")]
        all: bool,
        /// All unfinished loads; they can then no longer be resumed
        #[arg(long)]
        unfinished: bool,
        /// Loads that ended, or began if unfinished, at least this long ago: 30d, "6 months"
        #[arg(long, value_name = "AGE")]
        older_than: Option<String>,
        /// Only loads of this table, written as in SQL
        #[arg(short, long, add = complete::table())]
        table: Option<String>,
        #[command(flatten)]
        target: TargetArgs,
        #[command(flatten)]
        place: LedgerPlace,
    },
}

/// Runs `pgsluice ledger`.
pub(crate) fn run(args: &LedgerArgs) -> Result<()> {
    match &args.command {
        LedgerCommand::List(list) => {
            let loads = list.loads(list.json, &Control::default())?;
            if list.json { print_json(&loads) } else { print(&table(&loads)) }
        }
        LedgerCommand::Show(show) => {
            let details = show.details(show.json, &Control::default())?;
            if show.json { print_json(&details) } else { print(&describe(&details)) }
        }
        LedgerCommand::Finish(finish) => {
            let finished = finish.finish(finish.json, &Control::default())?;
            if finish.json { print_json(&finished) } else { print(&finished_words(&finished)) }
        }
        LedgerCommand::Forget { id: Some(id), target, place, .. } => target.with(false, |target| {
            pgsluice::runtime()?.block_on(lookup::forget(&target, place.schema(), id))?;
            say_forgotten(id);
            Ok(())
        }),
        LedgerCommand::Forget { unfinished, older_than, table, target, place, .. } => {
            let filter = Filter { table: table.clone(), older_than: older_than.clone() };
            target.with(false, |target| forget_all(place, &target, &filter, *unfinished))
        }
    }
}

fn forget_all(
    place: &LedgerPlace,
    target: &Target,
    filter: &Filter,
    unfinished: bool,
) -> Result<()> {
    let forgetting = lookup::forget_all(target, place.schema(), filter, unfinished);
    let Forgotten { loads, running } = pgsluice::runtime()?.block_on(forgetting)?;
    loads.iter().for_each(|id| say_forgotten(id));
    running.iter().for_each(|id| say(&format!("load {id} is running and was kept")));
    say(&format!("{} forgotten", count(loads.len() as u64, "load", "loads")));
    Ok(())
}

impl LedgerPlace {
    /// Returns the schema of the ledger.
    pub(crate) fn schema(&self) -> &str {
        self.ledger.as_deref().unwrap_or(DEFAULT_LEDGER)
    }
}

impl ListArgs {
    /// Returns the loads.
    pub(crate) fn loads(&self, quiet: bool, control: &Control) -> Result<Vec<LedgerEntry>> {
        self.target.with(quiet, |target| {
            let filter = Filter { table: self.table.clone(), older_than: None };
            let loads = lookup::list(&target, self.place.schema(), &filter, control);
            pgsluice::runtime()?.block_on(loads)
        })
    }
}

impl ShowArgs {
    /// Returns the load.
    pub(crate) fn details(&self, quiet: bool, control: &Control) -> Result<Details> {
        self.target.with(quiet, |target| {
            let details = lookup::show(&target, self.place.schema(), &self.id, control);
            pgsluice::runtime()?.block_on(details)
        })
    }
}

impl FinishArgs {
    /// Marks the load as finished.
    pub(crate) fn finish(&self, quiet: bool, control: &Control) -> Result<FinishedLoad> {
        let expected = Expected { participants: self.participants, rows_hash: self.rows_hash };
        self.target.with(quiet, |target| {
            let finishing =
                finish::finish(&target, self.place.schema(), &self.id, &expected, control);
            pgsluice::runtime()?.block_on(finishing)
        })
    }
}

/// Reads the hash of rows.
fn hash<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Option<u64>, D::Error> {
    parsed(from, parse_hash)
}

/// Parses a 64-bit number in base 16.
fn parse_hash(text: &str) -> std::result::Result<u64, String> {
    u64::from_str_radix(text, 16).map_err(|_| "must have 1 to 16 hexadecimal digits".to_owned())
}

fn finished_words(load: &FinishedLoad) -> String {
    let FinishedLoad { load_id, participants, counts, already_finished, .. } = load;
    let participants = count(*participants, "participant", "participants");
    let already = if *already_finished { "was already" } else { "is" };
    format!("load {load_id} {already} finished: {participants}, {}", row_counts(counts))
}

impl LedgerArgs {
    /// Whether the outcome is printed as JSON.
    pub(crate) fn json(&self) -> bool {
        match &self.command {
            LedgerCommand::List(ListArgs { json, .. })
            | LedgerCommand::Show(ShowArgs { json, .. })
            | LedgerCommand::Finish(FinishArgs { json, .. }) => *json,
            LedgerCommand::Forget { .. } => false,
        }
    }
}

fn say_forgotten(id: &str) {
    say(&format!("load {id} is forgotten; its rows stay in the table"));
}

/// Maximum width of a line of the list, unless an id or a table has a long name.
const COLUMNS: usize = 120;
/// Minimum width of the inputs of a load.
const SOURCES: usize = 16;

/// Returns a line for each load, in columns. The names of inputs are shortened to fit; `show` and `--json`
/// print all of them in full.
fn table(loads: &[LedgerEntry]) -> String {
    let header = ["load", "table", "state", "begun", "rows", "sources"].map(str::to_owned);
    let line = |load: &LedgerEntry| {
        let LedgerEntry { id, table, state, begun, rows, sources, .. } = load;
        let begun = begun.split('.').next().unwrap_or_default().to_owned();
        [
            id.clone(),
            table.clone(),
            state.clone(),
            begun,
            group_digits(*rows),
            short_source(sources),
        ]
    };
    let lines: Vec<[String; 6]> = [header].into_iter().chain(loads.iter().map(line)).collect();
    let width =
        |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4].map(width);
    let taken: usize = widths.iter().map(|width| width + 2).sum();
    let room = COLUMNS.saturating_sub(taken).max(SOURCES);
    let text = |[id, table, state, begun, rows, sources]: &[String; 6]| {
        let [a, b, c, d, e] = widths;
        let sources = shorten(sources, room);
        format!("{id:a$}  {table:b$}  {state:c$}  {begun:d$}  {rows:>e$}  {sources}")
    };
    lines.iter().map(text).collect::<Vec<_>>().join("\n")
}

/// Returns the name of the first input without its directory, and the number of the others.
fn short_source(sources: &[String]) -> String {
    let Some(first) = sources.first() else { return String::new() };
    let name = first.rsplit('/').find(|part| !part.is_empty()).unwrap_or(first);
    match sources.len() - 1 {
        0 => name.to_owned(),
        more => format!("{name} and {more} more"),
    }
}

/// Returns the end of a text that is longer than `room` characters. It is more informative than its
/// beginning.
fn shorten(text: &str, room: usize) -> String {
    match text.chars().count().checked_sub(room) {
        None | Some(0) => text.to_owned(),
        Some(more) => format!("…{}", text.chars().skip(more + 1).collect::<String>()),
    }
}

fn describe(Details { entry, terms, counts, receipts, position, positions }: &Details) -> String {
    let LedgerEntry { id, table, state, attempts, begun, ended, rows, sources, participants, run } =
        entry;
    let mut lines = vec![
        format!("load     {id}, {state}"),
        format!("table    {table}, {}", count(*rows, "row", "rows")),
        format!("begun    {begun}, {}", count(attempts.unsigned_abs().into(), "time", "times")),
    ];
    lines.extend(ended.iter().map(|ended| format!("ended    {ended}")));
    lines.extend(
        Some(row_counts(counts))
            .filter(|_| terms.contains_key("on_conflict"))
            .map(|counts| format!("counts   {counts}")),
    );
    let participants = participants.map(|number| count(number, "participant", "participants"));
    lines.extend(participants.map(|number| format!("shares   {number}")));
    lines.extend(position.iter().map(|position| format!("position {position}")));
    lines.extend(positions.iter().map(|(participant, position)| {
        let position = position.as_ref().map_or("none", |position| position.get());
        format!("position {position} of {participant}")
    }));
    if !run.program.is_empty() {
        let Run { user, host, pid, program, since, .. } = run;
        lines.push(format!("run      {program} as {user}, process {pid} on {host}, since {since}"));
    }
    lines.extend(sources.iter().map(|source| format!("source   {source}")));
    lines.extend(terms.iter().map(|(name, value)| format!("term     {name}: {value}")));
    for of_table in receipts {
        let name = |source: u32| sources.get(source as usize).map_or("", String::as_str);
        let (source, byte) = of_table.upto;
        let mut line = format!(
            "receipt  {}: {}, to byte {byte} of {}",
            of_table.table,
            count(of_table.rows, "row", "rows"),
            name(source)
        );
        if of_table.counts != RowCounts::default() {
            line.push_str(&format!("; {}", row_counts(&of_table.counts)));
        }
        for (source, start, stop) in &of_table.ranges {
            line.push_str(&format!("; {start} to {stop} of {}", name(*source)));
        }
        lines.push(line);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_fits() {
        let sources: Vec<String> = (1..=12)
            .map(|day| format!("/srv/in/2026/11/orders-of-the-day-2026-11-{day:02}.csv.gz"))
            .collect();
        let load = LedgerEntry {
            id: "18eb782d1d32218b".to_owned(),
            table: "public.measurements_by_customer".to_owned(),
            state: "unfinished".to_owned(),
            begun: "2026-11-26 02:43:33.916594+00".to_owned(),
            rows: 9_999_999_999,
            sources,
            attempts: 1,
            ended: None,
            participants: None,
            run: Run::default(),
        };
        let text = table(&[load]);
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(text.ends_with(".csv.gz and 11 more"), "{text}");
        assert_eq!(short_source(&["a/b/".to_owned()]), "b");
        assert_eq!(shorten("abcdef", 4), "…def");
    }
}
