//! Names of columns in options: a list as in SQL, or a list of plain names.

use pgsluice::{Error, Kind, Result};
use serde::{Deserialize, Deserializer};

use crate::spec::parsed;

/// Names of columns.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "must be a string or a list of names")]
pub(crate) enum Names {
    /// A list as in SQL.
    Text(String),
    /// Plain names.
    List(Vec<String>),
}

impl From<String> for Names {
    fn from(list: String) -> Self {
        Self::Text(list)
    }
}

impl Names {
    /// Returns the columns.
    pub(crate) fn columns(&self) -> Result<Vec<String>> {
        match self {
            Self::Text(list) => parse_columns(list),
            Self::List(names) if names.is_empty() || names.contains(&String::new()) => {
                Err(invalid_list(&names.join(",")))
            }
            Self::List(names) => Ok(names.clone()),
        }
    }
}

fn invalid_list(list: &str) -> Error {
    Error::new(Kind::Usage, format!("invalid list of columns: {list}"))
}

/// Reads one name.
pub(crate) fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    parsed(from, parse_name)
}

/// Parses names separated by commas. As in SQL, they are in lower case unless they are in double quotes.
pub(crate) fn parse_columns(list: &str) -> Result<Vec<String>> {
    let invalid = || invalid_list(list);
    let mut columns = Vec::new();
    let mut rest = list.trim();
    loop {
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_name(quoted).ok_or_else(invalid)?,
            None => {
                let (name, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                (name.trim_end().to_lowercase(), after)
            }
        };
        if name.is_empty() {
            return Err(invalid());
        }
        columns.push(name);
        match after.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None if after.is_empty() => return Ok(columns),
            None => return Err(invalid()),
        }
    }
}

/// Parses one name, as in SQL.
pub(crate) fn parse_name(text: &str) -> std::result::Result<String, String> {
    match parse_columns(text).as_deref() {
        Ok([name]) => Ok(name.clone()),
        _ => Err("must be one name, in double quotes if it is not lower case".to_owned()),
    }
}

/// Returns the name up to its closing quote, and the rest of the text.
fn quoted_name(mut text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    loop {
        let (part, after) = text.split_once('"')?;
        name.push_str(part);
        match after.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                text = after;
            }
            None => return Some((name, after.trim_start())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_as_in_sql() {
        let names = |list: &str| parse_columns(list).expect("a list");
        assert_eq!(names("a, B ,\"C d\",\"e\"\"f\" , g"), ["a", "b", "C d", "e\"f", "g"]);
        for invalid in ["", "a,", "\"a", "\"a\"b", ",a"] {
            assert!(parse_columns(invalid).is_err(), "{invalid}");
        }
    }
}
