//! The catalogue and the statements of an exchange: what a leaf is, what stands in the way, and what
//! loads that have died left behind.

mod definitions;
mod harmless;
mod obstacles;

use std::collections::{HashMap, HashSet};

use pgsluice_core::catalog::{Relation, quoted};
use tokio_postgres::types::{Oid, ToSql};
use tokio_postgres::{Client, GenericClient, Statement};

use super::sql::{ASKING_SESSION, literal};
use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::pg::template::fill;

/// The constraint by which a table that is built knows its rows; dropped when it is attached.
pub(crate) const BOUND: &str = "pgsluice_bound";

/// The first key of the advisory lock that a table's exchange holds; the second is the root's oid.
const LOCK: i32 = i32::from_be_bytes(*b"pgsl");

/// The name of the shadow that `load` builds for a leaf. No other load has it: a load that has lost its
/// lock must not find what the next one builds.
pub(crate) fn shadow_name(leaf: Oid, load: &str) -> String {
    format!("pgsluice_new_{leaf}_{load}")
}

/// The comment on a table that is built for a partition of `root`; `%s` is the leaf's oid.
fn mark(root: &str) -> String {
    format!(
        "pgsluice exchange: to take the place of leaf %s of table {root}. If no load is running, \
         the next load --exchange drops it."
    )
}

/// Ends what a session was at, before it drops tables: the sessions that were building may still hold
/// locks.
pub(crate) const DROPPING: &str = "ROLLBACK; SET lock_timeout = '10s'";

/// Takes a leaf out of its parent, and drops it.
pub(crate) fn leave(parent: &Relation, leaf: &Relation) -> [String; 2] {
    [format!("ALTER TABLE {parent} DETACH PARTITION {leaf}"), format!("DROP TABLE {leaf}")]
}

/// Gives the table that was built for a leaf its name.
pub(crate) fn rename(built: &Relation, leaf: &Relation) -> String {
    format!("ALTER TABLE {built} RENAME TO {}", quoted(&leaf.name))
}

/// Puts a table into a leaf's place, where the parent's bounds take that of [`BOUND`].
pub(crate) fn enter(parent: &Relation, leaf: &Relation, bound: &str) -> [String; 2] {
    [
        format!("ALTER TABLE {parent} ATTACH PARTITION {leaf} {bound}"),
        format!("ALTER TABLE {leaf} DROP CONSTRAINT IF EXISTS {BOUND}"),
    ]
}

/// When something is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Made together with something else.
    Described,
    /// Together with the table, before its rows.
    Create,
    /// After the rows, each by itself.
    Index,
    /// When the indexes are there, in order.
    Finish,
    /// When the leaf is locked: its rows, if it has any by now.
    Move,
    /// When the leaf's name is free.
    Rename,
    /// When the table has the leaf's name and place.
    Late,
}

/// One thing of a leaf, and the statement that makes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Definition {
    pub(crate) stage: Stage,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) sql: String,
}

/// A leaf as it is, and what gives its shadow the same definition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defined {
    pub(crate) itself: Vec<Definition>,
    pub(crate) shadow: Vec<Definition>,
}

/// Reads what leaves are, on one connection.
pub(crate) struct Reader {
    statement: Statement,
    mark: String,
    load: String,
}

impl Reader {
    /// Prepares to read the partitions of `root` and the tables of `load`. All reading must be done
    /// under [`crate::pg::sql::DEPARSE_SETTINGS`].
    pub(crate) async fn prepare(client: &Client, root: Oid, load: &str) -> Result<Self> {
        client.batch_execute(ASKING_SESSION).await?;
        let statement = client.prepare(&definitions::query()).await?;
        Ok(Self { statement, mark: mark(&root.to_string()), load: load.to_owned() })
    }

    /// Returns what `leaf` is, and how to make another.
    pub(crate) async fn define(&self, client: &Client, leaf: Oid) -> Result<Defined> {
        let mut defined = Defined::default();
        for (_, shadow, definition) in self.read(client, &[leaf], &[false, true]).await? {
            let side = if shadow { &mut defined.shadow } else { &mut defined.itself };
            side.push(definition);
        }
        defined.itself.sort();
        Ok(defined)
    }

    /// Returns what each of `leaves` is by now, sorted.
    pub(crate) async fn describe(
        &self,
        client: &Client,
        leaves: &[Oid],
    ) -> Result<Vec<Vec<Definition>>> {
        let mut described = vec![Vec::new(); leaves.len()];
        for (place, _, definition) in self.read(client, leaves, &[false]).await? {
            described[place].push(definition);
        }
        described.iter_mut().for_each(|definitions| definitions.sort());
        Ok(described)
    }

    async fn read(
        &self,
        client: &Client,
        leaves: &[Oid],
        modes: &[bool],
    ) -> Result<Vec<(usize, bool, Definition)>> {
        let given: [&(dyn ToSql + Sync); 4] = [&leaves, &modes, &self.mark, &self.load];
        let rows = client.query(&self.statement, &given).await?;
        let thing = |row: &tokio_postgres::Row| {
            let [kind, name] = [3, 4].map(|column| row.get::<_, String>(column));
            let sql: Option<String> = row.get(5);
            let sql = sql.ok_or_else(|| {
                let message = format!("could not read the definition of {kind} {name}");
                Error::new(Kind::Server, message)
                    .with_hint("Load without " + option("exchange") + ".")
            })?;
            let place = row.get::<_, i32>(0).unsigned_abs() as usize - 1;
            Ok((place, row.get(1), Definition { stage: Stage::of(row.get(2)), kind, name, sql }))
        };
        rows.iter().map(thing).collect()
    }
}

impl Stage {
    fn of(word: &str) -> Self {
        match word {
            "create" => Self::Create,
            "index" => Self::Index,
            "finish" => Self::Finish,
            "move" => Self::Move,
            "rename" => Self::Rename,
            "late" => Self::Late,
            _ => Self::Described,
        }
    }
}

/// Returns what prevents the exchange of each of `leaves` for an input with `columns`: its place among
/// them, and why. With `replaces` the rows of the leaves go. It must be asked under
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

/// Returns those of `tables`, oid and name, that hold rows. A file without a page has no row in it; the
/// others are asked.
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
    // What this user may not look into cannot be said to be empty.
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

/// Returns how many of `leaves` one transaction can exchange. Half of the server's lock table must hold
/// them, each counted as the one with the most indexes.
pub(crate) async fn most_leaves(client: &impl GenericClient, leaves: &[Oid]) -> Result<usize> {
    let sql = "SELECT pg_catalog.current_setting('max_locks_per_transaction')::pg_catalog.int8
                    * (pg_catalog.current_setting('max_connections')::pg_catalog.int8
                       + pg_catalog.current_setting('max_prepared_transactions')::pg_catalog.int8)
                    / 2 / (16 + 8 * COALESCE(pg_catalog.max(indexes), 0))
               FROM (SELECT pg_catalog.count(*) AS indexes FROM pg_catalog.pg_index
                     WHERE indrelid = ANY (ARRAY(SELECT pg_catalog.unnest($1::pg_catalog.oid[])))
                     GROUP BY indrelid) AS leaf";
    let most: i64 = client.query_one(sql, &[&leaves]).await?.get(0);
    Ok(usize::try_from(most).unwrap_or(1).max(1))
}

/// The oids of tables by their names.
pub(crate) async fn find(client: &impl GenericClient, names: &[String]) -> Result<Vec<Oid>> {
    let sql = "SELECT name::pg_catalog.regclass::pg_catalog.oid
               FROM pg_catalog.unnest($1::pg_catalog.text[]) WITH ORDINALITY AS u (name, place)
               ORDER BY place";
    Ok(client.query(sql, &[&names]).await?.iter().map(|row| row.get(0)).collect())
}

/// Takes the lock of the exchange of `root`, which this session then holds to its end. Returns false if
/// another session has it.
pub(crate) async fn lock(client: &impl GenericClient, root: Oid) -> Result<bool> {
    let sql = "SELECT pg_catalog.pg_try_advisory_lock($1, $2)";
    Ok(client.query_one(sql, &[&LOCK, &root.cast_signed()]).await?.get(0))
}

/// Returns who else holds the lock of the exchange of `root`, in words.
pub(crate) async fn holder(client: &impl GenericClient, root: Oid) -> Result<Option<String>> {
    let sql = "SELECT pg_catalog.format('role \"%s\" (process %s)', a.usename, l.pid)
               FROM pg_catalog.pg_locks l
               JOIN pg_catalog.pg_database d ON d.oid {eq} l.database
               JOIN pg_catalog.pg_stat_activity a ON a.pid {eq} l.pid
               WHERE l.locktype {eq} 'advisory' AND l.granted
                 AND d.datname {eq} pg_catalog.current_database()
                 AND l.classid {eq} $1::pg_catalog.oid
                 AND l.objid {eq} $2::pg_catalog.oid
                 AND l.objsubid {eq} 2::pg_catalog.int2 LIMIT 1";
    let found = client.query_opt(&fill(sql, &[]), &[&LOCK.cast_unsigned(), &root]).await?;
    Ok(found.and_then(|row| row.get(0)))
}

/// A table that was built for a leaf and is in no tree: its name and the root that it was for.
pub(crate) type Leftover = (String, Oid);

/// Finds tables with the name, comment and shape of what an exchange builds, that belong to this role
/// or to the owner of their leaf. Other roles can make tables like them, and keep those.
pub(crate) async fn leftovers(client: &impl GenericClient) -> Result<Vec<Leftover>> {
    let comment = literal(format!("^{}$", mark("([0-9]+)").replace('.', "[.]")).as_bytes());
    let sql = format!(
        "SELECT pg_catalog.format('%I.%I', n.nspname, c.relname), said.about[2]::pg_catalog.oid
         FROM pg_catalog.pg_class c
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0
             AND d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass
         CROSS JOIN LATERAL pg_catalog.regexp_match(
             d.description, pg_catalog.replace({comment}, '%s', '([0-9]+)')) AS said (about)
         WHERE c.relname ~ pg_catalog.concat('^pgsluice_new_', said.about[1], '_[0-9a-f]+$')
           AND c.relkind = 'r' AND NOT c.relispartition
           AND (pg_catalog.pg_get_userbyid(c.relowner) = CURRENT_USER
                OR pg_catalog.pg_has_role(c.relowner, 'USAGE')
                   AND EXISTS (SELECT FROM pg_catalog.pg_class leaf
                               WHERE leaf.oid = said.about[1]::pg_catalog.oid AND leaf.relowner = c.relowner
                                 AND pg_catalog.pg_partition_root(leaf.oid) = said.about[2]::pg_catalog.oid))
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i
                           WHERE c.oid IN (i.inhrelid, i.inhparent))
         ORDER BY 1"
    );
    Ok(client.query(&sql, &[]).await?.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Drops a leftover unless the load that it belongs to is alive; a session that holds the lock of
/// its root keeps it.
pub(crate) async fn drop_leftover(client: &Client, (name, root): &Leftover) -> Result<()> {
    if lock(client, *root).await? {
        client.batch_execute(&format!("DROP TABLE IF EXISTS {name}")).await?;
        let sql = "SELECT pg_catalog.pg_advisory_unlock($1, $2)";
        client.execute(sql, &[&LOCK, &root.cast_signed()]).await?;
    }
    Ok(())
}

/// Drops what exchanges that have died left behind.
pub(crate) async fn drop_leftovers(client: &Client) -> Result<()> {
    for leftover in leftovers(client).await? {
        drop_leftover(client, &leftover).await?;
    }
    Ok(())
}
