//! The `pgsluice` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    pgsluice_cli::run(std::env::args_os()).into()
}
