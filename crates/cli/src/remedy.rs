//! Remedies as commands: changes the command that has failed, so that the user can copy it.

use std::ffi::OsString;

use clap::{Arg, ArgAction};
use pgsluice::error::{CommandChange, Remedy, Setting, TABLE, is_stream, option, quote_shell};
use pgsluice::source::{FileFormat, strip_compression};

use crate::conceal::without_password;

/// Options that psql has as well.
const CONNECTION: [(&str, &str); 4] =
    [("-d", "--dbname"), ("-h", "--host"), ("-p", "--port"), ("-U", "--username")];

/// Options for text formats.
const OF_TEXT: [&str; 10] = [
    "--header",
    "--delimiter",
    "--null",
    "--quote",
    "--escape",
    "--default",
    "--force-null",
    "--force-not-null",
    "--columns",
    "--encoding",
];

/// The option that creates partitions.
const CREATE: &str = "create-partitions";

/// The option for the schema of the ledger.
const LEDGER: &str = "--ledger";

/// Returns the whole command. Returns `None` if the command would not work: the input to be piped was found
/// by a pattern or in a directory, or the connection string has session options that override `PGOPTIONS`.
pub(crate) fn command(args: &[OsString], remedy: &Remedy) -> Option<String> {
    let mut words: Vec<String> =
        args.iter().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let mut front = String::new();
    match &remedy.how {
        CommandChange::Options(options) => {
            add(&mut words, options);
            let creates = options.iter().any(|option| option.name == CREATE);
            if !creates && !takes_all(&words, options) {
                return None;
            }
            if let (Some(command), true) = (words.first_mut(), creates) {
                // No other command creates them.
                "load".clone_into(command);
            }
        }
        CommandChange::Filtered { front: programs, source, options } => {
            replace_input(&mut words, source)?;
            front = format!("{} | ", programs.replace(TABLE, &bare_table(&words)));
            read_as(&mut words, options);
            add_format(&mut words, source);
        }
        CommandChange::Psql { front, arguments } => return Some(psql(&words, front, arguments)),
        CommandChange::Ledger(arguments) => return Some(ledger(&words, arguments)),
        CommandChange::Session(name, value) => {
            if words.iter().any(|word| word.contains("options=")) {
                return None;
            }
            let given = std::env::var("PGOPTIONS").unwrap_or_default();
            let options = format!("{given} -c {name}={value}");
            front = format!("PGOPTIONS={} ", quote_shell(options.trim_start()));
        }
        CommandChange::Variable(name, value, options) => {
            if takes_all(&words, options) {
                add(&mut words, options);
            }
            front = format!("{name}={} ", quote_shell(value));
        }
    }
    Some(format!("{front}pgsluice {}", shell(&words)))
}

/// Quotes the words for a shell, without passwords.
fn shell(words: &[String]) -> String {
    let words: Vec<String> =
        words.iter().map(|word| quote_shell(&without_password(word))).collect();
    words.join(" ")
}

/// Whether the command, which is the first word, has all of these options.
fn takes_all(words: &[String], options: &[Setting]) -> bool {
    let commands = crate::command();
    let command = words.first().and_then(|name| commands.find_subcommand(name));
    let takes = |option: &Setting| {
        let mut known = command.into_iter().flat_map(|command| command.get_arguments());
        known.any(|known| known.get_long() == Some(&option.name))
    };
    options.iter().all(takes)
}

/// Adds options, and removes earlier ones with the same names. Only files may follow a `--`.
fn add(words: &mut Vec<String>, options: &[Setting]) {
    options.iter().for_each(|option| remove(words, &format!("--{}", option.name)));
    // The header names the columns, so a list of them would be wrong.
    if options.contains(&option("header").with("map")) {
        remove(words, "--columns");
    }
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.splice(end..end, options.iter().flat_map(Setting::words));
}

/// Replaces an input with standard input. Returns `None` if the input is not a separate argument.
fn replace_input(words: &mut [String], source: &str) -> Option<()> {
    let source = if is_stream(source) { "-" } else { source };
    let is_input = |at: &usize| words[*at] == source && !takes_value(&words[at - 1]);
    let at = (1..words.len()).find(is_input)?;
    "-".clone_into(&mut words[at]);
    Some(())
}

/// Adds the format from the name of an input, unless one is given.
fn add_format(words: &mut Vec<String>, source: &str) {
    let has_format = words.iter().any(|word| word.split('=').next() == Some("--format"));
    if let Some(format) = format_named(source).filter(|_| !has_format) {
        add(words, &[option("format").with(format)]);
    }
}

/// Adds options about the input, and removes others that contradict them.
fn read_as(words: &mut Vec<String>, options: &[Setting]) {
    let is_delimited = |format: &String| ["csv", "text"].contains(&format.as_str());
    let mut formats = options.iter().filter(|option| option.name == "format");
    if formats.any(|format| !format.value.as_ref().is_some_and(is_delimited)) {
        OF_TEXT.iter().for_each(|name| remove(words, name));
    }
    add(words, options);
}

/// Returns a psql command with the connection options of this one.
fn psql(words: &[String], front: &str, arguments: &[String]) -> String {
    let table =
        value(words, "-t", "--table").map_or_else(|| "TABLE".to_owned(), |(_, table)| table);
    let arguments = arguments.iter().map(|argument| argument.replace(TABLE, &table));
    let words: Vec<String> = connection(words).chain(arguments).collect();
    format!("{front}psql {}", shell(&words)).trim_end().to_owned()
}

/// Returns a command of `pgsluice ledger` for the ledger of another command.
fn ledger(words: &[String], arguments: &[String]) -> String {
    let schema = value(words, LEDGER, LEDGER);
    let schema = schema.into_iter().flat_map(|(option, value)| [option.to_owned(), value]);
    let words = arguments.iter().cloned().chain(connection(words)).chain(schema);
    format!("pgsluice ledger {}", shell(&words.collect::<Vec<_>>()))
}

/// Returns the connection options.
fn connection(words: &[String]) -> impl Iterator<Item = String> {
    let given = CONNECTION.iter().filter_map(|(short, long)| value(words, short, long));
    given.flat_map(|(option, value)| [option.to_owned(), value])
}

/// Returns the value of an option, with its short name.
pub(crate) fn value<'n>(words: &[String], short: &'n str, long: &str) -> Option<(&'n str, String)> {
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        if word == short || word == long {
            return Some((short, rest.next()?.clone()));
        }
        let joined = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
        let joined =
            joined.or_else(|| word.strip_prefix(short).filter(|_| !word.starts_with("--")));
        if let Some(joined) = joined.filter(|joined| !joined.is_empty()) {
            return Some((short, joined.to_owned()));
        }
    }
    None
}

/// Returns the table's name without its schema, which a table in another database may have too.
fn bare_table(words: &[String]) -> String {
    let table = value(words, "-t", "--table").map(|(_, table)| table).unwrap_or_default();
    let name = table.rsplit('.').next().unwrap_or_default();
    let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if name.is_empty() || !is_plain(name) { "TABLE".to_owned() } else { name.to_owned() }
}

/// Returns the format that the name of an input indicates. Through a pipe the name is lost.
fn format_named(name: &str) -> Option<&'static str> {
    // A URL may have a query after its path.
    let name = if name.contains("://") { name.split(['?', '#']).next()? } else { name };
    match strip_compression(name).to_ascii_lowercase() {
        csv if csv.contains(".csv") => Some("csv"),
        _ => FileFormat::from_name(name).map(FileFormat::name),
    }
}

/// Whether the next word is the value of this one.
fn takes_value(word: &str) -> bool {
    option_of(word)
        .is_some_and(|option| option.get_action().takes_values() && !option.is_require_equals_set())
}

/// Returns the option in a word, if any. If a word contains several short options, the last one counts.
fn option_of(word: &str) -> Option<Arg> {
    let name = word.strip_prefix('-')?;
    let commands = crate::command();
    let mut options = commands.get_subcommands().flat_map(|command| command.get_arguments());
    let is_named = |option: &&Arg| match name.strip_prefix('-') {
        Some(long) => option.get_long() == Some(long),
        None => option.get_short().is_some_and(|short| name.ends_with(short)),
    };
    options.find(is_named).cloned()
}

/// Removes an option and its value, so that another can replace it. Keeps options that may be repeated.
fn remove(words: &mut Vec<String>, name: &str) {
    let Some(found) = option_of(name) else { return };
    if matches!(found.get_action(), ArgAction::Append) {
        return;
    }
    let short = found.get_short().map(|short| format!("-{short}"));
    let has_value = takes_value(name);
    let is_it = |word: &String| word == name || Some(word) == short.as_ref();
    while let Some(at) = words.iter().position(is_it) {
        let end = (at + 1 + usize::from(has_value)).min(words.len());
        words.drain(at..end);
    }
    let joined = short.filter(|_| has_value);
    words.retain(|word| {
        let is_joined = joined.as_ref().is_some_and(|short| word.starts_with(short.as_str()));
        !is_joined && !word.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
    });
}

#[cfg(test)]
mod tests {
    use pgsluice::error::Words;

    use super::*;

    fn changed(line: &str, how: CommandChange) -> Option<String> {
        let args: Vec<OsString> = line.split(' ').map(Into::into).collect();
        command(&args, &Remedy { what: Words::default(), how })
    }

    #[test]
    fn options_take_the_place_of_others() {
        let header = |value: &str| option("header").with(value);
        for (line, add, expected) in [
            ("p load x -t t", vec![option("header")], "pgsluice load x -t t --header"),
            (
                "p load x -t T",
                vec![option("table").with("\"T\"")],
                "pgsluice load x --table '\"T\"'",
            ),
            (
                "p load x --delimiter=, -j2",
                vec![option("delimiter").with(";")],
                "pgsluice load x -j2 --delimiter ';'",
            ),
            (
                "p load x --load-id a -q",
                vec![option("load-id").with("b")],
                "pgsluice load x -q --load-id b",
            ),
            ("p load x -tT", vec![option("table").with("U")], "pgsluice load x --table U"),
            (
                "p load --header=2 -t t -- -x.csv",
                vec![header("map")],
                "pgsluice load -t t --header=map -- -x.csv",
            ),
            (
                "p load x --map a=b",
                vec![option("map").with("c=d")],
                "pgsluice load x --map a=b --map c=d",
            ),
            (
                "p load --ignore-extra x",
                vec![option("ignore-extra")],
                "pgsluice load x --ignore-extra",
            ),
            (
                "p load x --header --columns a,b -t t",
                vec![header("map")],
                "pgsluice load x -t t --header=map",
            ),
            ("p load x --header=map", vec![header("1")], "pgsluice load x --header=1"),
            (
                "p load x --ignore-extra --map a=b",
                vec![option("map").with("c=c"), option("ignore-extra")],
                "pgsluice load x --map a=b --map c=c --ignore-extra",
            ),
            (
                "p load -d postgres://u:x@h/d x",
                vec![option("header")],
                "pgsluice load -d postgres://u@h/d x --header",
            ),
        ] {
            assert_eq!(changed(line, CommandChange::Options(add)).as_deref(), Some(expected));
        }
    }

    #[test]
    fn an_input_is_piped_if_it_is_named() {
        let piped_from = |front: &str, source: &str| CommandChange::Filtered {
            front: front.to_owned(),
            source: source.to_owned(),
            options: Vec::new(),
        };
        let piped = || piped_from("zcat 'a b.csv.gz'", "a b.csv.gz");
        assert_eq!(changed("p load other -t t", piped()), None);
        let named = || piped_from("zcat t", "t");
        assert_eq!(changed("p load other -t t", named()), None);
        let both = "zcat t | pgsluice load -t t -";
        assert_eq!(changed("p load -t t t", named()).as_deref(), Some(both));
        let args = ["p", "load", "a b.csv.gz", "-t", "t"].map(OsString::from);
        let remedy = Remedy { what: Words::default(), how: piped() };
        let command = command(&args, &remedy);
        let expected = "zcat 'a b.csv.gz' | pgsluice load - -t t --format csv";
        assert_eq!(command.as_deref(), Some(expected));
        assert_eq!(format_named("days/a.parquet.gz"), Some("parquet"));
        assert_eq!(format_named("a.txt"), None);
        assert_eq!(format_named("https://h/a.csv.gz?x=1"), Some("csv"));
    }

    #[test]
    fn programs_and_psql_have_whole_commands() {
        let words = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let filtered = |source: &str, front: &str, options: Vec<Setting>| CommandChange::Filtered {
            front: front.to_owned(),
            source: source.to_owned(),
            options,
        };
        for (line, how, expected) in [
            (
                "p load a.avro --header=map -t s.t --delimiter ; --format=csv",
                filtered("a.avro", "convert < a.avro", vec![option("format").with("arrow")]),
                "convert < a.avro | pgsluice load - -t s.t --format arrow",
            ),
            (
                "p load a.db -ts.t --header",
                filtered(
                    "a.db",
                    "q 'FROM {table}'",
                    vec![option("format").with("csv"), option("header").with("map")],
                ),
                "q 'FROM t' | pgsluice load - -ts.t --format csv --header=map",
            ),
            (
                "p load - -t t",
                filtered("<stdin>", "tar -xOf -", Vec::new()),
                "tar -xOf - | pgsluice load - -t t",
            ),
            (
                "p load a.sql -t t -d shop --host=h -p5",
                CommandChange::Psql { front: String::new(), arguments: words(&["-f", "a.sql"]) },
                "psql -d shop -h h -p 5 -f a.sql",
            ),
            (
                "p load a.bin --table s.t -d postgres://u:x@h/d",
                CommandChange::Psql {
                    front: "x | ".to_owned(),
                    arguments: words(&["-c", "\\copy {table} FROM"]),
                },
                "x | psql -d postgres://u@h/d -c '\\copy s.t FROM'",
            ),
            (
                "p load a.csv -t t -d shop --load-id a --ledger=own",
                CommandChange::Ledger(words(&["forget", "a b"])),
                "pgsluice ledger forget 'a b' -d shop --ledger own",
            ),
        ] {
            assert_eq!(changed(line, how).as_deref(), Some(expected));
        }
    }
}
