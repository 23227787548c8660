//! Queries about exchanges for other modules: the obstacles of leaves, and the leftovers of loads that died.

mod obstacles;

use std::collections::{HashMap, HashSet};

use tokio_postgres::types::Oid;
use tokio_postgres::{Client, GenericClient};

use super::sql::literal;
use crate::error::Result;

/// The first key of the advisory lock that a table's exchange holds; the second is the root's oid.
pub(crate) const LOCK: i32 = i32::from_be_bytes(*b"pgsl");

/// Returns the comment on a table that is built for a partition of `root`; `%s` is the leaf's oid.
pub(crate) fn mark(root: &str) -> String {
    format!(
        "pgsluice exchange: to take the place of leaf %s of table {root}. If no load is running, \
         the next load --exchange drops it."
    )
}

/// Returns the obstacles to the exchange of `leaves` for an input with `columns`, as pairs of the leaf's
/// index and the reason. With `replaces`, the rows of the leaves are dropped. Must be called under
/// [`crate::pg::sql::DEPARSE_SETTINGS`].
pub(crate) async fn obstacles(
    client: &impl GenericClient,
    leaves: &[Oid],
    columns: &[String],
    replaces: bool,
) -> Result<Vec<(usize, String)>> {
    let rows = client.query(obstacles::OBSTACLES, &[&leaves, &columns, &replaces]).await?;
    let found =
        |row: &tokio_postgres::Row| (row.get::<_, i32>(0).unsigned_abs() as usize - 1, row.get(1));
    Ok(rows.iter().map(found).collect())
}

/// Returns the `tables`, oid and name, that hold rows. A file without pages has no rows; other tables are
/// queried.
pub(crate) async fn not_empty(
    client: &impl GenericClient,
    tables: &[(Oid, String)],
) -> Result<HashSet<Oid>> {
    let oids: Vec<Oid> = tables.iter().map(|(oid, _)| *oid).collect();
    let sql = "SELECT o, pg_catalog.has_table_privilege(o, 'SELECT')
               FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS u (o)
               WHERE pg_catalog.pg_relation_size(o::pg_catalog.regclass) > 0";
    let large = client.query(sql, &[&oids]).await?;
    let large: HashMap<Oid, bool> = large.iter().map(|row| (row.get(0), row.get(1))).collect();
    let (may_look, may_not): (Vec<_>, Vec<_>) =
        tables.iter().filter(|(oid, _)| large.contains_key(oid)).partition(|(oid, _)| large[oid]);
    // A table that this user may not read cannot be assumed to be empty.
    let mut found: HashSet<Oid> = may_not.iter().map(|(oid, _)| *oid).collect();
    for some in may_look.chunks(100) {
        let each = some.iter().map(|(oid, name)| {
            format!("SELECT {oid}::pg_catalog.oid WHERE EXISTS (SELECT FROM ONLY {name})")
        });
        let sql = each.collect::<Vec<_>>().join(" UNION ALL ");
        found.extend(client.query(&sql, &[]).await?.iter().map(|row| row.get::<_, Oid>(0)));
    }
    Ok(found)
}

/// Takes the lock of the exchange of `root`, which this session then holds until it ends. Returns false if
/// another session has it.
pub(crate) async fn lock(client: &impl GenericClient, root: Oid) -> Result<bool> {
    let sql = "SELECT pg_catalog.pg_try_advisory_lock($1, $2)";
    Ok(client.query_one(sql, &[&LOCK, &root.cast_signed()]).await?.get(0))
}

/// A table that was built for a leaf but is not in a tree: its name, and the root that it was built for.
pub(crate) type Leftover = (String, Oid);

/// Finds tables with the name, comment and shape of tables that an exchange builds, which belong to this role
/// or to the owner of their leaf. Similar tables of other roles are not touched.
pub(crate) async fn leftovers(client: &impl GenericClient) -> Result<Vec<Leftover>> {
    let comment = literal(format!("^{}$", mark("([0-9]+)").replace('.', "[.]")).as_bytes());
    let sql = format!(
        "SELECT pg_catalog.format('%I.%I', n.nspname, c.relname), parsed.about[2]::pg_catalog.oid
         FROM pg_catalog.pg_class c
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0
             AND d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass
         CROSS JOIN LATERAL pg_catalog.regexp_match(
             d.description, pg_catalog.replace({comment}, '%s', '([0-9]+)')) AS parsed (about)
         WHERE c.relname ~ pg_catalog.concat('^pgsluice_new_', parsed.about[1], '_[0-9a-f]+$')
           AND c.relkind = 'r' AND NOT c.relispartition
           AND (pg_catalog.pg_get_userbyid(c.relowner) = CURRENT_USER
                OR pg_catalog.pg_has_role(c.relowner, 'USAGE')
                   AND EXISTS (SELECT FROM pg_catalog.pg_class leaf
                               WHERE leaf.oid = parsed.about[1]::pg_catalog.oid AND leaf.relowner = c.relowner
                                 AND pg_catalog.pg_partition_root(leaf.oid) = parsed.about[2]::pg_catalog.oid))
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i
                           WHERE c.oid IN (i.inhrelid, i.inhparent))
         ORDER BY 1"
    );
    Ok(client.query(&sql, &[]).await?.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Drops a leftover, unless the load that it belongs to is alive, which then holds the lock of its root.
pub(crate) async fn drop_leftover(client: &Client, (name, root): &Leftover) -> Result<()> {
    if lock(client, *root).await? {
        client.batch_execute(&format!("DROP TABLE IF EXISTS {name}")).await?;
        let sql = "SELECT pg_catalog.pg_advisory_unlock($1, $2)";
        client.execute(sql, &[&LOCK, &root.cast_signed()]).await?;
    }
    Ok(())
}

/// Drops the leftovers of exchanges that have died.
pub(crate) async fn drop_leftovers(client: &Client) -> Result<()> {
    for leftover in leftovers(client).await? {
        drop_leftover(client, &leftover).await?;
    }
    Ok(())
}
