//! The ways out of an error, as the keywords that the options of the command line are in Python.

use pgsluice::error::{How, Remedy};

/// Keywords that have another name than their option.
const RENAMED: [(&str, &str); 1] = [("dbname", "conninfo")];

/// What only a load does, whatever was to be loaded.
const OF_LOAD: &str = "create_partitions";

/// The keywords to give to `command`, or of another the call; None of what is for a shell.
pub(crate) fn keywords(command: &str, remedy: &Remedy) -> Option<String> {
    let How::Options(options) = &remedy.how else { return None };
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
        Some(number) if number.parse::<u64>().is_ok() && name != "load_id" => {
            format!("{name}={number}")
        }
        Some(text) => format!("{name}={text:?}"),
    });
    let words = words.collect::<Vec<_>>().join(", ");
    Some(if is_elsewhere { format!("pgsluice.load(..., {words})") } else { words })
}

fn keyword(option: &str) -> String {
    let renamed = RENAMED.iter().find(|(name, _)| *name == option);
    renamed.map_or_else(|| option.replace('-', "_"), |(_, name)| (*name).to_owned())
}
