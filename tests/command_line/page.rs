//! docs/manual/command-line.md: each command with its usage and a table of its arguments.

use clap::{Arg, Command};

use crate::markdown::{code, text};

const OPENING: &str = "\
# Command line

`pgsluice COMMAND --help` says the same. `make command-line` writes this page from the program, and `make test` fails where they differ.

`pgsluice completions SHELL` writes the completions of a shell. After `-t`, it completes the tables of the server that the command names. `pgsluice man DIR` writes man pages:

    $ source <(pgsluice completions bash)
    $ pgsluice man ~/.local/share/man/man1
";

pub(super) fn page(mut command: Command) -> String {
    command.build();
    let mut page = OPENING.to_owned();
    command.get_subcommands().for_each(|each| add(&mut page, each, 2));
    page
}

fn add(page: &mut String, command: &Command, level: usize) {
    if command.get_name() == "help" {
        return;
    }
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let heading = "#".repeat(level);
    *page += &format!("\n{heading} {name}\n\n{}.\n\n    {usage}\n", about.trim_end_matches('.'));
    let taken: Vec<&Arg> = command.get_arguments().filter(|each| is_told(each)).collect();
    if !taken.is_empty() {
        *page += "\n| argument or option | meaning |\n|---|---|\n";
    }
    taken.into_iter().for_each(|each| *page += &row(each));
    command.get_subcommands().for_each(|each| add(page, each, level + 1));
}

fn is_told(argument: &Arg) -> bool {
    !argument.is_hide_set() && argument.get_id() != "help"
}

fn row(argument: &Arg) -> String {
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let mut meaning = text(help.trim_end_matches('.'));
    if argument.get_action().takes_values() {
        for default in argument.get_default_values() {
            meaning += &format!(" [default: {}]", default.display());
        }
        let values = argument.get_possible_values();
        let values: Vec<String> =
            values.iter().map(|each| format!("`{}`", each.get_name())).collect();
        if !values.is_empty() {
            meaning += &format!("; one of {}", values.join(", "));
        }
    }
    format!("| {} | {meaning} |\n", code(&name(argument)))
}

fn name(argument: &Arg) -> String {
    match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}{}", value(argument)),
        (None, Some(long)) => format!("--{long}{}", value(argument)),
        _ => argument.to_string(),
    }
}

/// Returns the placeholder of an option's value.
fn value(argument: &Arg) -> String {
    if !argument.get_action().takes_values() {
        return String::new();
    }
    let name = argument.get_value_names().unwrap_or_default().join(" ");
    let is_optional = argument.get_num_args().is_some_and(|range| range.min_values() == 0);
    if is_optional { format!("[={name}]") } else { format!(" {name}") }
}
