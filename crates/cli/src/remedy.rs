//! The command that has failed, changed as a way out says, so that it can be copied.

use std::ffi::OsString;

use pgsluice::error::{How, Remedy, quoted};
use pgsluice::source::{FileFormat, uncompressed};

use crate::conceal::without_password;

/// Short names of options that a way out may name by its long one.
const SHORT: [(&str, &str); 1] = [("--table", "-t")];

/// Makes partitions.
const CREATE: &str = "--create-partitions";

/// The whole command; None if the input that is to be piped is not an argument by itself.
pub(crate) fn command(args: &[OsString], remedy: &Remedy) -> Option<String> {
    let mut words: Vec<String> =
        args.iter().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let mut front = String::new();
    match &remedy.how {
        How::Options(options) => {
            options.iter().filter(|option| option.starts_with("--")).for_each(|option| {
                remove(&mut words, option);
            });
            words.extend(options.iter().cloned());
            if let (Some(command), true) = (words.first_mut(), options.contains(&CREATE.to_owned()))
            {
                // No other command makes them.
                "load".clone_into(command);
            }
        }
        How::Piped { program, source } => {
            let is_input = |at: &usize| words[*at] == *source && !takes_value(&words[at - 1]);
            let at = (1..words.len()).find(is_input)?;
            front = format!("{program} {} | ", quoted(source));
            "-".clone_into(&mut words[at]);
            let has_format = words.iter().any(|word| word.split('=').next() == Some("--format"));
            if let Some(format) = format_named(source).filter(|_| !has_format) {
                words.extend(["--format".to_owned(), format.to_owned()]);
            }
        }
    }
    let words: Vec<String> = words.iter().map(|word| quoted(&without_password(word))).collect();
    Some(format!("{front}pgsluice {}", words.join(" ")))
}

/// What the name of an input says that its end says no more once it comes through a pipe.
fn format_named(name: &str) -> Option<&'static str> {
    match uncompressed(name).to_ascii_lowercase() {
        csv if csv.contains(".csv") => Some("csv"),
        _ => FileFormat::of_name(name).map(FileFormat::name),
    }
}

/// Whether the next word is the value of this one.
fn takes_value(word: &str) -> bool {
    let commands = crate::command();
    let mut options = commands.get_subcommands().flat_map(|command| command.get_arguments());
    let Some(name) = word.strip_prefix('-') else { return false };
    options.any(|option| {
        let is_named = match name.strip_prefix('-') {
            Some(long) => option.get_long() == Some(long),
            None => option.get_short().is_some_and(|short| name.ends_with(short)),
        };
        is_named && option.get_action().takes_values() && !option.is_require_equals_set()
    })
}

/// Takes an option out, with its value: another one comes in its place.
fn remove(words: &mut Vec<String>, option: &str) {
    let short = SHORT.iter().find(|(long, _)| *long == option).map(|(_, short)| *short);
    let is_it = |word: &String| word == option || Some(word.as_str()) == short;
    // That of --header stands behind an equals sign, or there is none.
    let has_value = option != "--header" && option != CREATE;
    while let Some(at) = words.iter().position(is_it) {
        let end = (at + 1 + usize::from(has_value)).min(words.len());
        words.drain(at..end);
    }
    words.retain(|word| !word.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(line: &str, how: How) -> Option<String> {
        let args: Vec<OsString> = line.split(' ').map(Into::into).collect();
        command(&args, &Remedy { what: String::new(), how })
    }

    #[test]
    fn options_take_the_place_of_others() {
        let options =
            |list: &[&str]| How::Options(list.iter().map(|it| (*it).to_owned()).collect());
        for (line, add, expected) in [
            ("p load x -t t", &["--header"][..], "pgsluice load x -t t --header"),
            ("p load x -t T", &["--table", "\"T\""], "pgsluice load x --table '\"T\"'"),
            (
                "p load x --delimiter=, -j2",
                &["--delimiter", ";"],
                "pgsluice load x -j2 --delimiter ';'",
            ),
            ("p load x --load-id a -q", &["--load-id", "b"], "pgsluice load x -q --load-id b"),
            (
                "p load -d postgres://u:x@h/d x",
                &["--header"],
                "pgsluice load -d postgres://u@h/d x --header",
            ),
        ] {
            assert_eq!(changed(line, options(add)).as_deref(), Some(expected));
        }
    }

    #[test]
    fn an_input_is_piped_if_it_is_named() {
        let (program, source) = ("zcat".to_owned(), "a b.csv.gz".to_owned());
        let piped = || How::Piped { program: program.clone(), source: source.clone() };
        assert_eq!(changed("p load other -t t", piped()), None);
        let named = || How::Piped { program: program.clone(), source: "t".to_owned() };
        assert_eq!(changed("p load other -t t", named()), None);
        let both = "zcat t | pgsluice load -t t -";
        assert_eq!(changed("p load -t t t", named()).as_deref(), Some(both));
        let args = ["p", "load", "a b.csv.gz", "-t", "t"].map(OsString::from);
        let remedy = Remedy { what: String::new(), how: piped() };
        let command = command(&args, &remedy);
        let expected = "zcat 'a b.csv.gz' | pgsluice load - -t t --format csv";
        assert_eq!(command.as_deref(), Some(expected));
        assert_eq!(format_named("days/a.parquet.gz"), Some("parquet"));
        assert_eq!(format_named("a.txt"), None);
    }
}
