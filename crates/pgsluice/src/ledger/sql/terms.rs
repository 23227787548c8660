//! The terms of a load in SQL: the server adds the columns and the settings to the options of the load.
//! A load is resumed, and a writer is opened again, only under the terms of its beginning.

use std::collections::{BTreeMap, BTreeSet};

use pgsluice_core::catalog::Relation;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::json::parse;
use crate::error::Result;
use crate::pg::sql::literal;
use crate::pg::template::eq;

/// The terms by name. An option that was not given has no entry.
type Terms = BTreeMap<String, String>;

/// The term that lists the columns of the input with their types.
const COLUMNS: &str = "columns";

/// Terms that are neither an option nor a setting.
const FACTS: [&str; 3] = [COLUMNS, "rules", "PostgreSQL"];

/// Options from which others follow: a difference in one of them is reported before any other.
const FIRST: [&str; 3] = ["format", "quote", "on_conflict"];

/// Settings that affect how values are read or converted, besides the settings that every connection sets.
const SETTINGS: [&str; 18] = [
    "TimeZone",
    "DateStyle",
    "IntervalStyle",
    "timezone_abbreviations",
    "array_nulls",
    "lc_monetary",
    "default_text_search_config",
    "xmloption",
    "search_path",
    "extra_float_digits",
    "bytea_output",
    "xmlbinary",
    "transform_null_equals",
    "lc_time",
    "lc_numeric",
    "standard_conforming_strings",
    "backslash_quote",
    // Triggers may change rows, and this setting can switch them off.
    "session_replication_role",
];

/// Returns an expression of type text: `columns` of `table` with their types.
fn columns_with_types(table: &Relation, columns: &[String]) -> String {
    let table = literal(table.to_string().as_bytes());
    let column =
        |(place, name): (usize, &String)| format!("({place}, {})", literal(name.as_bytes()));
    let columns: Vec<String> = columns.iter().enumerate().map(column).collect();
    let columns = match columns.is_empty() {
        true => "(0, '')".to_owned(),
        false => columns.join(", "),
    };
    format!(
        "(SELECT COALESCE(pg_catalog.string_agg(pg_catalog.format('%I %s', a.attname,
                     pg_catalog.format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY c.place), '')
          FROM (VALUES {columns}) AS c (place, name) JOIN pg_catalog.pg_attribute a
          ON a.attname {eq} c.name::pg_catalog.name
          AND a.attrelid {eq} {table}::pg_catalog.regclass::pg_catalog.oid)"
    )
}

/// Returns an expression of type jsonb: `options`, as JSON, with the settings of the session.
/// `columns` is an expression like that of [`spelled`], or its value; a writer has none, because its table
/// may be altered.
pub(crate) fn expression(options: &str, columns: Option<&str>) -> String {
    let setting = |name| format!("'{name}', pg_catalog.current_setting('{name}')");
    let columns = columns.map(|columns| format!("'{COLUMNS}', {columns}"));
    let pairs: Vec<String> = columns.into_iter().chain(SETTINGS.map(setting)).collect();
    format!(
        "pg_catalog.jsonb_concat({}::pg_catalog.jsonb, pg_catalog.jsonb_build_object({}))",
        literal(options.as_bytes()),
        pairs.join(", ")
    )
}

/// Returns the terms that a load with `options` would have in this session, as JSON.
pub(crate) async fn query(
    client: &Client,
    options: &str,
    table: &Relation,
    columns: &[String],
) -> Result<String> {
    let terms = expression(options, Some(&columns_with_types(table, columns)));
    let answers = client.simple_query(&format!("SELECT ({terms})::pg_catalog.text")).await?;
    let text = answers.iter().find_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    Ok(text.unwrap_or_default().to_owned())
}

/// Returns the first difference between terms from the ledger, in words.
///
/// # Errors
///
/// Fails if one of them is not the JSON of terms.
pub(crate) fn difference(before: &str, now: &str) -> Result<Option<[String; 2]>> {
    let (before, now): (Terms, Terms) = (parse(before)?, parse(now)?);
    Ok(first_difference(&before, &now))
}

/// Returns the first difference between two sets of terms, such as `with --null "NIL"` and `without it`. An
/// option that only one of them has is a difference too.
fn first_difference(before: &Terms, now: &Terms) -> Option<[String; 2]> {
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let differs = |name: &&&String| before.get(**name) != now.get(**name);
    let weight = |name: &&String| (!FIRST.contains(&name.as_str()), !is_option(name));
    let name = names.iter().filter(differs).min_by_key(|name| weight(name))?;
    let label = match is_option(name) {
        true => format!("--{}", name.replace('_', "-")),
        false => (*name).clone(),
    };
    let words = |terms: &Terms, absent: &str| match terms.get(*name).map(String::as_str) {
        None => format!("without {absent}"),
        Some("true") if is_option(name) => format!("with {label}"),
        Some(value) => format!("with {label} \"{value}\""),
    };
    let now_absent = if before.contains_key(*name) { "it" } else { &label };
    Some([words(before, &label), words(now, now_absent)])
}

fn is_option(name: &str) -> bool {
    !FACTS.contains(&name) && !SETTINGS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(pairs: &[(&str, &str)]) -> Terms {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_option_that_only_one_of_them_has_is_a_difference() {
        let before = [("null", "NIL"), ("no_native", "true"), ("DateStyle", "ISO, MDY")];
        let with = |more: &[(&str, &str)]| terms(&[&before[..], more].concat());
        let words = |before: &Terms, now: &Terms| {
            first_difference(before, now).map(|words| words.join("; ")).unwrap_or_default()
        };
        assert_eq!(words(&with(&[]), &with(&[])), "");
        let forced = with(&[("force_null", "v")]);
        assert_eq!(words(&with(&[]), &forced), "without --force-null; with --force-null \"v\"");
        assert_eq!(words(&forced, &with(&[])), "with --force-null \"v\"; without it");
        let others = with(&[("no_native", "x"), ("DateStyle", "SQL")]);
        assert_eq!(words(&with(&[]), &others), "with --no-native; with --no-native \"x\"");
        let style = with(&[("DateStyle", "SQL")]);
        assert_eq!(
            words(&with(&[]), &style),
            "with DateStyle \"ISO, MDY\"; with DateStyle \"SQL\""
        );
    }

    #[test]
    fn an_option_that_others_follow_from_is_named_first() {
        let now = terms(&[("duplicates", "last"), ("on_conflict", "update")]);
        let expected = ["without --on-conflict", "with --on-conflict \"update\""];
        assert_eq!(first_difference(&Terms::new(), &now), Some(expected.map(str::to_owned)));
    }
}
