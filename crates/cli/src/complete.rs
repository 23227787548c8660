//! Completion in shells: a shell's script asks the program itself for completions, so that names of tables
//! can be completed as well.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use clap::Args;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use pgsluice::error::quote_shell;
use pgsluice::inspect::tables;
use pgsluice::pg::conninfo::{Login, Target};
use pgsluice::{Error, Kind, Result};
use pgsluice_embedded::{Embedded, Options};

use crate::output::print;
use crate::remedy::value;

/// Environment variable with which a shell's script requests completions.
const VARIABLE: &str = "PGSLUICE_COMPLETE";
/// Time for the server to list its tables. The user waits for it at the prompt.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete in
    shell: Shell,
}

/// Runs `pgsluice completions`.
pub(crate) fn script(args: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let written = shells.completer(&args.shell.to_string()).map(|shell| {
        shell.write_registration(VARIABLE, "pgsluice", "pgsluice", "pgsluice", &mut script)
    });
    match written {
        Some(Ok(())) => print(String::from_utf8_lossy(&script).trim()),
        _ => Err(Error::new(Kind::Usage, format!("no completions for {}", args.shell))),
    }
}

/// Answers a shell's script if it requests completions. Returns whether it did.
///
/// # Errors
///
/// Fails if the variable does not name a shell, or if standard output cannot be written.
pub(crate) fn answer(
    args: &[OsString],
    command: fn() -> clap::Command,
) -> clap::error::Result<bool> {
    let environment = CompleteEnv::with_factory(command).var(VARIABLE);
    let directory = std::env::current_dir().ok();
    environment.try_complete(args.iter().cloned(), directory.as_deref())
}

/// Completes the name of a table from the server that the other words specify. Neither asks for a password
/// nor starts a server.
pub(crate) fn table() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let words: Vec<String> =
            std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let current = current.to_string_lossy();
        let names = names(&words).unwrap_or_default();
        let names = names.iter().map(|name| quote_shell(name));
        names.filter(|name| name.starts_with(&*current)).map(CompletionCandidate::new).collect()
    })
}

fn names(words: &[String]) -> Option<Vec<String>> {
    let option = |short, long| value(words, short, long).map(|(_, value)| value);
    let login = Login {
        host: option("-h", "--host"),
        port: option("-p", "--port"),
        user: option("-U", "--username"),
        password: None,
    };
    let named = Target::resolve(option("-d", "--dbname").as_deref(), &login, |_| false).ok()?;
    let target = match named {
        Some(target) => target,
        None => {
            let url = Embedded::open(Options::default()).ok()?.url().ok()??;
            Target::from_url(&url.with_password()).ok()?
        }
    };
    pgsluice::runtime().ok()?.block_on(tables::list(&target, PATIENCE)).ok()
}
