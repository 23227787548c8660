//! The ledger among others: who else may have put something on it, what others may hold, what is left of a
//! load, and publications that include it.

mod durable;
mod kept;
mod published;
mod strangers;
mod trusted;

use std::process::Stdio;

use crate::harness::{Bench, Ended, Running, Server, program, rows};

/// `pgsluice ledger`.
fn ledger(url: &str, arguments: &[&str]) -> Ended {
    let mut command = program();
    command.arg("ledger").args(arguments).args(["-d", url]);
    Running::start(command.stdin(Stdio::null())).ended()
}

/// A table, and files of few and of many rows for it.
fn table(server: Server) -> Bench {
    let bench = Bench::with_table(server);
    bench.file("few.csv", rows(10, 10));
    bench.file("rows.csv", rows(2000, 10));
    bench
}
