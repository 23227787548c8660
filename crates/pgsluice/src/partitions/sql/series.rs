//! Ranges from one value to another: adjacent ones for a table without partitions, and those in the gaps
//! between existing partitions.

use pgsluice_core::catalog::quote_identifier;
use tokio_postgres::GenericClient;

use super::arithmetic::Arithmetic;
use super::steps::{Counting, NeededRange, Range};
use crate::Result;

impl Counting {
    /// Returns adjacent ranges from the range that contains the first value of `extent` to the one that
    /// contains the last, and `ahead` more. Returns at most `limit` ranges after the first.
    pub(crate) async fn series(
        &self,
        client: &impl GenericClient,
        step: &str,
        extent: (&str, &str),
        ahead: usize,
        limit: usize,
    ) -> Result<Vec<(String, Option<String>)>> {
        let Self { ty, base } = self;
        let first = self.needed_ranges(client, &[], step, &[(extent.0.to_owned(), 1)]).await?;
        let Some(NeededRange { lower, .. }) = first.into_iter().next() else {
            return Ok(Vec::new());
        };
        let step_type = if self.is_time() { "interval" } else { "numeric" };
        let max = self.ends().map(|(_, max)| max);
        let is_bound =
            max.map_or("true".to_owned(), |max| format!("anchor + (k + 1) * step <= {max}"));
        let sql = format!(
            "WITH RECURSIVE given AS (SELECT $1::text::{ty}::{base} AS anchor, $2::text::{step_type} AS step,
                                             $3::text::{ty}::{base} AS last),
             r (k, beyond) AS (
                 SELECT 0::int8, 0::int8
                 UNION ALL
                 SELECT k + 1, CASE WHEN anchor + (k + 1) * step > last THEN beyond + 1 ELSE 0 END
                 FROM r, given
                 WHERE k < $5::int8 AND (anchor + (k + 1) * step <= last OR beyond < $4::int8)
                   AND {is_bound})
             SELECT (anchor + k * step)::{ty}::text, CASE WHEN {is_bound} THEN (anchor + (k + 1) * step)::{ty}::text END
             FROM r, given ORDER BY k"
        );
        let [ahead, limit] = [ahead, limit].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        let rows = client.query(&sql, &[&lower, &step, &extent.1, &ahead, &limit]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Returns ranges of one step each between `ranges`. They cover the values of `extent` that no
    /// range contains, and are cut where one of `ranges` begins or ends. Stops after `limit` steps.
    pub(crate) async fn find_gaps(
        &self,
        client: &impl GenericClient,
        ranges: &[Range],
        step: &str,
        extent: (&str, &str),
        limit: usize,
    ) -> Result<Vec<(String, Option<String>)>> {
        let Self { ty, base } = self;
        let Arithmetic { step_type, origin, guess, slack, .. } = self.arithmetic();
        let (first, is_bound) = self.ends_in_sql();
        let sql = format!(
            "WITH s AS (SELECT l::{base} AS lo, h::{base} AS hi FROM unnest($1::text[], $2::text[]) AS r (l, h)),
             a AS (SELECT step, $4::text::{ty}::{base} AS value, $5::text::{ty}::{base} AS last,
                          COALESCE((SELECT max(lo) FROM s WHERE lo + step = hi), {origin}::{base}) AS anchor
                   FROM (SELECT $3::text::{step_type} AS step) AS given),
             f AS (SELECT max(k) AS first
                   FROM a CROSS JOIN LATERAL (SELECT {guess} AS guess) AS g
                   CROSS JOIN LATERAL generate_series(guess - ({slack}), guess + ({slack})) AS k
                   WHERE anchor + k * step <= value),
             r AS (SELECT k, anchor + k * step AS lo, anchor + (k + 1) * step AS hi
                   FROM a, f, generate_series(first, first + $6::int8) AS k
                   WHERE anchor + k * step <= last),
             p AS (SELECT k, lo AS at FROM r UNION SELECT k, hi FROM r
                   UNION SELECT k, at FROM r, s, LATERAL (VALUES (s.lo), (s.hi)) AS v (at) WHERE at > r.lo AND at < r.hi),
             c AS (SELECT at AS lo, lead(at) OVER (PARTITION BY k ORDER BY at) AS hi FROM p)
             SELECT {first}::{ty}::text, CASE WHEN {is_bound} THEN hi::{ty}::text END
             FROM c WHERE hi IS NOT NULL AND NOT EXISTS (
                 SELECT FROM s WHERE (s.lo IS NULL OR s.lo <= c.lo) AND (s.hi IS NULL OR s.hi >= c.hi))
             ORDER BY lo"
        );
        let (lower, upper): (Vec<_>, Vec<_>) = ranges.iter().cloned().unzip();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows =
            client.query(&sql, &[&lower, &upper, &step, &extent.0, &extent.1, &limit]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Returns which of the ranges that begin at `lower`, in ascending order, contain values of a column of
    /// `table`, as indexes into `lower`. All values must be in one of the ranges.
    pub(crate) async fn find_used(
        &self,
        client: &impl GenericClient,
        table: &str,
        column: &str,
        lower: &[&str],
    ) -> Result<Vec<usize>> {
        let (base, column) = (self.base, quote_identifier(column));
        let finite = self.arithmetic().finite;
        let sql = format!(
            "SELECT DISTINCT width_bucket(value, $1::text[]::{base}[])
             FROM (SELECT {column}::{base} AS value FROM ONLY {table}) AS v WHERE {finite}"
        );
        let rows = client.query(&sql, &[&lower]).await?;
        let place = |row: &tokio_postgres::Row| usize::try_from(row.get::<_, i32>(0) - 1).ok();
        Ok(rows.iter().filter_map(place).collect())
    }
}
