//! The catalogue: the partition tree read in one consistent snapshot.
//!
//! All facts come from the server: it deparses the bounds and casts their literals, which are read back in
//! binary format. One transaction reads the bounds, the rights of the session on each table (privileges, row
//! security), and the side effects of a table (triggers, defaults). The plan needs all of this to decide
//! which leaves may be written directly.
//!
//! Queries about many tables take their oids through a subquery, because planning for a plain array takes
//! longer.

mod codecs;
mod columns;
mod definitions;
mod expressions;
mod facts;
mod indexes;
mod keys;
mod native;
mod probe;
mod questions;
mod reads;
mod server;
mod session;
pub(crate) mod similar;
mod spellings;
pub(crate) mod triggers;
mod types;
pub(crate) mod uniques;
mod values;
mod volatilities;

use std::collections::HashMap;

use futures_util::future::{try_join, try_join3};
use pgsluice_core::catalog::{Bound, Key, Node, NodeId, Relation, Strategy, Tree};
use pgsluice_core::types::Codec;
use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Client, IsolationLevel, Row, Transaction};

use self::columns::InputColumns;
pub(crate) use self::columns::{FieldColumns, Nullness};
pub use self::facts::Facts;
pub(crate) use self::questions::Questions;
use self::server::Several;
use self::uniques::{ExistingRows, MatchFacts};
pub(crate) use self::values::fill_bounds;
use super::bounds::{self, Literals};
use super::sql;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::source::MatchedFields;

/// Everything about a table that a load's plan depends on.
#[derive(Debug)]
pub struct Catalogue {
    /// The tree, its keys in terms of the input's fields.
    pub tree: Tree,
    /// Facts about each node of the tree, in the same order.
    pub facts: Vec<Facts>,
    /// The questions to the server about keys that are not native.
    pub(crate) questions: Questions,
    /// The columns of the input, in its order.
    pub columns: Vec<String>,
    /// The codec of each of these columns, or a message for the user why the type has no codec.
    pub codecs: Vec<std::result::Result<Codec, String>>,
    /// The types that the codecs are for.
    pub(crate) types: Vec<Oid>,
    /// These columns with the structure of their types.
    pub(crate) typed_columns: Vec<pgsluice_core::types::Column>,
    /// The index of the column that the table lacks, and that marks rows that delete others.
    pub(crate) besides: Option<usize>,
    /// The match of names in a header to columns, if the columns were found by name.
    pub(crate) input_fields: Option<MatchedFields>,
    /// All columns of the table.
    pub(crate) known: Vec<String>,
    /// Whether the input omits writable columns.
    pub omits_columns: bool,
    /// Whether each of the input's columns accepts NULL.
    pub(crate) nullness: Vec<Nullness>,
    /// `server_version_num`, such as 180006.
    pub version: u32,
    /// The abilities of the server for rows of several leaves in one transaction.
    pub(crate) several: Several,
    /// The keys of existing rows in the input, if rows may conflict with existing rows.
    pub(crate) match_facts: Option<MatchFacts>,
}

/// Query for the nodes of the tree. Before version 15, a row trigger from a partition's parent is marked as
/// internal, and may be enabled only there.
///
/// The bound is deparsed without its table: with it, the server would open and lock every partition.
const NODES: &str = "
WITH RECURSIVE tree (oid, parent, level, schema, relname, relkind, reltuples, relpages, relhasindex, bound)
AS (
    SELECT oid, NULL::pg_catalog.oid, 0, relnamespace, relname, relkind, reltuples, relpages,
           relhasindex, pg_catalog.pg_get_expr(relpartbound, 0)
    FROM pg_catalog.pg_class
    WHERE oid = $1
    UNION ALL
    SELECT c.oid, tree.oid, tree.level + 1, c.relnamespace, c.relname, c.relkind, c.reltuples,
           c.relpages, c.relhasindex, pg_catalog.pg_get_expr(c.relpartbound, 0)
    FROM tree
    JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.oid
    JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
    WHERE tree.relkind = 'p' AND c.relispartition
      AND pg_catalog.to_jsonb(i) ->> 'inhdetachpending' IS DISTINCT FROM 'true'
)
SELECT tree.oid, parent, n.nspname, relname, relkind::pg_catalog.text AS relkind,
       p.partstrat::pg_catalog.text AS strategy,
       CASE WHEN parent IS NOT NULL THEN bound END AS bound,
       reltuples, relpages, relhasindex,
       pg_catalog.row_security_active(tree.oid) AS row_security,
       pg_catalog.has_table_privilege(tree.oid, 'INSERT')
           AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AS may_insert,
       EXISTS (SELECT FROM pg_catalog.pg_trigger g
               WHERE g.tgrelid = tree.oid AND NOT g.tgisinternal AND g.tgenabled <> 'D'
                 AND g.tgtype & 1 = 0 AND g.tgtype & 4 <> 0) AS statement_triggers,
       EXISTS (SELECT FROM pg_catalog.pg_trigger g
               WHERE g.tgrelid = tree.oid AND (NOT g.tgisinternal OR g.tgconstraint = 0) AND g.tgenabled <> 'D'
                 AND g.tgtype & 5 = 5) AS row_triggers
FROM tree
JOIN pg_catalog.pg_namespace n ON n.oid = tree.schema
LEFT JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = tree.oid
ORDER BY level, parent, n.nspname, relname";

impl Catalogue {
    /// Reads the tree of `table`, a name in SQL syntax, for an input with `columns`.
    pub async fn read(
        client: &mut Client,
        table: &str,
        columns: Option<&[String]>,
    ) -> Result<Self> {
        let fields = columns.map_or(FieldColumns::All, FieldColumns::Listed);
        Self::read_with(client, table, fields, None).await
    }

    /// Reads the tree like [`Self::read`]. If rows may conflict with existing ones, `existing` chooses the
    /// key.
    pub(crate) async fn read_with(
        client: &mut Client,
        table: &str,
        fields: FieldColumns<'_>,
        existing: Option<ExistingRows<'_>>,
    ) -> Result<Self> {
        let root = similar::find(client, table).await?;
        let transaction = client
            .build_transaction()
            .isolation_level(IsolationLevel::RepeatableRead)
            .read_only(true)
            .start()
            .await?;
        // The server overestimates the rows greatly, and would compile some of the queries.
        let setup = [sql::PG_CATALOG_ONLY, "SET LOCAL jit = off"].join("; ");
        // Literals must read back as they were written, regardless of the session's settings.
        let settings = try_join3(
            async { Ok(transaction.batch_execute(&setup).await?) },
            session::SessionFacts::read(&transaction),
            async { Ok(transaction.batch_execute(sql::DEPARSE_SETTINGS).await?) },
        );
        let (_, session, _) = settings.await?;
        let catalogue = Self::read_in(&transaction, &session, root, fields, existing).await?;
        let mut catalogue = catalogue.ok_or_else(|| {
            Error::new(Kind::Server, format!("relation \"{table}\" does not exist"))
                .with_sqlstate("42P01")
                .with_hint(similar::NAMING)
        })?;
        transaction.commit().await?;
        // The questions are tried under the user's settings, in the same round trip.
        let tried = try_join(
            async { Ok(client.batch_execute(sql::RESET_SETTINGS).await?) },
            probe::refused(client, &catalogue.questions),
        );
        let (_, refused) = tried.await?;
        catalogue.leave(refused, session.iso);
        Ok(catalogue)
    }

    /// Reads the catalogue; returns `None` if the table no longer exists.
    async fn read_in(
        transaction: &Transaction<'_>,
        session: &session::SessionFacts,
        root: Oid,
        fields: FieldColumns<'_>,
        existing: Option<ExistingRows<'_>>,
    ) -> Result<Option<Self>> {
        let rows = transaction.query_typed(NODES, &[(&root, Type::OID)]).await?;
        let Some(first) = rows.first() else { return Ok(None) };
        check_kind(first)?;
        let oids: Vec<Oid> = rows.iter().map(|row| row.get("oid")).collect();
        let besides = existing.as_ref().and_then(|existing| existing.delete_when);
        let of_input = columns::find_input(transaction, root, fields, besides).await?;
        let InputColumns {
            columns,
            known,
            besides,
            omits: omits_columns,
            mut input_fields,
            nullness,
        } = of_input;
        let keys = keys::read(transaction, session, &find_partitioned(&rows), &columns).await?;
        let literals = literals(&rows);
        let mut tree = assemble(&rows, &oids, keys);
        let (questions, places) =
            questions::find(transaction, session, &mut tree, &oids, &columns, &literals).await?;
        values::fill(transaction, &mut tree, &literals, &places).await?;
        let server = async { Ok(server::read(transaction, root).await?) };
        let codecs = codecs::read(transaction, session, root, &columns);
        let (mut codecs, (version, several)) = try_join(codecs, server).await?;
        if let Some(place) = besides {
            codecs.insert(place, codecs::flag(&columns[place]));
        }
        let (codecs, typed_columns): (Vec<_>, Vec<_>) = codecs.into_iter().unzip();
        let types = typed_columns.iter().map(|column| column.ty.oid).collect();
        input_fields.iter_mut().for_each(|fields| fields.types.clone_from(&typed_columns));
        let asked =
            facts::FactSources { root, columns: &columns, codecs: &codecs, omits_columns, version };
        let facts = facts::read(transaction, &rows, asked).await?;
        let mut catalogue = Self {
            tree,
            facts,
            questions,
            columns,
            codecs,
            types,
            typed_columns,
            besides,
            input_fields,
            known,
            omits_columns,
            nullness,
            version,
            several,
            match_facts: None,
        };
        if let Some(existing) = existing {
            let match_facts =
                uniques::read_match_facts(transaction, session, &catalogue, existing).await?;
            catalogue
                .questions
                .spell_also(match_facts.keys.iter().flatten().chain(&match_facts.newer));
            catalogue.sort_by_key(&match_facts);
            catalogue.match_facts = Some(match_facts);
        }
        spellings::find(transaction, session, &mut catalogue, root).await?;
        Ok(Some(catalogue))
    }
}

/// Returns the literals of each table's bound, if it has one.
fn literals(rows: &[Row]) -> Vec<Option<Literals>> {
    let bound = |row: &Row| row.get::<_, Option<&str>>("bound").and_then(bounds::parse);
    rows.iter().map(bound).collect()
}

/// Returns the tables among `rows` that have a partition key.
fn find_partitioned(rows: &[Row]) -> Vec<Oid> {
    let has_key = |row: &&Row| row.get::<_, Option<&str>>("strategy").is_some();
    rows.iter().filter(has_key).map(|row| row.get("oid")).collect()
}

/// Rejects relations that cannot hold rows, like COPY. The server checks privileges and views itself.
fn check_kind(row: &Row) -> Result<()> {
    let what = match row.get("relkind") {
        "S" => "sequence",
        "i" | "I" => "index",
        "c" => "composite type",
        "m" => "materialized view",
        "t" => "TOAST table",
        _ => return Ok(()),
    };
    let name: &str = row.get("relname");
    Err(Error::new(Kind::Server, format!("cannot copy to {what} \"{name}\""))
        .with_sqlstate("42809")
        .with_hint("Name a table, or a view that has an INSTEAD OF INSERT trigger."))
}

/// Builds the tree without the values of its bounds.
fn assemble(rows: &[Row], oids: &[Oid], mut keys: HashMap<Oid, keys::KeyColumns>) -> Tree {
    let ids: HashMap<Oid, NodeId> = oids.iter().enumerate().map(|(id, oid)| (*oid, id)).collect();
    let mut nodes: Vec<Node> = Vec::with_capacity(rows.len());
    for (row, oid) in rows.iter().zip(oids) {
        let parent = row.get::<_, Option<Oid>>("parent").and_then(|oid| ids.get(&oid)).copied();
        if let Some(parent) = parent {
            let id = nodes.len();
            nodes[parent].children.push(id);
        }
        let strategy = row.get::<_, Option<&str>>("strategy").map(|letter| match letter {
            "h" => Strategy::Hash,
            "l" => Strategy::List,
            _ => Strategy::Range,
        });
        let key = strategy.map(|strategy| {
            let columns = keys.remove(oid).unwrap_or_default();
            Key { strategy, columns }
        });
        nodes.push(Node {
            relation: Relation { schema: row.get("nspname"), name: row.get("relname") },
            parent,
            bound: parent.map(|_| Bound::Opaque),
            key,
            children: Vec::new(),
        });
    }
    Tree { nodes }
}
