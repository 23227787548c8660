//! `pgsluice load`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, Thread};
use std::time::Duration;

use clap::Args;
use pgsluice::config::{DEFAULT_SWAP_PATIENCE, Load};
use pgsluice::control::Control;
use pgsluice::report::fresh_id;
use pgsluice::{Error, Kind, Result};

use crate::options::InputArgs;
use crate::output::{print, say};
use crate::{exit, progress, summary};

#[derive(Args, Debug)]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    input: InputArgs,
    /// First make the range and list partitions that rows need and the table lacks
    #[arg(long)]
    create_partitions: bool,
    /// The width of new ranges: month, day, "7 days", 1000 [default: as their siblings have it]
    #[arg(long, value_name = "STEP", requires = "create_partitions")]
    step: Option<String>,
    /// Build leaves that are empty beside the table, indexes last, and swap them in
    #[arg(long)]
    exchange: bool,
    /// How long the swap is tried while others hold locks on the table [default: 60]
    #[arg(long, value_name = "SECONDS", requires = "exchange")]
    swap_patience: Option<u64>,
    /// Name the load; if the ledger has one of this name, load what of it is missing
    #[arg(long, value_name = "ID")]
    load_id: Option<String>,
    /// Keep no ledger in the target: the load cannot be resumed
    #[arg(long, conflicts_with = "load_id")]
    no_ledger: bool,
    /// Print the summary as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Show neither progress nor summary
    #[arg(short, long)]
    quiet: bool,
}

/// Carries out `pgsluice load`.
pub(crate) fn run(args: &LoadArgs) -> Result<()> {
    let config = Load {
        exchange: args.exchange,
        swap_patience: args.swap_patience.map_or(DEFAULT_SWAP_PATIENCE, Duration::from_secs),
        create_partitions: args.create_partitions,
        step: args.step.clone(),
        load_id: Some(args.load_id.clone().unwrap_or_else(fresh_id)),
        ledger: !args.no_ledger,
        ..args.input.config()?
    };
    let target = args.input.target.resolve(args.quiet)?;
    if !args.quiet {
        say_id(&config);
    }
    let control = Arc::new(Control::default());
    stop_on_signal(&control)?;

    let done = AtomicBool::new(false);
    let summary = thread::scope(|scope| {
        let watcher = (!args.quiet).then(|| scope.spawn(|| progress::watch(&control, &done)));
        let ending = Ending { done: &done, watcher: watcher.as_ref().map(|it| it.thread()) };
        let summary = pgsluice::load::load(&config, &target, &control);
        drop(ending);
        summary
    })?;

    if !args.quiet {
        say(&summary::text(&summary));
    }
    if args.json {
        let json = serde_json::to_string(&summary).map_err(|error| {
            Error::new(Kind::Input, format!("could not write the summary: {error}"))
        })?;
        print(&json)?;
    }
    Ok(())
}

/// Says by which name the load can be resumed, as long as there is somebody to read it.
fn say_id(config: &Load) {
    match &config.load_id {
        Some(id) if config.keeps_ledger() => {
            say(&format!("load {id}: if it is stopped, --load-id {id} resumes it"));
        }
        _ if !config.ledger => {
            say("no ledger is kept, as asked: if the load is stopped, it cannot be resumed");
        }
        _ => {}
    }
}

/// Ends the watching of a load when it is dropped, even by a panic.
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

/// The first Ctrl-C ends the load in order, the second one at once.
fn stop_on_signal(control: &Arc<Control>) -> Result<()> {
    let control = Arc::clone(control);
    let asked = AtomicBool::new(false);
    let handler = move || {
        if asked.swap(true, SeqCst) {
            std::process::exit(exit::INTERRUPTED.into());
        }
        control.interrupt();
    };
    ctrlc::set_handler(handler)
        .map_err(|error| Error::new(Kind::Input, format!("could not watch for Ctrl-C: {error}")))
}
