//! The bounds of partitions that do not exist yet. The server computes them with its own calendar, arithmetic
//! and spelling of values.
//!
//! A step is an interval or a number. Bounds are `anchor + k * step`, where the anchor is a bound of a
//! partition that has this step. They are cut where an existing partition is in the way.

use tokio_postgres::GenericClient;
use tokio_postgres::types::{Oid, ToSql};

use super::arithmetic::Arithmetic;
use crate::pg::sql::literal;
use crate::{Error, Kind, Result};

/// The arithmetic of a range key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counting {
    /// The key's type with its modifier, as SQL.
    pub(crate) ty: String,
    /// The type of the computations.
    pub(super) base: &'static str,
}

/// An existing range: its ends as text, or `None` if unbounded.
pub(crate) type Range = (Option<String>, Option<String>);

/// A range that rows need, and the number of these rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NeededRange {
    pub(crate) lower: String,
    /// `None` if the upper bound would exceed the type.
    pub(crate) upper: Option<String>,
    pub(crate) rows: u64,
}

/// Patterns for lower bounds in the names of partitions, the most precise first.
const PATTERNS: [&str; 15] = [
    "YYYY_MM_DD_HH24",
    "YYYYMMDDHH24",
    "YYYY_MM_DD",
    "YYYY-MM-DD",
    "YYYYMMDD",
    "IYYY\"_w\"IW",
    "IYYY\"w\"IW",
    "YYYY\"_q\"Q",
    "YYYY\"q\"Q",
    "YYYY_MM",
    "YYYY\"m\"MM",
    "YYYY\"_m\"MM",
    "YYYY-MM",
    "YYYYMM",
    "YYYY",
];

/// Settings for deparsed values that every session reads alike; the order of day and month is kept. Only
/// system names are found, so that no user's code runs to compute bounds or to create partitions.
pub(crate) const SESSION: &str = "
SET search_path = pg_catalog, pg_temp;
SET datestyle = 'ISO';
SET statement_timeout = 0";

/// Returns the type of a column, as SQL. For a domain this is its base type, because the constraints of a
/// domain may be a user's code.
pub(crate) async fn column_type(
    client: &impl GenericClient,
    table: Oid,
    column: &str,
) -> Result<String> {
    let sql = "WITH RECURSIVE base (type, modifier) AS (
                   SELECT atttypid, atttypmod FROM pg_catalog.pg_attribute
                   WHERE attrelid = $1 AND attname = $2
                   UNION ALL
                   SELECT t.typbasetype, t.typtypmod
                   FROM base JOIN pg_catalog.pg_type t ON t.oid = base.type AND t.typtype = 'd')
               SELECT pg_catalog.format_type(base.type, modifier)
               FROM base JOIN pg_catalog.pg_type t ON t.oid = base.type AND t.typtype <> 'd'";
    Ok(client.query_one(sql, &[&table, &column]).await?.get(0))
}

/// Whether a column accepts NULL.
pub(crate) async fn takes_null(
    client: &impl GenericClient,
    table: Oid,
    column: &str,
) -> Result<bool> {
    let sql =
        "SELECT NOT attnotnull FROM pg_catalog.pg_attribute WHERE attrelid = $1 AND attname = $2";
    Ok(client.query_one(sql, &[&table, &column]).await?.get(0))
}

/// Fails if a step is neither a positive number nor a positive interval.
pub(crate) async fn check(client: &impl GenericClient, given: &str) -> Result<()> {
    if given.trim().parse::<f64>().is_ok_and(|number| number > 0.0) {
        return Ok(());
    }
    let step = as_interval(given);
    let positive = client.query_one("SELECT $1::text::interval > '0'::interval", &[&step]).await;
    match positive.map(|row| row.get(0)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::new(Kind::Usage, format!("the step \"{given}\" is not positive"))),
        Err(error) if error.as_db_error().is_some() => {
            let message = format!("the step \"{given}\" is neither a number nor an interval");
            Err(Error::new(Kind::Usage, message)
                .with_hint("Valid steps are, for example, month, day, \"7 days\" and 1000."))
        }
        Err(error) => Err(error.into()),
    }
}

/// Adds the number one to a bare unit.
fn as_interval(given: &str) -> String {
    let unit = given.trim().to_lowercase();
    match unit.strip_suffix('s').unwrap_or(&unit) {
        "quarter" => "3 months".to_owned(),
        one @ ("hour" | "day" | "week" | "month" | "year") => format!("1 {one}"),
        _ => given.to_owned(),
    }
}

impl Counting {
    /// Returns the arithmetic of the type `ty`, if it has one.
    pub(crate) fn from_type(ty: String) -> Option<Self> {
        let word = ty.split(['(', ' ']).next().unwrap_or_default();
        let base = match word {
            _ if ty.ends_with("[]") => return None,
            "date" => "timestamp",
            "timestamp" if ty.ends_with("with time zone") => "timestamptz",
            "timestamp" => "timestamp",
            "smallint" | "integer" | "bigint" | "numeric" => "numeric",
            _ => return None,
        };
        Some(Self { ty, base })
    }

    /// Returns the least and the greatest value of an integer type, which limit its bounds.
    pub(super) fn ends(&self) -> Option<(i64, i64)> {
        match self.ty.as_str() {
            "smallint" => Some((i16::MIN.into(), i16::MAX.into())),
            "integer" => Some((i32::MIN.into(), i32::MAX.into())),
            "bigint" => Some((i64::MIN, i64::MAX)),
            _ => None,
        }
    }

    /// Whether steps are intervals rather than numbers.
    pub(crate) fn is_time(&self) -> bool {
        self.base != "numeric"
    }

    /// Returns the step as SQL: `month` is one month, and so on.
    pub(crate) fn step(&self, given: &str) -> String {
        as_interval(given)
    }

    /// Returns the step that most of `ranges` have, or `None` if no step has a majority.
    pub(crate) async fn usual_step(
        &self,
        client: &impl GenericClient,
        ranges: &[Range],
    ) -> Result<Option<String>> {
        let base = self.base;
        let candidates = if self.is_time() {
            "SELECT pg_catalog.make_interval(months => (12 * extract(year FROM age(hi, lo))
                        + extract(month FROM age(hi, lo)))::int4) AS step, 1 AS rank FROM s
             UNION SELECT pg_catalog.make_interval(days => hi::date - lo::date), 2 FROM s
             UNION SELECT hi - lo, 3 FROM s"
        } else {
            "SELECT hi - lo AS step, 1 AS rank FROM s"
        };
        let finite = if self.is_time() { "isfinite(lo) AND isfinite(hi)" } else { "true" };
        let zero = if self.is_time() { "'0'::interval" } else { "0" };
        let sql = format!(
            "WITH s AS (SELECT * FROM (SELECT l::{base} AS lo, h::{base} AS hi
                        FROM unnest($1::text[], $2::text[]) AS r (l, h)) AS r
                        WHERE lo IS NOT NULL AND hi IS NOT NULL AND {finite}),
                  c AS ({candidates})
             SELECT step::text FROM (
                 SELECT step, rank, (SELECT count(*) FROM s WHERE lo + step = hi) AS fits
                 FROM c WHERE step > {zero}) AS f
             WHERE 2 * fits > (SELECT count(*) FROM s)
             ORDER BY fits DESC, rank LIMIT 1"
        );
        let (lower, upper): (Vec<_>, Vec<_>) = ranges.iter().cloned().unzip();
        Ok(client.query_opt(&sql, &[&lower, &upper]).await?.map(|row| row.get(0)))
    }

    /// Returns the ranges beside `ranges` that the values `keys` need, each with its number of rows. Infinite
    /// values have none.
    pub(crate) async fn needed_ranges(
        &self,
        client: &impl GenericClient,
        ranges: &[Range],
        step: &str,
        keys: &[(String, u64)],
    ) -> Result<Vec<NeededRange>> {
        let (lower, upper): (Vec<_>, Vec<_>) = ranges.iter().cloned().unzip();
        let (values, rows): (Vec<&str>, Vec<i64>) =
            keys.iter().map(|(value, rows)| (value.as_str(), rows.cast_signed())).unzip();
        let parameters: [&(dyn ToSql + Sync); 5] = [&lower, &upper, &step, &values, &rows];
        let rows = client.query(&self.needed_ranges_sql(), &parameters).await?;
        let wanted = |row: &tokio_postgres::Row| NeededRange {
            lower: row.get(0),
            upper: row.get(1),
            rows: row.get::<_, i64>(2).unsigned_abs(),
        };
        Ok(rows.iter().map(wanted).collect())
    }

    /// Returns the query of [`Self::needed_ranges`].
    fn needed_ranges_sql(&self) -> String {
        let Self { ty, base } = self;
        let Arithmetic { step_type, origin, finite, guess, slack } = self.arithmetic();
        let (first, is_bound) = self.ends_in_sql();
        format!(
            "WITH s AS (SELECT l::{base} AS lo, h::{base} AS hi
                        FROM unnest($1::text[], $2::text[]) AS r (l, h)),
             a AS (SELECT step, COALESCE((SELECT max(lo) FROM s WHERE lo + step = hi),
                                         {origin}::{base}) AS anchor
                   FROM (SELECT $3::text::{step_type} AS step) AS given),
             k AS (SELECT value, n, k, anchor + k * step AS lo, anchor + (k + 1) * step AS hi
                   FROM (SELECT v::{ty}::{base} AS value, n
                         FROM unnest($4::text[], $5::int8[]) AS u (v, n)) AS v
                   CROSS JOIN a
                   CROSS JOIN LATERAL (SELECT CASE WHEN {finite} THEN {guess} END AS guess) AS g
                   CROSS JOIN LATERAL generate_series(guess - ({slack}), guess + ({slack})) AS k
                   WHERE anchor + k * step <= value AND value < anchor + (k + 1) * step),
             b AS (SELECT DISTINCT k, lo, hi FROM k),
             o AS (SELECT b.k, s.lo AS begins, s.hi AS ends FROM b JOIN s
                   ON (s.lo IS NULL OR s.lo < b.hi) AND (s.hi IS NULL OR s.hi > b.lo)),
             c AS (SELECT n, greatest(lo, max(ends) FILTER (WHERE ends <= value)) AS lo,
                          least(hi, min(begins) FILTER (WHERE begins > value)) AS hi
                   FROM k LEFT JOIN o USING (k) GROUP BY value, n, lo, hi)
             SELECT {first}::{ty}::text, CASE WHEN {is_bound} THEN hi::{ty}::text END, sum(n)::int8
             FROM c GROUP BY lo, hi ORDER BY lo"
        )
    }

    /// Returns the number of steps from each of `lower` to the nearest beginning of `ranges`, if there is
    /// one.
    pub(crate) async fn distances(
        &self,
        client: &impl GenericClient,
        ranges: &[Range],
        step: &str,
        lower: &[String],
    ) -> Result<Vec<Option<f64>>> {
        let base = self.base;
        let (distance, finite) = match self.is_time() {
            true => (
                "abs(extract(epoch FROM w.lo - r.lo)::float8) / extract(epoch FROM $3::text::interval)::float8",
                "isfinite(r.lo)",
            ),
            false => ("(abs(w.lo - r.lo) / $3::text::numeric)::float8", "true"),
        };
        let sql = format!(
            "SELECT min({distance})
             FROM (SELECT v::{base} AS lo, o FROM unnest($1::text[]) WITH ORDINALITY AS u (v, o)) AS w
             LEFT JOIN (SELECT COALESCE(l, h)::{base} AS lo FROM unnest($2::text[], $4::text[]) AS u (l, h)) AS r
                 ON r.lo IS NOT NULL AND {finite}
             GROUP BY w.o ORDER BY w.o"
        );
        let (begins, ends): (Vec<_>, Vec<_>) = ranges.iter().cloned().unzip();
        let rows = client.query(&sql, &[&lower, &begins, &step, &ends]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Finds the nearest of `ranges` for each of `lower`, preferably below it, and the ways in which names
    /// may spell the lower bounds of both.
    pub(crate) async fn neighbours(
        &self,
        client: &impl GenericClient,
        ranges: &[Range],
        lower: &[String],
    ) -> Result<Vec<Neighbour>> {
        let Self { ty, base } = self;
        let spelled = |value: &str| {
            if self.is_time() {
                format!(
                    "ARRAY(SELECT pg_catalog.to_char({value}, f)
                           FROM unnest($3::text[]) WITH ORDINALITY AS p (f, o) ORDER BY o)"
                )
            } else {
                format!("ARRAY[{value}::{ty}::text]")
            }
        };
        let (old, new) = (spelled("n.lo"), spelled("w.lo"));
        let sql = format!(
            "SELECT n.place, {old}, {new}
             FROM (SELECT v::{base} AS lo, o FROM unnest($1::text[]) WITH ORDINALITY AS u (v, o))
                  AS w
             LEFT JOIN LATERAL (
                 SELECT r.lo, r.place
                 FROM (SELECT v::{base} AS lo, o AS place
                       FROM unnest($2::text[]) WITH ORDINALITY AS u (v, o)) AS r
                 WHERE r.lo IS NOT NULL AND cardinality($3::text[]) >= 0
                 ORDER BY r.lo <= w.lo DESC,
                          CASE WHEN r.lo <= w.lo THEN w.lo - r.lo ELSE r.lo - w.lo END
                 LIMIT 1) AS n ON true
             ORDER BY w.o"
        );
        let begins: Vec<&Option<String>> = ranges.iter().map(|(lower, _)| lower).collect();
        let patterns: &[&str] = &PATTERNS;
        let rows = client.query(&sql, &[&lower, &begins, &patterns]).await?;
        let neighbour = |row: &tokio_postgres::Row| {
            let place = row.get::<_, Option<i64>>(0);
            let spellings = |column| row.get::<_, Vec<Option<String>>>(column).into_iter();
            Neighbour {
                place: place.and_then(|place| usize::try_from(place - 1).ok()),
                spellings: spellings(1)
                    .zip(spellings(2))
                    .filter_map(|(a, b)| Some((a?, b?)))
                    .collect(),
            }
        };
        Ok(rows.iter().map(neighbour).collect())
    }
}

/// The existing range next to a new one.
#[derive(Debug)]
pub(crate) struct Neighbour {
    /// Its index among the ranges.
    pub(crate) place: Option<usize>,
    /// Pairs of its lower bound and the new one, each in the same spelling.
    pub(crate) spellings: Vec<(String, String)>,
}

/// Returns the distinct values of `keys` as the type `ty` reads them: text, SQL literal and number of rows.
/// One value represents all that are equal, such as `1` and `1.0`.
pub(crate) async fn values(
    client: &impl GenericClient,
    ty: &str,
    keys: &[(Option<String>, u64)],
) -> Result<Vec<(Option<String>, String, u64)>> {
    // For a user's type, the input and output functions are used, because a cast may be the user's code.
    // Under SESSION, system types have no schema prefix.
    let shown = if ty.contains('.') { "format('%s', key)" } else { "key::text" };
    let row = |(value, rows): &(Option<String>, u64)| {
        let value = value.as_ref().map_or("NULL".to_owned(), |value| literal(value.as_bytes()));
        format!("({value}::{ty}, {rows}::int8)")
    };
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT min(shown), pg_catalog.quote_nullable(min(shown)), sum(n)::int8
         FROM (SELECT key, CASE WHEN key IS NOT NULL THEN {shown} END AS shown, n
               FROM (VALUES {}) AS u (key, n)) AS v
         GROUP BY key ORDER BY 1",
        keys.iter().map(row).collect::<Vec<_>>().join(", ")
    );
    let rows = client.query(&sql, &[]).await?;
    let value =
        |row: &tokio_postgres::Row| (row.get(0), row.get(1), row.get::<_, i64>(2).unsigned_abs());
    Ok(rows.iter().map(value).collect())
}

/// Returns the existing names in the schemas. Like everything above, it must run under [`SESSION`].
pub(crate) async fn existing_names(
    client: &impl GenericClient,
    schemas: &[&str],
) -> Result<Vec<(String, String)>> {
    let sql = "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c
                   JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = ANY ($1)
               UNION
               SELECT n.nspname, t.typname FROM pg_catalog.pg_type t
                   JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
               WHERE n.nspname = ANY ($1)";
    let rows = client.query(sql, &[&schemas]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}
