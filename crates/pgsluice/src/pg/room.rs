//! The number of connections that the server still has for this user in this database.

use tokio_postgres::GenericClient;

use crate::error::Result;
use crate::pg::template::fill;

/// Query for the tightest limit: how many connections it allows, how many of them are free, and its
/// description. Superusers may use reserved connections, and no role or database limits them. The statistics
/// count connections to databases; walsenders have slots of their own.
const LIMITS: &str = "
WITH me AS (
    SELECT r.oid, r.rolname, r.rolsuper, r.rolconnlimit, d.oid AS database, d.datname, d.datconnlimit,
           COALESCE((SELECT pg_catalog.pg_has_role(p.oid, 'USAGE') FROM pg_catalog.pg_roles p
                     WHERE p.rolname {eq} 'pg_use_reserved_connections'), false)
               AS reserved
    FROM pg_catalog.pg_roles r, pg_catalog.pg_database d
    WHERE r.rolname {eq} SESSION_USER
      AND d.datname {eq} pg_catalog.current_database()
),
kept AS (
    SELECT COALESCE(pg_catalog.sum(s.setting::pg_catalog.int8), 0)::pg_catalog.int8 AS count
    FROM pg_catalog.pg_settings s, me
    WHERE NOT me.rolsuper
      AND (s.name {eq} 'superuser_reserved_connections'
           OR s.name {eq} 'reserved_connections' AND NOT me.reserved)
)
SELECT most, most {minus} used, what FROM (
    SELECT pg_catalog.current_setting('max_connections')::pg_catalog.int8
               {minus} kept.count AS most,
           (SELECT pg_catalog.sum(numbackends)::pg_catalog.int8 FROM pg_catalog.pg_stat_database) AS used,
           'the server has %s connections for this user (max_connections)' AS what
    FROM kept
    UNION ALL
    SELECT rolconnlimit, (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity
                          WHERE usesysid {eq} me.oid),
           pg_catalog.format('role %I may have %%s connections', rolname)
    FROM me WHERE rolconnlimit {ge} 0 AND NOT rolsuper
    UNION ALL
    SELECT datconnlimit, (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity
                          WHERE datid {eq} me.database),
           pg_catalog.format('database %I may have %%s connections', datname)
    FROM me WHERE datconnlimit {ge} 0 AND NOT rolsuper
) AS limits ORDER BY 2 LIMIT 1";

/// Returns the number of free connections, not counting that of `client`, and the limit in words.
pub(crate) async fn connections(client: &impl GenericClient) -> Result<(usize, String)> {
    let row = client.query_typed_one(&fill(LIMITS, &[]), &[]).await?;
    let (max, free): (i64, i64) = (row.get(0), row.get(1));
    let what = row.get::<_, String>(2).replace("%s", &max.to_string());
    let free = usize::try_from(free).unwrap_or(0);
    Ok((free, format!("{what}, but only {free} are free")))
}
