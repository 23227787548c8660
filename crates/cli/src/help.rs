//! The text that `--help` shows below the options: examples for each command, and the exit statuses. `-h` is
//! the host, as in psql, so help is `--help` and `-?`.

use clap::{Arg, ArgAction, Command, CommandFactory};

/// Each command by its path, and the text below its options.
const AFTER: [(&[&str], &str); 20] = [
    (
        &[],
        "Examples:
  pgsluice plan orders.csv --header -t orders -d shop
  pgsluice load orders.csv --header -t orders -d shop
  pgsluice verify orders.csv --header -t orders -d shop

Exit status: 0 finished, 1 failed, 2 usage error, 3 finished, but some rows were rejected,
130 stopped.",
    ),
    (
        &["load"],
        "Examples:
  pgsluice load orders.csv --header -t orders -d shop
  pgsluice load 'orders-*.csv' --header=match -t sales.orders -h db1 -U loader -d shop
  pgsluice load 'days/*.csv.gz' --header=map -t orders -d shop
  unzip -p orders.zip | pgsluice load - --format csv --header -t orders -d shop
  pgsluice load orders.csv --header -t orders -d shop --reject-file bad.csv --max-rejects 100

Exit status: 0 all rows are committed, 1 failed, 2 usage error, 3 finished, but some rows were
rejected, 130 stopped. After 1 and 130 the message says which rows are committed, and what to do
next.",
    ),
    (
        &["plan"],
        "Examples:
  pgsluice plan orders.csv --header -t orders -d shop
  pgsluice plan orders.csv --header -t orders -d shop --full

Exit status: 0 the sample can be loaded, 1 it cannot, 2 usage error, 130 stopped.",
    ),
    (
        &["verify"],
        "Examples:
  pgsluice verify orders.csv --header -t orders -d shop
  pgsluice verify january.csv --header -t orders -d shop --subset

Exit status: 0 equal, 1 different or failed, 2 usage error, 130 stopped.",
    ),
    (
        &["partition"],
        "Examples:
  pgsluice partition events --by 'RANGE (placed)' --step month -d shop --plan
  pgsluice partition events --by 'RANGE (placed)' --step month -d shop
  pgsluice partition events --by 'HASH (id)' --leaves 16 --offline -d shop

Exit status: 0 finished, 1 failed, 2 usage error, 130 stopped.",
    ),
    (
        &["partition", "status"],
        "Example:\n  pgsluice partition status -d shop\n\nExit status: 0 finished, 1 failed, 2 usage error.",
    ),
    (
        &["partition", "swap"],
        "Example:\n  pgsluice partition swap events -d shop\n\nExit status: 0 finished, 1 failed, 2 usage error, 130 stopped.",
    ),
    (
        &["partition", "abort"],
        "Example:\n  pgsluice partition abort events -d shop\n\nExit status: 0 finished, 1 failed, 2 usage error.",
    ),
    (
        &["tree"],
        "Example:
  pgsluice tree -t orders -d shop --depth 1

Exit status: 0 finished, 1 failed, 2 usage error, 130 stopped.",
    ),
    (&["ledger"], "Example:\n  pgsluice ledger list -d shop"),
    (
        &["ledger", "list"],
        "Example:\n  pgsluice ledger list -t orders -d shop\n\nExit status: 0 finished, 1 failed, 2 usage error.",
    ),
    (
        &["ledger", "show"],
        "Example:\n  pgsluice ledger show 18ea69b1a10d47a3 -d shop\n\nExit status: 0 finished, 1 failed, 2 usage error.",
    ),
    (
        &["ledger", "forget"],
        "Examples:
  pgsluice ledger forget 18ea69b1a10d47a3 -d shop
  pgsluice ledger forget --all --older-than 30d -d shop

Exit status: 0 finished, 1 failed, 2 usage error.",
    ),
    (&["server"], "Example:\n  psql \"$(pgsluice server start)\""),
    (
        &["server", "start"],
        "Example:\n  pgsluice server start --set shared_buffers=1GB\n\nExit status: 0 it runs, 1 failed, 2 usage error.",
    ),
    (
        &["server", "stop"],
        "Example:\n  pgsluice server stop\n\nExit status: 0 it does not run, 1 failed, 2 usage error.",
    ),
    (
        &["server", "status"],
        "Example:\n  pgsluice server status\n\nExit status: 0 it runs, 1 it does not, 2 usage error.",
    ),
    (
        &["server", "url"],
        "Example:\n  psql \"$(pgsluice server url)\"\n\nExit status: 0 it runs, 1 it does not, 2 usage error.",
    ),
    (
        &["completions"],
        "Example:\n  source <(pgsluice completions bash)\n\nExit status: 0 finished, 1 failed, 2 usage error.",
    ),
    (
        &["man"],
        "Example:\n  pgsluice man ~/.local/share/man/man1\n\nExit status: 0 finished, 1 failed, 2 usage error.",
    ),
];

/// Options that most uses of `load` need.
const COMMON_OPTIONS: [&str; 16] = [
    "table",
    "format",
    "header",
    "delimiter",
    "null",
    "dbname",
    "host",
    "port",
    "username",
    "on-conflict",
    "key",
    "create-partitions",
    "reject-file",
    "max-rejects",
    "load-id",
    "jobs",
];

/// Returns the command line of `P` with the additional help.
pub(crate) fn command<P: CommandFactory>() -> Command {
    let command = AFTER.iter().fold(P::command(), |command, (path, text)| at(command, path, text));
    with_help(command)
}

fn at(command: Command, path: &[&str], text: &'static str) -> Command {
    match path {
        [] => command.after_help(text),
        // `mut_subcommand` would move it after the others.
        [first, rest @ ..] => command.mut_subcommands(|inner| match inner.get_name() == *first {
            true => at(inner, rest, text),
            false => inner,
        }),
    }
}

/// Hides the options of `load` that few uses need, for `-?`.
pub(crate) fn brief(command: Command) -> Command {
    let is_shown = |arg: &Arg| {
        arg.is_positional()
            || arg.get_long().is_some_and(|long| COMMON_OPTIONS.contains(&long) || long == "help")
    };
    command.mut_subcommand("load", |load| {
        load.mut_args(|arg| {
            let hidden = !is_shown(&arg) || arg.is_hide_set();
            arg.hide(hidden)
        })
    })
}

/// Replaces clap's `-h` with `-?` in all commands.
fn with_help(command: Command) -> Command {
    let help = Arg::new("help")
        .short('?')
        .long("help")
        .action(ArgAction::HelpShort)
        .help("Print help; load -? lists only the options that most loads need")
        .help_heading("Help");
    // An option may be repeated, so that a hint can append one to the same command.
    command.args_override_self(true).disable_help_flag(true).arg(help).mut_subcommands(with_help)
}
