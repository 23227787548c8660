//! Columns by name: which column each field of an input goes to, by the names in that input.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pgsluice_core::catalog::label;
use pgsluice_core::column_lookup::{ColumnLookup, ColumnMatch};
use pgsluice_core::types::Column;

use super::names::InputNames;
use super::shorten::{LISTED, SHOWN, shorten_list, shorten_name};
use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result, option};

/// Rules for matching the names in a header to columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByName {
    /// Pairs of a name in the header and the name of its column, where the two differ.
    pub map: Vec<(String, String)>,
    /// Whether fields that match no column are left out.
    pub ignore_extra: bool,
}

/// Fields of the inputs, matched to columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct MatchedFields {
    /// The columns of the fields that are kept, in the order of the fields.
    pub(crate) columns: Vec<String>,
    /// The name in the input of each of these columns.
    pub(crate) names: Vec<String>,
    /// The types of these columns, once they are known.
    pub(crate) types: Vec<Column>,
    /// Whether each of these columns has a default other than NULL.
    pub(crate) has_default: Vec<bool>,
    /// Whether each field is kept.
    pub(crate) selected: Vec<bool>,
    /// The names of the fields that are left out.
    pub(crate) extra: Vec<String>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
    /// Finds the columns of names that come later.
    pub(crate) lookup: Arc<ColumnLookup>,
}

/// Delimiters that a file may use instead of the given one.
const DELIMITERS: [char; 4] = [';', '\t', '|', ','];

impl ByName {
    /// Whether it is the default.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the terms of a load that it sets, as names and values.
    pub(crate) fn terms(&self) -> Vec<(&'static str, String)> {
        let Self { map, ignore_extra } = self;
        let pairs: Vec<String> =
            map.iter().map(|(name, column)| format!("{}={}", label(name), label(column))).collect();
        let map = (!pairs.is_empty()).then(|| ("map", pairs.join(",")));
        let extra = ignore_extra.then(|| ("ignore_extra", "true".to_owned()));
        map.into_iter().chain(extra).collect()
    }

    /// Returns the columns of a table with the names that match them.
    pub(crate) fn column_lookup(&self, columns: &[String]) -> Result<ColumnLookup> {
        let mut mapped = HashMap::new();
        for (name, target) in &self.map {
            let Some(column) = columns.iter().position(|column| column == target) else {
                let message = format!("column \"{target}\" does not exist, or cannot be written");
                let hint = format!("The columns are: {}.", list(columns));
                return Err(refused(message, "42703").with_hint(hint));
            };
            mapped.insert(name.clone(), column);
        }
        Ok(ColumnLookup::new(columns, mapped))
    }

    /// Matches the fields of each header to the columns of a table.
    pub(crate) fn match_headers(
        &self,
        names: &InputNames,
        columns: &[String],
    ) -> Result<MatchedFields> {
        let lookup = Arc::new(self.column_lookup(columns)?);
        self.check_map(names)?;
        let mut all = MatchedFields { lookup: Arc::clone(&lookup), ..MatchedFields::default() };
        let mut known = HashSet::new();
        for (place, of_input) in names.lists.iter().enumerate() {
            let source = if place == 0 { "the input" } else { &of_input.source };
            let found = self.match_fields(&of_input.names, &lookup, source);
            let found = found.map_err(|error| match error.sqlstate() {
                Some("42701") if names.are_in_headers => error.with_hint(
                    "To name the columns by position, use "
                        + option("columns")
                        + " and "
                        + option("header")
                        + " instead of "
                        + option("header").with("map")
                        + ".",
                ),
                _ => error,
            })?;
            for (column, name) in found.columns.into_iter().zip(found.names) {
                if known.insert(column.clone()) {
                    all.columns.push(column);
                    all.names.push(name);
                }
            }
            all.extra.extend(found.extra);
            all.notes.extend(found.notes);
            if place == 0 {
                all.selected = found.selected;
            }
        }
        let mut seen = HashSet::new();
        all.extra.retain(|name| seen.insert(name.clone()));
        let mut seen = HashSet::new();
        all.notes.retain(|note| seen.insert(note.clone()));
        Ok(all)
    }

    /// Matches the fields of one header to columns. If the name of one field equals that of a column and
    /// another field differs from it in case only, the first one gets the column.
    pub(crate) fn match_fields(
        &self,
        names: &[String],
        lookup: &ColumnLookup,
        source: &str,
    ) -> Result<MatchedFields> {
        let own: HashSet<&str> = names.iter().map(String::as_str).collect();
        let mut fields = HashMap::new();
        let mut found = MatchedFields::default();
        for name in names {
            let matched =
                lookup.find(name, |column| own.contains(lookup.columns()[column].as_str()));
            let column = match matched {
                ColumnMatch::Ambiguous(one, other) => {
                    return Err(ambiguous(name, one, other, lookup));
                }
                matched => matched.column(),
            };
            found.selected.push(column.is_some());
            let Some(place) = column else {
                found.extra.push(name.clone());
                continue;
            };
            let column = &lookup.columns()[place];
            if let Some(before) = fields.insert(place, name) {
                return Err(twice(before, name, column, source));
            }
            if matches!(matched, ColumnMatch::OtherCase(_)) {
                let note = format!("field {} is loaded into column {}", label(name), label(column));
                found.notes.push(note);
            }
            found.columns.push(column.clone());
            found.names.push(name.clone());
        }
        match found.extra.first() {
            Some(first) if found.columns.is_empty() || !self.ignore_extra => {
                let has_others = !found.columns.is_empty();
                Err(no_column(first, names, lookup.columns(), source, has_others))
            }
            _ => Ok(found),
        }
    }

    /// Matches the keys of objects to the columns of a table. A column without a key is added if `adds`
    /// returns true for it, because later objects may have it.
    pub(crate) fn match_keys(
        &self,
        names: &InputNames,
        columns: &[String],
        adds: impl Fn(&String) -> bool,
    ) -> Result<MatchedFields> {
        let lookup = Arc::new(self.column_lookup(columns)?);
        self.check_map(names)?;
        let mut found = MatchedFields { lookup: Arc::clone(&lookup), ..MatchedFields::default() };
        let keys = || names.lists.iter().flat_map(|list| &list.names);
        let mut taken = HashSet::new();
        for key in keys().chain(self.map.iter().map(|(name, _)| name)) {
            let matched = lookup.find(key, |_| false);
            let place = match matched {
                ColumnMatch::Ambiguous(one, other) => {
                    return Err(ambiguous(key, one, other, &lookup));
                }
                matched => matched.column(),
            };
            let Some(place) = place else {
                found.extra.push(key.clone());
                continue;
            };
            let column = &columns[place];
            if matches!(matched, ColumnMatch::OtherCase(_)) {
                let note = format!("field {} is loaded into column {}", label(key), label(column));
                found.notes.push(note);
            }
            if taken.insert(place) {
                found.columns.push(column.clone());
                found.names.push(key.clone());
            }
        }
        if let Some(first) = found.extra.first()
            && (found.columns.is_empty() || !self.ignore_extra)
        {
            let keys: Vec<String> = keys().cloned().collect();
            let has_others = !found.columns.is_empty();
            let error = no_column(first, &keys, columns, "the input", has_others);
            return Err(match columns {
                [only] if !has_others => error.with_remedy(whole_lines(only)),
                _ => error,
            });
        }
        for (place, column) in columns.iter().enumerate() {
            let is_mapped = self.map.iter().any(|(name, _)| name == column);
            if adds(column) && !is_mapped && taken.insert(place) {
                found.columns.push(column.clone());
                found.names.push(column.clone());
            }
        }
        Ok(found)
    }

    /// Checks that some input has each name of `--map`.
    fn check_map(&self, names: &InputNames) -> Result<()> {
        if !names.are_all || names.lists.is_empty() {
            return Ok(());
        }
        let all: HashSet<&String> = names.lists.iter().flat_map(|list| &list.names).collect();
        let Some((missing, _)) = self.map.iter().find(|(name, _)| !all.contains(name)) else {
            return Ok(());
        };
        let known = names.lists.first().map(|list| shorten_list(&list.names)).unwrap_or_default();
        let error =
            refused(format!("the input has no field \"{}\"", shorten_name(missing)), "42703");
        Err(error.with_hint(format!("It has: {known}.")))
    }
}

impl MatchedFields {
    /// Returns the notes for the user, including the names that are left out.
    pub(crate) fn notes(&self) -> Vec<String> {
        let extra = (!self.extra.is_empty())
            .then(|| format!("ignored fields: {}", shorten_list(&self.extra)));
        self.notes.iter().take(LISTED).cloned().chain(extra).collect()
    }
}

fn refused(message: String, sqlstate: &'static str) -> Error {
    Error::new(Kind::Data, message).with_sqlstate(sqlstate)
}

/// Returns the error for a name that differs from two columns in case only.
fn ambiguous(name: &str, one: usize, other: usize, lookup: &ColumnLookup) -> Error {
    let [one, other] = [one, other].map(|place| label(&lookup.columns()[place]));
    let message =
        format!("\"{}\" matches both column {one} and column {other}", shorten_name(name));
    refused(message, "42702").with_hint("Choose one with " + option("map") + ".")
}

/// Returns the error for two fields that go to one column.
fn twice(before: &str, name: &str, column: &str, source: &str) -> Error {
    if before == name {
        let message = format!("{source} has field \"{}\" more than once", shorten_name(name));
        return refused(message, "42701");
    }
    let message = format!("two fields match column {}", label(column));
    let [before, name] = [before, name].map(|name| label(&shorten_name(name)));
    refused(message, "42701")
        .with_detail(format!("The fields are {before} and {name}."))
        .with_hint("Map one of them to another column with " + option("map") + ".")
}

/// Returns the error for a field that matches no column. `--ignore-extra` helps only if other fields match.
fn no_column(
    name: &str,
    names: &[String],
    columns: &[String],
    source: &str,
    has_others: bool,
) -> Error {
    let message = format!(
        "{source} has field \"{}\", which matches no column of the table",
        shorten_name(name)
    );
    let error =
        refused(message, "42703").with_detail(format!("The columns are: {}.", list(columns)));
    let delimiter = DELIMITERS.iter().find(|it| names.len() == 1 && name.contains(**it));
    if let Some(delimiter) = delimiter {
        let what = "The fields seem to be separated by another delimiter";
        let delimiter = delimiter.escape_default().to_string();
        return error.with_remedy(Remedy::options(what, [option("delimiter").with(delimiter)]));
    }
    let error = match near(name, names, columns) {
        Some(column) => {
            let pair = format!("{name}={}", label(column));
            error.with_remedy(Remedy::options(
                "If the column has another name in the input",
                [option("map").with(pair)],
            ))
        }
        None => error,
    };
    match has_others {
        true => {
            error.with_remedy(Remedy::options("To ignore such fields", [option("ignore-extra")]))
        }
        false => error,
    }
}

/// Returns options that load each line as the value of a column.
fn whole_lines(column: &str) -> Remedy {
    let what = format!("To load each line as a value of column {}", label(column));
    let options = [
        option("format").with("csv"),
        option("delimiter").with("\u{2}"),
        option("quote").with("\u{1}"),
    ];
    Remedy::options(what, options)
}

/// Returns the column without a field that has nearly this name.
fn near<'c>(name: &str, names: &[String], columns: &'c [String]) -> Option<&'c String> {
    if name.chars().nth(SHOWN).is_some() {
        return None;
    }
    let named: HashSet<&String> = names.iter().collect();
    let free = columns.iter().filter(|column| !named.contains(column));
    let likely = free.map(|column| (strsim::jaro_winkler(column, name), column));
    let (likeness, column) = likely.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (likeness > 0.8).then_some(column)
}

fn list(columns: &[String]) -> String {
    let labels: Vec<String> = columns.iter().map(|column| label(column)).collect();
    shorten_list(&labels)
}

#[cfg(test)]
mod tests;
