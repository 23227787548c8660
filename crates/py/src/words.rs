//! The ways out of an error, as the keywords that the options of the command line are in Python.

use pgsluice::error::{How, Remedy};

/// Keywords that have another name than their option.
const RENAMED: [(&str, &str); 1] = [("dbname", "conninfo")];

/// The keywords to give; None of what is for a shell.
pub(crate) fn keywords(remedy: &Remedy) -> Option<String> {
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
    let words = given.into_iter().map(|(name, value)| match value {
        None => format!("{name}=True"),
        Some(number) if number.parse::<u64>().is_ok() && name != "load_id" => {
            format!("{name}={number}")
        }
        Some(text) => format!("{name}={text:?}"),
    });
    Some(words.collect::<Vec<_>>().join(", "))
}

fn keyword(option: &str) -> String {
    let renamed = RENAMED.iter().find(|(name, _)| *name == option);
    renamed.map_or_else(|| option.replace('-', "_"), |(_, name)| (*name).to_owned())
}
