//! Columns by name: which column each field of the inputs goes to, as their header says.

use pgsluice_core::catalog::label;
use pgsluice_core::format::Format;
use pgsluice_core::parse::{Parser, Projection};
use pgsluice_core::types::Column;

use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result};

/// How the names in a header lead to columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByName {
    /// Names in the header that are not those of their columns, each with the name of its column.
    pub map: Vec<(String, String)>,
    /// Whether fields whose names are no columns are left out.
    pub ignore_extra: bool,
}

/// The fields of the inputs, led to columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Led {
    /// The columns of the fields that are kept, in the order of the fields.
    pub(crate) columns: Vec<String>,
    /// The name in the input of each of them.
    pub(crate) names: Vec<String>,
    /// Their types, once they were read.
    pub(crate) types: Vec<Column>,
    /// Of each of them, whether it has a default other than NULL.
    pub(crate) has_default: Vec<bool>,
    /// Which fields are kept, if not all are.
    pub(crate) projection: Option<Projection>,
    /// What people should know of it.
    pub(crate) notes: Vec<String>,
}

/// What separates fields where the delimiter does not.
const DELIMITERS: [char; 4] = [';', '\t', '|', ','];

impl ByName {
    /// Whether it is as it is by default.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the terms of a load that it sets, by name.
    pub(crate) fn terms(&self) -> Vec<(&'static str, String)> {
        let Self { map, ignore_extra } = self;
        let pairs: Vec<String> =
            map.iter().map(|(name, column)| format!("{}={}", label(name), label(column))).collect();
        let map = (!pairs.is_empty()).then(|| ("map", pairs.join(",")));
        let extra = ignore_extra.then(|| ("ignore_extra", "true".to_owned()));
        map.into_iter().chain(extra).collect()
    }

    /// Leads the fields that a header names to the columns of a table.
    pub(crate) fn lead(
        &self,
        names: &[String],
        columns: &[String],
        format: &Format,
    ) -> Result<Led> {
        for (place, name) in names.iter().enumerate() {
            if names[..place].contains(name) {
                return Err(refused(format!("the input has \"{name}\" more than once"), "42701"));
            }
        }
        if let Some((missing, _)) = self.map.iter().find(|(name, _)| !names.contains(name)) {
            let error = refused(format!("the input has no \"{missing}\""), "42703");
            return Err(error.with_hint(format!("It has: {}.", names.join(", "))));
        }
        let mut led = Led::default();
        let mut kept = Vec::new();
        let mut unknown = Vec::new();
        for name in names {
            let column = self.column(name, names, columns, &mut led.notes)?;
            kept.push(column.is_some());
            match column {
                Some(column) if led.columns.contains(column) => {
                    let message = format!("two fields go to column {}", label(column));
                    return Err(refused(message, "42701").with_hint("Lead one elsewhere by --map."));
                }
                Some(column) => {
                    led.columns.push(column.clone());
                    led.names.push(name.clone());
                }
                None => unknown.push(name.as_str()),
            }
        }
        if let [first, ..] = unknown[..]
            && (led.columns.is_empty() || !self.ignore_extra)
        {
            return Err(no_column(first, names, columns, !led.columns.is_empty()));
        }
        if !unknown.is_empty() {
            led.notes.push(format!("fields that are left out: {}", unknown.join(", ")));
            led.projection = Some(Projection::new(Parser::new(format, Vec::new()), kept));
        }
        Ok(led)
    }

    /// Leads the keys of objects to the columns of a table. Keys that come later than those that were seen may be
    /// any others of its columns, unless these have a default: that would be lost.
    pub(crate) fn lead_keys(
        &self,
        keys: &[String],
        columns: &[String],
        has_default: impl Fn(&String) -> bool,
    ) -> Result<Led> {
        let mapped = self.map.iter().map(|(name, _)| name).filter(|name| !keys.contains(name));
        let keys: Vec<String> = keys.iter().chain(mapped).cloned().collect();
        let mut led = self.lead(&keys, columns, &Format::text())?;
        led.projection = None;
        for column in columns {
            if !led.columns.contains(column) && !keys.contains(column) && !has_default(column) {
                led.columns.push(column.clone());
                led.names.push(column.clone());
            }
        }
        Ok(led)
    }

    /// The column that the field `name` goes to, if there is one.
    fn column<'c>(
        &self,
        name: &str,
        names: &[String],
        columns: &'c [String],
        notes: &mut Vec<String>,
    ) -> Result<Option<&'c String>> {
        if let Some((_, target)) = self.map.iter().find(|(mapped, _)| mapped == name) {
            let column = columns.iter().find(|column| *column == target);
            return column.map(Some).ok_or_else(|| {
                refused(
                    format!("column \"{target}\" does not exist, or cannot be written"),
                    "42703",
                )
                .with_hint(format!("The columns are: {}.", list(columns)))
            });
        }
        if let Some(column) = columns.iter().find(|column| *column == name) {
            return Ok(Some(column));
        }
        let is_like = |other: &&String| other.to_lowercase() == name.to_lowercase();
        // A name that is a column's own has it.
        let is_free = |column: &&String| {
            !names.contains(*column) && !self.map.iter().any(|(_, target)| target == *column)
        };
        let mut like = columns.iter().filter(is_like).filter(is_free);
        match (like.next(), like.next()) {
            (Some(column), None) => {
                notes.push(format!("field {} goes to column {}", label(name), label(column)));
                Ok(Some(column))
            }
            (Some(one), Some(other)) => {
                let (one, other) = (label(one), label(other));
                let message = format!("\"{name}\" may be column {one} or column {other}");
                Err(refused(message, "42702").with_hint("Say which by --map."))
            }
            (None, _) => Ok(None),
        }
    }
}

fn refused(message: String, sqlstate: &'static str) -> Error {
    Error::new(Kind::Usage, message).with_sqlstate(sqlstate)
}

/// Returns the error for a field that matches no column. `--ignore-extra` helps only if other fields match.
fn no_column(name: &str, names: &[String], columns: &[String], has_others: bool) -> Error {
    let error =
        refused(format!("the input has \"{name}\", which is no column of the table"), "42703")
            .with_detail(format!("The columns are: {}.", list(columns)));
    let delimiter = DELIMITERS.iter().find(|it| names.len() == 1 && name.contains(**it));
    if let Some(delimiter) = delimiter {
        let what = "The fields seem to be separated by another byte";
        let delimiter = delimiter.escape_default().to_string();
        return error.with_remedy(Remedy::options(what, ["--delimiter", &delimiter]));
    }
    let near = columns.iter().filter(|column| !names.contains(column));
    let near = near.max_by(|one, other| {
        let alike = |column: &str| strsim::jaro_winkler(column, name);
        alike(one).total_cmp(&alike(other))
    });
    let error = match near.filter(|column| strsim::jaro_winkler(column, name) > 0.8) {
        Some(column) => {
            let pair = format!("{name}={}", label(column));
            error.with_remedy(Remedy::options("If it is another name", ["--map", &pair]))
        }
        None => error,
    };
    match has_others {
        true => error.with_remedy(Remedy::options("To leave such fields out", ["--ignore-extra"])),
        false => error,
    }
}

fn list(columns: &[String]) -> String {
    columns.iter().map(|column| label(column)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> Vec<String> {
        list.split(',').map(str::to_owned).collect()
    }

    fn led(by_name: &ByName, header: &str, columns: &str) -> Result<Led> {
        by_name.lead(&names(header), &names(columns), &Format::csv())
    }

    fn with(map: &[(&str, &str)], ignore_extra: bool) -> ByName {
        let map = map.iter().map(|(name, column)| ((*name).to_owned(), (*column).to_owned()));
        ByName { map: map.collect(), ignore_extra }
    }

    #[test]
    fn fields_find_their_columns() {
        let found = led(&ByName::default(), "c,a", "a,b,c").expect("columns");
        assert_eq!(
            (found.columns, found.projection, found.notes),
            (names("c,a"), None, Vec::new())
        );
        let found = led(&with(&[("x", "b")], true), "x,y,a", "a,b,c").expect("columns");
        assert_eq!(found.columns, names("b,a"));
        let mut row = Vec::new();
        found.projection.expect("one is left out").project(b"1,2,3", &mut row);
        assert_eq!(row, b"1,3");
        assert_eq!(found.notes, ["fields that are left out: y"]);
    }

    #[test]
    fn case_matters_where_there_is_a_choice() {
        let found = led(&ByName::default(), "ID,Name", "id,name").expect("columns");
        assert_eq!(found.columns, names("id,name"));
        assert_eq!(found.notes.len(), 2);
        let found = led(&ByName::default(), "id,Id", "id,ID,Id").expect("columns");
        assert_eq!(found.columns, names("id,Id"));
        let error = led(&ByName::default(), "iD", "id,ID").expect_err("either").to_string();
        assert!(error.contains("\"iD\" may be column id or column \"ID\""), "{error}");
    }

    #[test]
    fn what_leads_nowhere_is_refused() {
        let none = ByName::default();
        for (by_name, header, said) in [
            (none.clone(), "a,a", "the input has \"a\" more than once (SQLSTATE 42701)"),
            (none.clone(), "a,x", "the input has \"x\", which is no column of the table"),
            (none.clone(), "a;b", "another byte: --delimiter ';'"),
            (none, "a,amont", "If it is another name: --map amont=amount"),
            (with(&[("x", "a")], false), "b", "the input has no \"x\""),
            (with(&[("b", "nope")], false), "b", "column \"nope\" does not exist"),
            (with(&[("x", "a")], false), "x,a", "two fields go to column a"),
            (with(&[], true), "x,y", "the input has \"x\", which is no column of the table"),
        ] {
            let error = led(&by_name, header, "a,b,amount").expect_err(said).to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
