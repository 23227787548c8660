//! The ways out of an error, as the keywords that the options of the command line are in Python.

use pgsluice::error::{How, Remedy, TABLE, is_stream};

/// Keywords that have another name than their option.
const RENAMED: [(&str, &str); 1] = [("dbname", "conninfo")];

/// Keywords that take numbers.
const NUMBERS: [&str; 3] = ["header", "max_rejects", "max_new_partitions"];

/// What only a load does, whatever was to be loaded.
const OF_LOAD: &str = "create_partitions";

/// The keywords to give to `command`, or of another the call; None of what is for a shell.
pub(crate) fn keywords(command: &str, remedy: &Remedy) -> Option<String> {
    let options = match &remedy.how {
        How::Options(options) => options,
        How::Session(name, value) => {
            let options = literal(&format!("-c {name}={value}"));
            return Some(format!("os.environ[\"PGOPTIONS\"] = {options}"));
        }
        How::Variable(name, value, options) => {
            let variable = format!("os.environ[{}] = {}", literal(name), literal(value));
            return Some(format!("{variable}, and {}", assigned(command, options)?));
        }
        How::Filtered { front, source, options } => return piped(front, source, options),
        How::Psql { .. } | How::Ledger(_) => return None,
    };
    assigned(command, options)
}

/// Writes a program that reads a file, in the place of that file.
fn piped(front: &str, source: &str, options: &[String]) -> Option<String> {
    if is_stream(source) || front.contains(TABLE) {
        return None;
    }
    let command = literal(front);
    let output = format!("subprocess.Popen({command}, shell=True, stdout=subprocess.PIPE).stdout");
    let words = assigned("load", options)?;
    let more = if words.is_empty() { words } else { format!(", {words}") };
    Some(format!("pgsluice.load({output}, ...{more})"))
}

/// Writes options as keywords.
fn assigned(command: &str, options: &[String]) -> Option<String> {
    let mut given: Vec<(String, Option<String>)> = Vec::new();
    for word in options {
        match (word.strip_prefix("--"), given.last_mut()) {
            (Some(option), _) => {
                let (name, value) = match option.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (option, None),
                };
                given.push((keyword(name), value));
            }
            (None, Some((_, value))) => *value = Some(word.clone()),
            (None, None) => return None,
        }
    }
    let is_elsewhere = command != "load" && given.iter().any(|(name, _)| name == OF_LOAD);
    let words = given.into_iter().map(|(name, value)| match value {
        None => format!("{name}=True"),
        Some(number) if NUMBERS.contains(&&*name) && number.parse::<u64>().is_ok() => {
            format!("{name}={number}")
        }
        Some(pair) if name == "map" => format!("{name}={}", dictionary(&pair)),
        Some(text) => format!("{name}={}", literal(&text)),
    });
    let words = words.collect::<Vec<_>>().join(", ");
    Some(if is_elsewhere { format!("pgsluice.load(..., {words})") } else { words })
}

/// Writes a pair `NAME=COLUMN` as a dictionary, with the column unquoted.
fn dictionary(pair: &str) -> String {
    let (name, column) = pair.rsplit_once('=').unwrap_or((pair, ""));
    let inner = column.strip_prefix('"').and_then(|column| column.strip_suffix('"'));
    let column = inner.map_or_else(|| column.to_owned(), |inner| inner.replace("\"\"", "\""));
    format!("{{{}: {}}}", literal(name), literal(&column))
}

/// Writes a string as Python reads it.
fn literal(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() && u32::from(c) < 0x100 => format!("\\x{:02x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

fn keyword(option: &str) -> String {
    let renamed = RENAMED.iter().find(|(name, _)| *name == option);
    renamed.map_or_else(|| option.replace('-', "_"), |(_, name)| (*name).to_owned())
}
