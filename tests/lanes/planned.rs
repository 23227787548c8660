//! The keys of a table as pgsluice plans them, each with the server's name of its type.

use std::collections::HashMap;
use std::fmt;

use pgsluice::pg::introspect::Catalogue;
use pgsluice_core::catalog::{KeyColumn, Strategy};
use pgsluice_core::types::KeyType;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls};

use crate::harness::{Scratch, Server, Session};

/// A scratch database, with a session for its DDL and another one for the catalogue.
pub(super) struct Database {
    pub(super) session: Session,
    client: Client,
    runtime: Runtime,
    scratch: Scratch,
}

/// The way to find the leaf of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    Native,
    Server,
    Slow,
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Server => "server",
            Self::Slow => "slow",
        })
    }
}

/// A key column of some table.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) table: String,
    pub(super) strategy: Strategy,
    pub(super) lane: Lane,
    pub(super) of: Definition,
}

/// The definition of a key column.
#[derive(Clone, Debug)]
pub(super) enum Definition {
    Column(Column),
    Expression {
        /// The kind of the outermost node, if it is native.
        node: Option<String>,
    },
}

/// A column as the server describes it.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The type, with the operator class if it is not the type's own.
    pub(super) ty: String,
    /// `pg_type.typname`, for a domain that of its base type.
    pub(super) name: String,
    /// The collation, if one applies.
    pub(super) collation: Option<String>,
    /// The key type, if it is native.
    pub(super) key_type: Option<KeyType>,
}

impl Planned {
    pub(super) fn column(&self) -> Option<&Column> {
        match &self.of {
            Definition::Column(column) => Some(column),
            Definition::Expression { .. } => None,
        }
    }
}

/// The query for the name of a key column. A user-defined type is represented by its kind.
const NAMES: &str = "
SELECT p.partrelid, k.place::int,
       CASE t.typtype WHEN 'd' THEN 'domain over ' ELSE '' END
           || CASE WHEN x.typtype = 'e' THEN 'enum'
                   WHEN x.typtype = 'c' THEN 'composite type'
                   WHEN x.typtype = 'r' AND x.typnamespace <> b.core THEN 'user-defined range type'
                   WHEN x.oid = 'interval'::regtype AND a.atttypmod >> 16 & 32767 <> 32767
                       THEN 'interval with fields'
                   ELSE format_type(x.oid, NULL) END
           || CASE WHEN b.element IS NULL THEN '' ELSE '[]' END
           || CASE WHEN o.opcnamespace <> b.core THEN ' with a user-defined operator class'
                   WHEN NOT o.opcdefault THEN ' with ' || o.opcname
                   ELSE '' END,
       b.typname::text,
       CASE WHEN b.oid = 'jsonb'::regtype OR k.coll = 'pg_catalog.\"default\"'::regcollation THEN
                CASE WHEN d.datlocprovider = 'b' OR d.datcollate IN ('C', 'POSIX')
                     THEN 'the database collation, if it is C, POSIX or builtin'
                     ELSE 'any other database collation' END
            WHEN NOT c.collisdeterministic THEN 'a nondeterministic collation'
            WHEN c.collprovider = 'i' THEN 'an ICU collation'
            WHEN c.collprovider = 'c' AND c.collcollate NOT IN ('C', 'POSIX')
                THEN 'a libc collation other than C and POSIX'
            ELSE c.collname END
FROM pg_partitioned_table p
CROSS JOIN LATERAL unnest(p.partattrs::int2[], p.partclass::oid[], p.partcollation::oid[])
    WITH ORDINALITY AS k (attnum, opclass, coll, place)
JOIN pg_opclass o ON o.oid = k.opclass
JOIN pg_database d ON d.datname = current_database()
JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = k.attnum
JOIN pg_type t ON t.oid = a.atttypid
CROSS JOIN LATERAL (
    SELECT b.oid, b.typname, 'pg_catalog'::regnamespace AS core,
           (SELECT e.oid FROM pg_type e WHERE e.typarray = b.oid) AS element
    FROM pg_type b WHERE b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
) AS b
JOIN pg_type x ON x.oid = COALESCE(b.element, b.oid)
LEFT JOIN pg_collation c ON c.oid = k.coll
WHERE p.partrelid = ANY ($1)";

impl Database {
    /// Creates a database, with a collation of libc if one is given.
    pub(super) fn new(server: Server, collation: Option<&str>) -> Self {
        let scratch = server.scratch_with(collation);
        let session = scratch.session();
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let client = runtime.block_on(async {
            let (client, connection) =
                tokio_postgres::connect(scratch.url(), NoTls).await.expect("no server");
            tokio::spawn(connection);
            client
        });
        Self { session, client, runtime, scratch }
    }

    pub(super) fn url(&self) -> &str {
        self.scratch.url()
    }

    /// Returns the keys of a table and its partitions, as planned under these settings for an input with
    /// these columns.
    pub(super) fn planned(
        &mut self,
        table: &str,
        columns: Option<&[String]>,
        settings: &str,
    ) -> Vec<Planned> {
        let Self { client, runtime, .. } = self;
        runtime.block_on(async {
            client.batch_execute(settings).await.expect(settings);
            let catalogue = Catalogue::read(client, table, columns).await.expect(table);
            client.batch_execute("RESET ALL; RESET ROLE").await.expect("a session as if new");
            let oids: Vec<u32> = catalogue.facts.iter().map(|facts| facts.oid).collect();
            let rows = client.query(NAMES, &[&oids]).await.expect("names of types");
            let mut names = HashMap::new();
            for row in rows {
                let key: (u32, i32) = (row.get(0), row.get(1));
                names.insert(key, (row.get(2), row.get(3), row.get(4)));
            }
            planned(&catalogue, &names)
        })
    }
}

type Names = HashMap<(u32, i32), (String, String, Option<String>)>;

fn planned(catalogue: &Catalogue, names: &Names) -> Vec<Planned> {
    let nodes = catalogue.tree.nodes.iter().zip(&catalogue.facts);
    let keyed = nodes.filter_map(|(node, facts)| Some((node, facts, node.key.as_ref()?)));
    let columns = keyed.flat_map(|(node, facts, key)| {
        key.columns.iter().zip(1..).map(move |(column, place)| Planned {
            table: node.relation.name.clone(),
            strategy: key.strategy,
            lane: lane(column),
            of: describe(column, names.get(&(facts.oid, place))),
        })
    });
    columns.collect()
}

fn lane(column: &KeyColumn) -> Lane {
    match column {
        KeyColumn::Native { .. } | KeyColumn::Expression { .. } => Lane::Native,
        KeyColumn::Asked { .. } => Lane::Server,
        KeyColumn::Opaque { .. } => Lane::Slow,
    }
}

fn describe(column: &KeyColumn, names: Option<&(String, String, Option<String>)>) -> Definition {
    match names.cloned() {
        Some((ty, name, collation)) => {
            Definition::Column(Column { ty, name, collation, key_type: column.ty().cloned() })
        }
        None => Definition::Expression { node: outermost(column) },
    }
}

/// Returns the name of the outermost node, which is private to the core, from its debug form.
fn outermost(column: &KeyColumn) -> Option<String> {
    let KeyColumn::Expression { expr, .. } = column else { return None };
    let debug = format!("{expr:?}");
    let (_, node) = debug.split_once("node: ").expect("an expression is a node");
    Some(node.chars().take_while(|letter| letter.is_alphanumeric()).collect())
}
