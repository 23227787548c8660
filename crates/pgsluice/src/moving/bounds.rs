//! The bounds of partitions, derived from the values of a column, and the suffixes of their names.

use pgsluice_core::catalog::Strategy;
use tokio_postgres::Client;

use super::spec::{Level, MAX_LEAVES, Shape};
use super::sql::values::{distinct, extent};
use super::table::Table;
use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::partitions::names::after_value;
use crate::partitions::sql::steps::{self, Counting};
use crate::pg::sql::literal;

/// A bound, and the suffix of its partition's name.
pub(super) type NamedBound = (String, String);

/// Returns the bounds of a level of partitions.
pub(super) async fn bounds_of(
    shape: &Shape,
    level: &Level,
    table: &Table,
    client: &Client,
) -> Result<Vec<NamedBound>> {
    let mut bounds = match level.strategy {
        Strategy::Hash => {
            let leaves = shape.leaves.unwrap_or(1);
            let bound = |number| {
                (
                    format!("FOR VALUES WITH (MODULUS {leaves}, REMAINDER {number})"),
                    format!("_{number}"),
                )
            };
            return Ok((0..leaves).map(bound).collect());
        }
        Strategy::List => list_bounds(&level.columns[0], table, client).await?,
        Strategy::Range => range_bounds(shape, &level.columns[0], table, client).await?,
    };
    if shape.has_default {
        bounds.push(("DEFAULT".to_owned(), "_default".to_owned()));
    }
    if bounds.is_empty() {
        let message =
            format!("table {} has no rows to derive partitions from", table.relation.label());
        return Err(Error::new(Kind::Usage, message).with_hint(
            "Create an empty partitioned table and name it with " + option("like") + ".",
        ));
    }
    Ok(bounds)
}

/// Returns a bound for each distinct value of a column.
pub(super) async fn list_bounds(
    column: &str,
    table: &Table,
    client: &Client,
) -> Result<Vec<NamedBound>> {
    let own = table.relation.to_string();
    let found = client.query(&distinct(&own, column, MAX_LEAVES + 1), &[]).await?;
    if found.len() > MAX_LEAVES {
        let message = format!("column \"{column}\" has more than {MAX_LEAVES} values");
        return Err(Error::new(Kind::Usage, message).with_sqlstate("54000"));
    }
    let ty = steps::column_type(client, table.oid, column).await?;
    let keys: Vec<_> = found.iter().map(|row| (row.get(0), 1)).collect();
    let bound = |(value, literal, _): (Option<String>, String, u64)| {
        (format!("FOR VALUES IN ({})", literal), after_value("", value.as_deref()))
    };
    Ok(steps::values(client, &ty, &keys).await?.into_iter().map(bound).collect())
}

async fn range_bounds(
    shape: &Shape,
    column: &str,
    table: &Table,
    client: &Client,
) -> Result<Vec<NamedBound>> {
    let Ranged { counting, step, extent, outside } =
        Ranged::read(shape, column, table, client).await?;
    if let Some((what, rows)) = outside.into_iter().find(|(_, rows)| *rows > 0)
        && !shape.has_default
    {
        let message =
            format!("{rows} rows have {what} in column \"{column}\", which no range contains");
        return Err(Error::new(Kind::Data, message)
            .with_sqlstate("23514")
            .with_hint("Add " + option("default-partition") + " for them."));
    }
    let Some((min, max)) = extent else { return Ok(Vec::new()) };
    let extent = (min.as_str(), max.as_str());
    let ranges = counting.series(client, &step, extent, shape.ahead, MAX_LEAVES).await?;
    if ranges.len() > MAX_LEAVES {
        return Err(Ranged::too_many(column, extent));
    }
    let suffixes = suffixes(&ranges, counting.is_time());
    let bound = |((lower, upper), suffix): ((String, Option<String>), String)| {
        (range(&lower, upper.as_deref()), suffix)
    };
    Ok(ranges.into_iter().zip(suffixes).map(bound).collect())
}

/// A column that is divided into ranges.
pub(super) struct Ranged {
    pub(super) counting: Counting,
    /// The width of a range, as SQL.
    pub(super) step: String,
    /// The least and the greatest value that a range can contain.
    pub(super) extent: Option<(String, String)>,
    /// Values that no range contains, and the number of rows with them.
    outside: [(&'static str, i64); 2],
}

impl Ranged {
    /// Reads the values of a column.
    pub(super) async fn read(
        shape: &Shape,
        column: &str,
        table: &Table,
        client: &Client,
    ) -> Result<Self> {
        let step = shape.step.as_deref().unwrap_or_default();
        steps::check(client, step).await?;
        let ty = steps::column_type(client, table.oid, column).await?;
        let is_numeric = ty.starts_with("numeric");
        let Some(counting) = Counting::from_type(ty) else {
            let message = format!("column \"{column}\" is neither a number nor a date");
            let hint = match shape.of {
                None => "Create an empty partitioned table and name it with " + option("like") + ".",
                Some(_) => "Detach the partition, create the missing ones, and load its rows into the table.".into(),
            };
            return Err(Error::new(Kind::Usage, message).with_sqlstate("42804").with_hint(hint));
        };
        let own = table.relation.to_string();
        let row =
            client.query_one(&extent(&own, column, counting.is_time(), is_numeric), &[]).await?;
        let outside = [("NULL", row.get(2)), ("an infinite value", row.get(3))];
        let ends: (Option<String>, Option<String>) = (row.get(0), row.get(1));
        let step = counting.step(step);
        Ok(Self { counting, step, extent: ends.0.zip(ends.1), outside })
    }

    /// Returns the error about a step that would create too many partitions.
    pub(super) fn too_many(column: &str, (min, max): (&str, &str)) -> Error {
        let message = format!("the step makes more than {MAX_LEAVES} partitions");
        let detail = format!("Column \"{column}\" has values from {min} to {max}.");
        Error::new(Kind::Usage, message)
            .with_sqlstate("54000")
            .with_detail(detail)
            .with_hint("Use a wider " + option("step") + ".")
    }
}

/// Returns the bound from one value to another, or to the end of the type.
pub(super) fn range(lower: &str, upper: Option<&str>) -> String {
    let to = upper.map_or("MAXVALUE".to_owned(), |upper| literal(upper.as_bytes()));
    format!("FOR VALUES FROM ({}) TO ({to})", literal(lower.as_bytes()))
}

/// Returns the suffixes of the names of partitions with these bounds: months by year and month, years by the
/// year.
pub(super) fn suffixes(ranges: &[(String, Option<String>)], is_time: bool) -> Vec<String> {
    let date = |text: &String| text.split([' ', '+']).next().unwrap_or_default().to_owned();
    let is_midnight =
        |text: &String| text.split(' ').nth(1).is_none_or(|time| time.starts_with("00:00:00"));
    let ends = || ranges.iter().flat_map(|(lower, upper)| [Some(lower), upper.as_ref()]).flatten();
    let mut names: Vec<String> = ranges.iter().map(|(lower, _)| lower.clone()).collect();
    if is_time && ends().all(is_midnight) {
        names = names.iter().map(date).collect();
        for part in ["-01", "-01-01"] {
            if ends().map(date).all(|end| end.ends_with(part)) {
                names.iter_mut().for_each(|name| name.truncate(name.len() - "-01".len()));
            }
        }
    }
    names.iter().map(|name| after_value("", Some(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_named_after_their_bounds() {
        let named = |bounds: &[&str], is_time| {
            let range =
                |pair: &[&str]| (pair[0].to_owned(), pair.get(1).map(|&end| end.to_owned()));
            suffixes(&bounds.windows(2).map(range).collect::<Vec<_>>(), is_time).join(" ")
        };
        assert_eq!(named(&["2026-01-01", "2026-02-01"], true), "_2026_01");
        assert_eq!(named(&["2025-01-01 00:00:00", "2026-01-01 00:00:00"], true), "_2025");
        assert_eq!(
            named(&["2026-01-05", "2026-01-12", "2026-01-19"], true),
            "_2026_01_05 _2026_01_12"
        );
        assert_eq!(named(&["2026-03-01 00:00:00+01", "2026-04-01 00:00:00+02"], true), "_2026_03");
        assert_eq!(
            named(&["2026-01-01 00:00:00", "2026-01-01 12:00:00", "2026-01-02 00:00:00"], true),
            "_2026_01_01 _2026_01_01_12_00_00"
        );
        assert_eq!(named(&["0", "1000", "2000"], false), "_0 _1000");
    }
}
