//! `pgsluice man`: man pages from clap's description of the command line.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::generate_to;
use pgsluice::{Error, Kind, Result};

#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Directory to write to; created if missing
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Runs `pgsluice man`.
pub(crate) fn man(args: &ManArgs, command: Command) -> Result<()> {
    let directory = &args.directory;
    let written = fs::create_dir_all(directory).and_then(|()| generate_to(command, directory));
    written.map_err(|error| {
        let message = format!("could not write man pages to \"{}\": {error}", directory.display());
        Error::new(Kind::Input, message)
    })
}
