//! The ledger and other users of the server: objects that others have added to it, locks that they hold, the
//! records of a load, and publications that include it.

mod durable;
mod published;
mod records;
mod strangers;
mod trusted;

use std::process::Stdio;

use crate::harness::{Bench, Ended, Running, Server, program, rows};

/// Runs `pgsluice ledger`.
fn ledger(url: &str, arguments: &[&str]) -> Ended {
    let mut command = program();
    command.arg("ledger").args(arguments).args(["-d", url]);
    Running::start(command.stdin(Stdio::null())).ended()
}

/// Opens a database with a table, and files of few and of many rows for it.
fn table(server: Server) -> Bench {
    let bench = Bench::with_table(server);
    bench.file("few.csv", rows(10, 10));
    bench.file("rows.csv", rows(2000, 10));
    bench
}
