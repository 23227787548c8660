//! The catalogue queries and the statements of an exchange: the definition of a leaf, and its replacement by
//! another table.

mod definitions;
pub(crate) mod harmless;

use pgsluice_core::catalog::{Relation, quote_identifier};
use tokio_postgres::types::{Oid, ToSql};
use tokio_postgres::{Client, GenericClient, Statement};

use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::pg::exchange::{LOCK, mark};
use crate::pg::sql::ASKING_SESSION;
use crate::pg::template::fill;

/// The constraint that tells the server which rows a shadow contains. It is dropped after the shadow is
/// attached.
pub(crate) const BOUND: &str = "pgsluice_bound";

/// Returns the name of the shadow that `load` builds for a leaf. No other load uses it: a load that has lost
/// its lock must not find the shadows of the next one.
pub(crate) fn shadow_name(leaf: Oid, load: &str) -> String {
    format!("pgsluice_new_{leaf}_{load}")
}

/// Ends the current transaction of a session before it drops tables, and waits for the locks of sessions that
/// were building.
pub(crate) const DROPPING: &str = "ROLLBACK; SET lock_timeout = '10s'";

/// Returns the statements that detach a leaf from its parent and drop it.
pub(crate) fn leave(parent: &Relation, leaf: &Relation) -> [String; 2] {
    [format!("ALTER TABLE {parent} DETACH PARTITION {leaf}"), format!("DROP TABLE {leaf}")]
}

/// Returns the statement that gives a shadow the name of its leaf.
pub(crate) fn rename(built: &Relation, leaf: &Relation) -> String {
    format!("ALTER TABLE {built} RENAME TO {}", quote_identifier(&leaf.name))
}

/// Returns the statements that attach a table in the place of a leaf, and drop [`BOUND`], which the partition
/// bound replaces.
pub(crate) fn enter(parent: &Relation, leaf: &Relation, bound: &str) -> [String; 2] {
    [
        format!("ALTER TABLE {parent} ATTACH PARTITION {leaf} {bound}"),
        format!("ALTER TABLE {leaf} DROP CONSTRAINT IF EXISTS {BOUND}"),
    ]
}

/// The phase of an exchange in which a part is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BuildPhase {
    /// Created together with another part.
    Described,
    /// Together with the table, before its rows.
    Create,
    /// After the rows, each by itself.
    Index,
    /// After the indexes, in order.
    Finish,
    /// After the leaf is locked: moves rows that it has received.
    Move,
    /// After the leaf's name is free.
    Rename,
    /// After the table has the name and place of the leaf.
    Late,
}

/// A part of a leaf, and the statement that creates it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Definition {
    pub(crate) phase: BuildPhase,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) sql: String,
}

/// The definitions of a leaf, and the statements that create its shadow with the same definitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defined {
    pub(crate) itself: Vec<Definition>,
    pub(crate) shadow: Vec<Definition>,
}

/// A reader of the definitions of leaves, on one connection.
pub(crate) struct LeafReader {
    statement: Statement,
    mark: String,
    load: String,
}

impl LeafReader {
    /// Prepares to read the partitions of `root` and the shadows of `load`. All reading must run under
    /// [`crate::pg::sql::DEPARSE_SETTINGS`].
    pub(crate) async fn prepare(client: &Client, root: Oid, load: &str) -> Result<Self> {
        client.batch_execute(ASKING_SESSION).await?;
        let statement = client.prepare(&definitions::query()).await?;
        Ok(Self { statement, mark: mark(&root.to_string()), load: load.to_owned() })
    }

    /// Returns the definitions of `leaf`, and the statements that create its shadow.
    pub(crate) async fn define(&self, client: &Client, leaf: Oid) -> Result<Defined> {
        let mut defined = Defined::default();
        for (_, shadow, definition) in self.read(client, &[leaf], &[false, true]).await? {
            let side = if shadow { &mut defined.shadow } else { &mut defined.itself };
            side.push(definition);
        }
        defined.itself.sort();
        Ok(defined)
    }

    /// Returns the current definitions of each of `leaves`, sorted.
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
                Definition { phase: BuildPhase::from_word(row.get(2)), kind, name, sql },
            ))
        };
        rows.iter().map(thing).collect()
    }
}

impl BuildPhase {
    fn from_word(word: &str) -> Self {
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

/// Returns the number of `leaves` that one transaction can exchange. They must fit into half of the server's
/// lock table, where each is counted like the leaf with the most indexes.
pub(crate) async fn max_leaves(client: &impl GenericClient, leaves: &[Oid]) -> Result<usize> {
    let sql = "SELECT pg_catalog.current_setting('max_locks_per_transaction')::pg_catalog.int8
                    * (pg_catalog.current_setting('max_connections')::pg_catalog.int8
                       + pg_catalog.current_setting('max_prepared_transactions')::pg_catalog.int8)
                    / 2 / (16 + 8 * COALESCE(pg_catalog.max(indexes), 0))
               FROM (SELECT pg_catalog.count(*) AS indexes FROM pg_catalog.pg_index
                     WHERE indrelid = ANY (ARRAY(SELECT pg_catalog.unnest($1::pg_catalog.oid[])))
                     GROUP BY indrelid) AS leaf";
    let max: i64 = client.query_one(sql, &[&leaves]).await?.get(0);
    Ok(usize::try_from(max).unwrap_or(1).max(1))
}

/// Returns the oids of tables by their names.
pub(crate) async fn find(client: &impl GenericClient, names: &[String]) -> Result<Vec<Oid>> {
    let sql = "SELECT name::pg_catalog.regclass::pg_catalog.oid
               FROM pg_catalog.unnest($1::pg_catalog.text[]) WITH ORDINALITY AS u (name, place)
               ORDER BY place";
    Ok(client.query(sql, &[&names]).await?.iter().map(|row| row.get(0)).collect())
}

/// Returns a description of the session that holds the lock of the exchange of `root`.
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
