//! Options of other programs: suggests the option of pgsluice that does the same, instead of the one with the
//! most similar spelling.

use clap::builder::UnknownArgumentValueParser;
use clap::{Arg, ArgAction, Command};

/// Options of other programs, and the advice for each.
const OPTIONS: [(&[&str], &str); 13] = [
    (&["file", "input"], "name the files without an option: pgsluice load FILE... -t TABLE"),
    (&["upsert", "merge"], "to update rows that exist, use '--on-conflict update'"),
    (
        &["do-nothing", "ignore-duplicates", "on-conflict-do-nothing", "skip-duplicates"],
        "to skip rows that exist, use '--on-conflict skip'",
    ),
    (
        &["limit", "rows", "nrows"],
        "to load the first rows only: head -n N FILE | pgsluice load - ...",
    ),
    (&["truncate", "replace"], "to empty the table first: psql -c 'TRUNCATE TABLE'"),
    (
        &["skip-errors", "ignore-errors", "on-error", "max-errors"],
        "to keep bad rows in a file, use '--reject-file FILE --max-rejects N'",
    ),
    (
        &["skip", "skip-header", "skip-lines", "skip-rows"],
        "to skip the first N lines, use '--header=N'",
    ),
    (
        &["batch-size", "chunk-size", "batchsize", "chunksize"],
        "pgsluice chooses the size of its transactions; '--memory' limits the rows that it buffers",
    ),
    (&["workers", "parallel"], "for N connections, use '-j N'"),
    (
        &["database", "db", "url", "uri", "dsn", "connection"],
        "to connect, use '-d DATABASE' or '-d postgresql://USER@HOST/DATABASE'",
    ),
    (&["separator", "sep"], "for another delimiter, use '--delimiter CHAR'"),
    (&["dry-run"], "to check a load without loading, use 'pgsluice plan'"),
    (&["schema"], "name the schema with the table: '-t SCHEMA.TABLE'"),
];

/// Adds the options to `load`. Each of them is refused with its advice.
pub(crate) fn add(command: Command) -> Command {
    command.mut_subcommand("load", |load| {
        let options =
            OPTIONS.iter().flat_map(|(names, tip)| names.iter().map(move |name| (name, tip)));
        let load = options.fold(load, |load, (name, tip)| load.arg(unknown(name, tip).long(name)));
        let (_, tip) = OPTIONS[0];
        load.arg(unknown("f", tip).short('f'))
    })
}

fn unknown(id: &'static str, tip: &'static str) -> Arg {
    let parser = UnknownArgumentValueParser::suggest(tip);
    Arg::new(id).action(ArgAction::SetTrue).value_parser(parser).hide(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_other_programs_lead_to_ours() {
        let explain = |option: &str| {
            let line = ["pgsluice", "load", "a.csv", "-t", "t", option, "5"];
            let error = add(crate::command()).try_get_matches_from(line).expect_err("unknown");
            error.to_string()
        };
        for (names, tip) in OPTIONS {
            for name in names {
                let message = explain(&format!("--{name}"));
                assert!(
                    message.contains(&format!("'--{name}'")) && message.contains(tip),
                    "{message}"
                );
                assert!(!message.contains("similar"), "{message}");
            }
        }
        assert!(explain("-f").contains("without an option"));
    }

    #[test]
    fn none_of_them_is_one_of_ours() {
        let command = crate::command();
        let load = command.find_subcommand("load").expect("the command");
        let ours: Vec<&str> = load.get_arguments().filter_map(Arg::get_long).collect();
        let mut others = OPTIONS.iter().flat_map(|(names, _)| names.iter());
        assert_eq!(others.find(|name| ours.contains(name)), None);
        let named = |tip: &&str| {
            tip.split(['\'', ' ']).find(|word| word.starts_with("--")).map(str::to_owned)
        };
        let mut named = OPTIONS.iter().filter_map(|(_, tip)| named(tip));
        assert!(named.all(|name| ours.contains(&name[2..].split('=').next().unwrap_or_default())));
    }
}
