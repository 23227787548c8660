//! The catalogue and the statements of an exchange: what a leaf is, and how another table takes its place.

mod definitions;
pub(crate) mod harmless;

use pgsluice_core::catalog::{Relation, quoted};
use tokio_postgres::types::{Oid, ToSql};
use tokio_postgres::{Client, GenericClient, Statement};

use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::pg::exchange::{LOCK, mark};
use crate::pg::sql::ASKING_SESSION;
use crate::pg::template::fill;

/// The constraint by which a table that is built knows its rows; dropped when it is attached.
pub(crate) const BOUND: &str = "pgsluice_bound";

/// The name of the shadow that `load` builds for a leaf. No other load has it: a load that has lost its
/// lock must not find what the next one builds.
pub(crate) fn shadow_name(leaf: Oid, load: &str) -> String {
    format!("pgsluice_new_{leaf}_{load}")
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
pub(crate) enum BuildStage {
    /// Made together with something else.
    Described,
    /// Together with the table, before its rows.
    Create,
    /// After the rows, each by itself.
    Index,
    /// When the indexes are there, in order.
    Finish,
    /// When the leaf is locked: its rows, if it has got any.
    Move,
    /// When the leaf's name is free.
    Rename,
    /// When the table has the leaf's name and place.
    Late,
}

/// One thing of a leaf, and the statement that makes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Definition {
    pub(crate) stage: BuildStage,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) sql: String,
}

/// The definitions of a leaf, and the statements that give its shadow the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defined {
    pub(crate) itself: Vec<Definition>,
    pub(crate) shadow: Vec<Definition>,
}

/// Reads what leaves are, on one connection.
pub(crate) struct LeafReader {
    statement: Statement,
    mark: String,
    load: String,
}

impl LeafReader {
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

    /// Returns the present definitions of each of `leaves`, sorted.
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
            Ok((
                place,
                row.get(1),
                Definition { stage: BuildStage::of(row.get(2)), kind, name, sql },
            ))
        };
        rows.iter().map(thing).collect()
    }
}

impl BuildStage {
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
