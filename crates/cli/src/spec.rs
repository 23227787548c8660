//! Options from another language: a JSON object, which serde reads into the structures that clap fills. Text
//! is parsed as on the command line.

use clap::ValueEnum;
use pgsluice::error::{Words, option};
use pgsluice::{Error, Kind, Result};
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde_json::{Map, Value};

/// Reads the options of a command.
///
/// # Errors
///
/// Fails if the command does not have such an option, or if a value is invalid.
pub(crate) fn read<T: DeserializeOwned>(options: &str) -> Result<T> {
    serde_json::from_str(options).map_err(|error| {
        let message = wrong_option::<T>(options);
        Error::new(Kind::Usage, message.unwrap_or_else(|| format!("invalid options: {error}")))
    })
}

/// Describes the first option that is invalid by itself, in clap's style.
fn wrong_option<T: DeserializeOwned>(options: &str) -> Option<String> {
    let options: Map<String, Value> = serde_json::from_str(options).ok()?;
    options.into_iter().find_map(|(name, value)| {
        let shown = text_of(&value);
        let alone = Value::Object([(name.clone(), value)].into_iter().collect());
        let why = T::deserialize(alone).err()?.to_string();
        let colon = if why.starts_with('[') { "" } else { ":" };
        Some(format!("invalid value '{shown}' for '{name}'{colon} {why}"))
    })
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Reads a value with the command line's parser for it. A number is converted to its digits.
pub(crate) fn parsed<'de, D: Deserializer<'de>, T>(
    from: D,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, D::Error> {
    use serde::Deserialize;
    let value = Value::deserialize(from)?;
    parse(&text_of(&value)).map(Some).map_err(D::Error::custom)
}

/// Reads text, which may be a number.
pub(crate) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    parsed(from, |text| Ok(text.to_owned()))
}

/// Reads one of the values that the command line lists.
pub(crate) fn listed<'de, D: Deserializer<'de>, T: ValueEnum>(
    from: D,
) -> Result<Option<T>, D::Error> {
    parsed(from, find_value)
}

/// Returns the value with this name.
pub(crate) fn find_value<T: ValueEnum>(name: &str) -> Result<T, String> {
    T::from_str(name, false).map_err(|_| {
        let values = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        format!("[possible values: {}]", names.join(", "))
    })
}

/// An option, and whether it is given.
pub(crate) struct Given(pub(crate) &'static str, pub(crate) bool);

impl Given {
    /// Fails if this option is given without the other.
    pub(crate) fn requires(&self, other: &Self) -> Result<()> {
        refuse(self.1 && !other.1, || {
            "the following required arguments were not provided: " + option(other.0)
        })
    }

    /// Fails if this option is given together with the other.
    pub(crate) fn excludes(&self, other: &Self) -> Result<()> {
        refuse(self.1 && other.1, || {
            "the argument '" + option(self.0) + "' cannot be used with '" + option(other.0) + "'"
        })
    }
}

fn refuse(is_wrong: bool, message: impl FnOnce() -> Words) -> Result<()> {
    if is_wrong { Err(Error::new(Kind::Usage, message())) } else { Ok(()) }
}
