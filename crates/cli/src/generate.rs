//! `pgsluice completions` and `pgsluice man`: what clap knows of the command line, for shells and for man.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::{Shell, generate};
use clap_mangen::generate_to;
use pgsluice::{Error, Kind, Result};

use crate::output::print;

#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete in
    shell: Shell,
}

#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Directory to write to; created if missing
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Carries out `pgsluice completions`.
pub(crate) fn completions(args: &CompletionsArgs, mut command: Command) -> Result<()> {
    let mut script = Vec::new();
    generate(args.shell, &mut command, "pgsluice", &mut script);
    print(String::from_utf8_lossy(&script).trim_end())
}

/// Carries out `pgsluice man`.
pub(crate) fn man(args: &ManArgs, command: Command) -> Result<()> {
    let directory = &args.directory;
    let written = fs::create_dir_all(directory).and_then(|()| generate_to(command, directory));
    written.map_err(|error| {
        let message = format!("could not write man pages to \"{}\": {error}", directory.display());
        Error::new(Kind::Input, message)
    })
}
