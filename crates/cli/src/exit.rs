//! The exit statuses.

use pgsluice::{Error, Kind};

/// Success.
pub(crate) const DONE: u8 = 0;
/// A failure.
pub(crate) const FAILED: u8 = 1;
/// A usage error.
const USAGE: u8 = 2;
/// Success, except that some rows were rejected.
pub(crate) const REJECTED: u8 = 3;
/// Stopped by Ctrl-C or SIGTERM: 128 plus the number of SIGINT, as in shells.
pub(crate) const INTERRUPTED: u8 = 130;

/// Returns the status for an error.
pub(crate) fn from_error(error: &Error) -> u8 {
    match error.kind() {
        Kind::Usage => USAGE,
        Kind::Interrupted => INTERRUPTED,
        Kind::Input | Kind::Data | Kind::Connection | Kind::Server | Kind::Internal => FAILED,
    }
}

/// Returns the status for an error of clap. `--help` and `--version` are not failures.
pub(crate) fn from_clap(error: &clap::Error) -> u8 {
    if error.use_stderr() { USAGE } else { DONE }
}
