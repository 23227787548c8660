//! `pgsluice load`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, Thread};
use std::time::Duration;

use clap::Args;
use pgsluice::config::{DEFAULT_SWAP_PATIENCE, Load};
use pgsluice::control::Control;
use pgsluice::{Error, Kind, Result, load};

use crate::options::InputArgs;
use crate::output::{print, say};
use crate::{progress, signals, summary};

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
        ..args.input.config()?
    };
    let target = args.input.target.resolve(args.quiet)?;
    let control = Arc::new(Control::default());
    let _watch = signals::stop(&control, load::interrupted)?;

    let done = AtomicBool::new(false);
    let summary = thread::scope(|scope| {
        let watcher = (!args.quiet).then(|| scope.spawn(|| progress::watch(&control, &done)));
        let ending = Ending { done: &done, watcher: watcher.as_ref().map(|it| it.thread()) };
        let summary = load::load(&config, &target, &control);
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
