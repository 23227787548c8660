//! Adjacent ranges from one value to another, for a table that has no partitions yet.

use tokio_postgres::GenericClient;

use super::steps::{Counting, WantedRange};
use crate::Result;

impl Counting {
    /// Returns adjacent ranges from the one that contains the first of `extent` to the one that contains the last, and
    /// `ahead` more. Stops behind `limit` ranges.
    pub(crate) async fn series(
        &self,
        client: &impl GenericClient,
        step: &str,
        extent: (&str, &str),
        ahead: usize,
        limit: usize,
    ) -> Result<Vec<(String, Option<String>)>> {
        let Self { ty, base } = self;
        let first = self.wanted(client, &[], step, &[(extent.0.to_owned(), 1)]).await?;
        let Some(WantedRange { lower, .. }) = first.into_iter().next() else {
            return Ok(Vec::new());
        };
        let step_type = if self.is_time() { "interval" } else { "numeric" };
        let most = self.ends().map(|(_, most)| most);
        let is_bound =
            most.map_or("true".to_owned(), |most| format!("anchor + (k + 1) * step <= {most}"));
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
}
