//! The exit statuses, all of them.

use pgsluice::{Error, Kind};

/// All is done.
pub(crate) const DONE: u8 = 0;
/// Nothing more can be done.
pub(crate) const FAILED: u8 = 1;
/// A usage error.
const USAGE: u8 = 2;
/// All is done but for the rows that were rejected.
pub(crate) const REJECTED: u8 = 3;
/// Stopped by Ctrl-C or SIGTERM: 128 and the number of SIGINT, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// The status for an error.
pub(crate) fn of(error: &Error) -> u8 {
    match error.kind() {
        Kind::Usage => USAGE,
        Kind::Interrupted => INTERRUPTED,
        Kind::Input | Kind::Data | Kind::Connection | Kind::Server | Kind::Internal => FAILED,
    }
}

/// The status for what clap refuses; `--help` and `--version` are no refusals.
pub(crate) fn of_usage(error: &clap::Error) -> u8 {
    if error.use_stderr() { USAGE } else { DONE }
}
