//! The ledger among others: who else may have put something on it, what others may hold, what is left of a
//! load, and ledgers of the format before.

mod durable;
mod kept;
mod strangers;
mod trusted;
mod upgraded;

use std::process::Stdio;

use crate::harness::{Ended, Running, program};

/// `pgsluice ledger`.
fn ledger(url: &str, arguments: &[&str]) -> Ended {
    let mut command = program();
    command.arg("ledger").args(arguments).args(["-d", url]);
    Running::start(command.stdin(Stdio::null())).ended()
}
