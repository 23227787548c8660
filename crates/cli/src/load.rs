//! `pgsluice load`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, Thread};
use std::time::Duration;

use clap::Args;
use pgsluice::control::Control;
use pgsluice::counts::summary::fresh_id;
use pgsluice::error::on_one_line;
use pgsluice::job::{
    DEFAULT_LEDGER, DEFAULT_MAX_NEW_PARTITIONS, DEFAULT_SWAP_PATIENCE, Job, MaxLag, MaxRejects,
    RejectPlace, Rejects, SafetyOptions, ShareOptions,
};
use pgsluice::load::failed;
use pgsluice::{Load, Result, Target};
use serde::{Deserialize, Deserializer};

use crate::changes::ChangeArgs;
use crate::exchange::{ExchangeName, exchange};
use crate::names::{name, parse_name};
use crate::options::{InputArgs, ReadingArgs, parse_size};
use crate::output::{print_json, say};
use crate::reports::ReportArgs;
use crate::spec::{Given, parsed, text};
use crate::speed::SpeedArgs;
use crate::target::{TargetArgs, parse_time};
use crate::{exit, progress, signals, summary};

#[derive(Args, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    #[serde(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    #[serde(flatten)]
    changes: ChangeArgs,
    #[command(flatten)]
    #[serde(flatten)]
    partitions: PartitionArgs,
    #[command(flatten)]
    #[serde(flatten)]
    safety: SafetyArgs,
    #[command(flatten)]
    #[serde(flatten)]
    ledger: LoadLedgerArgs,
    #[command(flatten)]
    #[serde(flatten)]
    speed: SpeedArgs,
    #[command(flatten)]
    #[serde(skip)]
    output: OutputArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) reports: ReportArgs,
}

#[derive(Args, Debug, Default, Deserialize)]
#[command(next_help_heading = "Partitions")]
#[serde(default)]
struct PartitionArgs {
    /// Create the range and list partitions that rows need and the table lacks, before loading
    #[arg(long)]
    create_partitions: bool,
    /// Width of new range partitions: month, day, "7 days", 1000 [default: that of their siblings]
    #[arg(long, value_name = "STEP")]
    #[serde(deserialize_with = "text")]
    step: Option<String>,
    /// Refuse a load that needs more new partitions than N [default: 100]
    #[arg(long, value_name = "N")]
    max_new_partitions: Option<usize>,
}

#[derive(Args, Debug, Default, Deserialize)]
#[command(next_help_heading = "Safety")]
#[serde(default)]
struct SafetyArgs {
    /// Load all rows or none, in one transaction on one connection
    #[arg(long)]
    atomic: bool,
    /// Build empty leaves beside the table, create their indexes last, and swap them in; other leaves
    /// are loaded as usual. =require: fail if a leaf cannot be swapped; =replace: replace every leaf
    /// that the input has rows for, and drop its old rows
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "try",
          value_name = "require|replace")]
    #[serde(deserialize_with = "exchange")]
    exchange: Option<ExchangeName>,
    /// Seconds to keep trying the swap while other sessions lock the table [default: 60]
    #[arg(long, value_name = "SECONDS")]
    swap_patience: Option<u64>,
    /// Write rows that the server rejects to FILE, unchanged, and the reasons to FILE.log
    #[arg(long, value_name = "FILE")]
    reject_file: Option<PathBuf>,
    /// Insert rows that the server rejects into this table, with the reasons, in the transaction of the rows beside them
    #[arg(long, value_name = "NAME")]
    reject_table: Option<String>,
    /// Number or share of rows that may be rejected before the load fails: 100, 1%
    #[arg(long, value_name = "N|P%", value_parser = parse_max_rejects)]
    #[serde(deserialize_with = "max_rejects")]
    max_rejects: Option<MaxRejects>,
    /// Fail, and name the holder, after waiting for a lock this long: 30s, 5min [default: wait; the
    /// holder is named after 2 s]
    #[arg(long, value_name = "TIME", value_parser = parse_lock_timeout)]
    #[serde(deserialize_with = "lock_timeout")]
    lock_timeout: Option<Duration>,
    /// Pause while a replica, a replication slot or the archiver lags by more than this: 1GB, 30s
    #[arg(long, value_name = "SIZE|TIME", value_parser = parse_max_lag)]
    #[serde(deserialize_with = "max_lag")]
    max_lag: Option<MaxLag>,
}

#[derive(Args, Debug, Default, Deserialize)]
#[command(next_help_heading = "Ledger")]
#[serde(default)]
struct LoadLedgerArgs {
    /// Name of the load; if the ledger has an unfinished load of this name, resume it
    #[arg(long, value_name = "ID")]
    load_id: Option<String>,
    /// Load these rows as the share of participant NAME, in one transaction: of all attempts with this name, one is committed
    #[arg(long, value_name = "NAME")]
    #[serde(deserialize_with = "text")]
    participant: Option<String>,
    /// Number of participants of the load; another number is refused
    #[arg(long, value_name = "N")]
    participants: Option<u32>,
    /// Refuse input that another load has already loaded into the table, or is loading
    #[arg(long)]
    once: bool,
    /// End the sessions of a dead run of this load, then resume it
    #[arg(long)]
    end_other: bool,
    /// Schema of the ledger, for teams that do not trust each other [default: pgsluice]
    #[arg(long, value_name = "SCHEMA", value_parser = parse_name)]
    #[serde(deserialize_with = "name")]
    ledger: Option<String>,
    /// Keep no ledger; the load cannot be resumed
    #[arg(long)]
    no_ledger: bool,
}

#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Output")]
struct OutputArgs {
    /// Print the summary or the error as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Print neither progress nor summary
    #[arg(short, long)]
    quiet: bool,
}

/// Runs `pgsluice load` and returns its exit status.
pub(crate) fn run(args: &LoadArgs) -> Result<u8> {
    let job = args.job()?;
    args.target.with(args.is_quiet(), |target| load(args, job.clone(), target))
}

fn load(args: &LoadArgs, job: Job, target: Target) -> Result<u8> {
    let (json, quiet) = (args.output.json, args.is_quiet());
    let control = Arc::new(Control::default());
    let _metrics = args.reports.begin(&control)?;
    let _watch = signals::stop(&control, failed::interrupted)?;

    let rejects = job.safety.rejects.clone();
    let is_held = job.safety.atomic || job.safety.exchange.is_some();
    let id = job.safety.load_id.clone().filter(|_| job.keeps_ledger() && !is_held);
    let load = Load::new(job, target);
    let summary = run_with_progress(&control, quiet, id.as_deref(), || load.run(&control))?;

    match quiet {
        false => say(&summary::text(&summary, rejects.as_ref())),
        true if args.reports.is_on_stderr() => {}
        true => warn(&summary.warnings),
    }
    if json {
        print_json(&summary)?;
    }
    let rejects = summary.rows_rejected > 0 && !summary.already_finished;
    Ok(if rejects { exit::REJECTED } else { exit::DONE })
}

/// Prints warnings that the progress display has not shown.
pub(crate) fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| say(&format!("warning: {}", on_one_line(warning))));
}

/// Runs `work` and shows its progress, unless `quiet`. `id` is the id of a load that can be resumed.
pub(crate) fn run_with_progress<T>(
    control: &Control,
    quiet: bool,
    id: Option<&str>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = (!quiet).then(|| scope.spawn(|| progress::watch(control, &done, id)));
        let ending = Ending { done: &done, watcher: watcher.as_ref().map(|it| it.thread()) };
        let outcome = work();
        drop(ending);
        outcome
    })
}

impl LoadArgs {
    /// Whether the load was given a name.
    pub(crate) fn is_named(&self) -> bool {
        self.ledger.load_id.is_some()
    }

    /// Whether the outcome is printed as JSON.
    pub(crate) fn json(&self) -> bool {
        self.output.json
    }

    /// Whether standard error is kept free of progress and summary.
    fn is_quiet(&self) -> bool {
        self.output.quiet || self.reports.is_on_stderr()
    }

    /// Builds the job from the arguments.
    pub(crate) fn job(&self) -> Result<Job> {
        self.partitions.check()?;
        self.safety.check()?;
        self.ledger.check()?;
        let table = Given("from-table", self.input.from_table.is_some());
        table.excludes(&Given("once", self.ledger.once))?;
        let changes = self.changes.options()?;
        self.reports.check(&[])?;
        let job = self.input.job(&self.reading, |job| {
            job.changes = changes;
            self.speed.set(job);
            job.target.create_partitions = self.partitions.create_partitions;
            job.target.step.clone_from(&self.partitions.step);
            job.target.max_new_partitions =
                self.partitions.max_new_partitions.unwrap_or(DEFAULT_MAX_NEW_PARTITIONS);
            self.safety.set(&mut job.safety);
            self.ledger.set(&mut job.safety);
        })?;
        self.reports.check(&job.input.files)?;
        Ok(job)
    }
}

impl PartitionArgs {
    /// Fails if options contradict each other.
    fn check(&self) -> Result<()> {
        let creates = Given("create-partitions", self.create_partitions);
        Given("step", self.step.is_some()).requires(&creates)?;
        Given("max-new-partitions", self.max_new_partitions.is_some()).requires(&creates)
    }
}

impl SafetyArgs {
    /// Fails if options contradict each other.
    fn check(&self) -> Result<()> {
        let exchange = Given("exchange", self.exchange.is_some());
        let reject_file = Given("reject-file", self.reject_file.is_some());
        let max_rejects = Given("max-rejects", self.max_rejects.is_some());
        Given("swap-patience", self.swap_patience.is_some()).requires(&exchange)?;
        Given("atomic", self.atomic).excludes(&exchange)?;
        let reject_table = Given("reject-table", self.reject_table.is_some());
        for rejects in [&reject_file, &reject_table] {
            rejects.excludes(&exchange)?;
            rejects.requires(&max_rejects)?;
        }
        reject_file.excludes(&reject_table)?;
        let is_either = self.reject_file.is_some() || self.reject_table.is_some();
        max_rejects.requires(&Given("reject-file", is_either))
    }

    fn set(&self, safety: &mut SafetyOptions) {
        safety.exchange = self.exchange.map(Into::into);
        safety.atomic = self.atomic;
        safety.swap_patience =
            self.swap_patience.map_or(DEFAULT_SWAP_PATIENCE, Duration::from_secs);
        let place = self.reject_file.clone().map(RejectPlace::File);
        let place = place.or_else(|| self.reject_table.clone().map(RejectPlace::Table));
        safety.rejects = place.zip(self.max_rejects).map(|(place, max)| Rejects { place, max });
        safety.lock_timeout = self.lock_timeout;
        safety.max_lag = self.max_lag;
    }
}

impl LoadLedgerArgs {
    /// Fails if options contradict each other.
    fn check(&self) -> Result<()> {
        let load_id = Given("load-id", self.load_id.is_some());
        Given("end-other", self.end_other).requires(&load_id)?;
        let participant = Given("participant", self.participant.is_some());
        participant.requires(&load_id)?;
        Given("participants", self.participants.is_some()).requires(&participant)?;
        participant.excludes(&Given("once", self.once))?;
        let no_ledger = Given("no-ledger", self.no_ledger);
        no_ledger.excludes(&load_id)?;
        no_ledger.excludes(&Given("ledger", self.ledger.is_some()))?;
        no_ledger.excludes(&Given("once", self.once))
    }

    fn set(&self, safety: &mut SafetyOptions) {
        safety.load_id = Some(self.load_id.clone().unwrap_or_else(fresh_id));
        let share = |participant: &String| ShareOptions {
            participant: participant.clone(),
            of: self.participants,
        };
        safety.share = self.participant.as_ref().map(share);
        safety.atomic |= safety.share.is_some();
        safety.once = self.once;
        safety.end_other = self.end_other;
        safety.ledger = (!self.no_ledger)
            .then(|| self.ledger.clone().unwrap_or_else(|| DEFAULT_LEDGER.to_owned()));
    }
}

/// Reads the maximum number of rejected rows.
fn max_rejects<'de, D: Deserializer<'de>>(from: D) -> Result<Option<MaxRejects>, D::Error> {
    parsed(from, parse_max_rejects)
}

/// Reads a time to wait for a lock.
fn lock_timeout<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    parsed(from, parse_lock_timeout)
}

/// Reads a maximum lag.
fn max_lag<'de, D: Deserializer<'de>>(from: D) -> Result<Option<MaxLag>, D::Error> {
    parsed(from, parse_max_lag)
}

/// Parses a number of rows, or a percentage.
fn parse_max_rejects(text: &str) -> std::result::Result<MaxRejects, String> {
    match text.strip_suffix('%') {
        None => text
            .parse()
            .map(MaxRejects::Rows)
            .map_err(|_| "must be a number of rows or a percentage: 100, 1%".to_owned()),
        Some(percent) => match percent.trim().parse() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(MaxRejects::Percent(percent)),
            _ => Err("a percentage must be between 0 and 100".to_owned()),
        },
    }
}

/// Parses a time to wait for a lock. 0 is refused: it could mean not to wait, but PostgreSQL's `lock_timeout`
/// 0 means to wait forever.
fn parse_lock_timeout(text: &str) -> std::result::Result<Duration, String> {
    match parse_time(text)? {
        Duration::ZERO => Err("omit the option to wait forever".to_owned()),
        time => Ok(time),
    }
}

/// Parses a size of WAL, or a time. The unit is required, because it distinguishes the two.
fn parse_max_lag(text: &str) -> std::result::Result<MaxLag, String> {
    let both = || "must be a size or a time, with its unit: 1GB, 30s".to_owned();
    if text.ends_with(|end: char| end.is_ascii_digit()) {
        return Err(both());
    }
    let size = parse_size(text).map(|size| MaxLag::Bytes(size as u64));
    size.or_else(|_| parse_time(text).map(MaxLag::Time)).map_err(|_| both())
}

/// A guard that ends the progress display when it is dropped, even by a panic.
struct Ending<'a> {
    done: &'a AtomicBool,
    watcher: Option<&'a Thread>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.done.store(true, SeqCst);
        self.watcher.iter().for_each(|watcher| watcher.unpark());
    }
}
