//! The command line: `run(args)` turns arguments into calls of the `pgsluice` crate.

use std::ffi::OsString;
use std::io::Write;

/// Runs the command line and returns its exit status; the first argument is the program's name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    match args.into_iter().nth(1) {
        Some(arg) if arg == "--version" => {
            let version = env!("CARGO_PKG_VERSION");
            u8::from(writeln!(std::io::stdout(), "pgsluice {version}").is_err())
        }
        _ => 2,
    }
}
