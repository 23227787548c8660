//! Reads the facts about each table of the tree.

use std::collections::HashSet;

use pgsluice_core::bucket::SendOrder;
use pgsluice_core::types::Codec;
use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Row, Transaction};

use super::indexes;
use crate::error::Result;
use crate::pg::Parameters;

/// The properties of a table that matter when rows are sent to it by name.
#[derive(Clone, Debug)]
pub struct Facts {
    /// `pg_class.oid`.
    pub oid: u32,
    /// `pg_class.relkind`.
    pub kind: char,
    /// `pg_get_partkeydef`: strategy and key, for the user; see [`super::Catalogue::define_keys`].
    pub key: Option<String>,
    /// The bound as the server deparses it, for the user.
    pub bound: Option<String>,
    /// `pg_class.reltuples`; negative if never counted.
    pub estimated_rows: f32,
    /// `pg_class.relpages`: its pages when they were last counted.
    pub(crate) estimated_pages: i32,
    /// Whether there are enabled INSERT triggers for each statement.
    pub statement_triggers: bool,
    /// Whether there are enabled user triggers for each inserted row, which may drop rows or add others.
    pub row_triggers: bool,
    /// Whether row security applies to this session.
    pub row_security: bool,
    /// Whether this session may insert into the table by its name.
    pub may_insert: bool,
    /// Whether it computes a column that the input has and the root does not compute.
    pub computes_input: bool,
    /// Whether columns that the input omits have other defaults than in the root.
    pub other_defaults: bool,
    /// The order in which its rows are sent, according to its indexes.
    pub(crate) order: SendOrder,
    /// The lines that describe how its key is read; see [`super::Catalogue::read_reads`].
    pub(crate) reads: Vec<String>,
}

const OTHER_DEFAULTS: &str = "
WITH defaults AS (
    SELECT a.attrelid, a.attname, a.attidentity,
           pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS expression
    FROM pg_catalog.pg_attribute a
    LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
      AND a.attrelid = ANY (ARRAY(SELECT pg_catalog.unnest($2::pg_catalog.oid[])))
      AND NOT a.attname = ANY ($3)
)
SELECT DISTINCT leaf.attrelid
FROM defaults leaf
JOIN defaults root ON root.attrelid = $1 AND root.attname = leaf.attname
WHERE (leaf.attidentity, leaf.expression) IS DISTINCT FROM (root.attidentity, root.expression)
   OR ($4 AND leaf.attidentity <> '' AND leaf.attrelid <> root.attrelid)";

/// Query for tables that compute a column of the input. Before PostgreSQL 16, a partition could compute a
/// column that its parent does not.
const COMPUTES_INPUT: &str = "
SELECT DISTINCT attrelid
FROM pg_catalog.pg_attribute
WHERE attnum > 0 AND NOT attisdropped AND attgenerated <> ''
  AND attrelid = ANY (ARRAY(SELECT pg_catalog.unnest($1::pg_catalog.oid[])))
  AND attname = ANY ($2)";

/// The properties of the input and the server that the facts depend on.
pub(super) struct FactSources<'a> {
    pub(super) root: Oid,
    /// The columns of the input, and how their values are encoded.
    pub(super) columns: &'a [String],
    pub(super) codecs: &'a [Result<Codec, String>],
    /// Whether the input omits writable columns.
    pub(super) omits_columns: bool,
    /// `server_version_num`.
    pub(super) version: u32,
}

/// Reads the facts about the tables in `rows`, the result of `NODES`.
pub(super) async fn read(
    transaction: &Transaction<'_>,
    rows: &[Row],
    asked: FactSources<'_>,
) -> Result<Vec<Facts>> {
    let FactSources { root, columns, codecs, omits_columns, version } = asked;
    let mut facts: Vec<Facts> = rows.iter().map(Facts::from_row).collect();
    let oids: Vec<Oid> = facts.iter().map(|facts| facts.oid).collect();
    if omits_columns {
        // Before PostgreSQL 17, each identity column has its own sequence.
        let own_identity = version < 170_000;
        let asked: Parameters<'_> = &[
            (&root, Type::OID),
            (&oids, Type::OID_ARRAY),
            (&columns, Type::NAME_ARRAY),
            (&own_identity, Type::BOOL),
        ];
        let other = transaction.query_typed(OTHER_DEFAULTS, asked).await?;
        mark(&mut facts, &other, |facts| facts.other_defaults = true);
    }
    if version < 160_000 {
        let asked: Parameters<'_> = &[(&oids, Type::OID_ARRAY), (&columns, Type::NAME_ARRAY)];
        let computing = transaction.query_typed(COMPUTES_INPUT, asked).await?;
        mark(&mut facts, &computing, |facts| facts.computes_input = true);
    }
    let indexed = rows.iter().filter(|row| row.get::<_, bool>("relhasindex"));
    let indexed: Vec<Oid> = indexed.map(|row| row.get("oid")).collect();
    if !indexed.is_empty() {
        let mut orders = indexes::read(transaction, &indexed, columns, codecs).await?;
        facts
            .iter_mut()
            .for_each(|facts| facts.order = orders.remove(&facts.oid).unwrap_or_default());
    }
    Ok(facts)
}

impl Facts {
    /// Whether it is its parent's DEFAULT partition.
    pub(crate) fn is_default(&self) -> bool {
        self.bound.as_deref() == Some("DEFAULT")
    }

    fn from_row(row: &Row) -> Self {
        Self {
            oid: row.get("oid"),
            kind: row.get::<_, &str>("relkind").chars().next().unwrap_or('r'),
            key: None,
            bound: row.get("bound"),
            estimated_rows: row.get("reltuples"),
            estimated_pages: row.get("relpages"),
            statement_triggers: row.get("statement_triggers"),
            row_triggers: row.get("row_triggers"),
            row_security: row.get("row_security"),
            may_insert: row.get("may_insert"),
            computes_input: false,
            other_defaults: false,
            order: SendOrder::Input,
            reads: Vec::new(),
        }
    }
}

/// Sets a fact for the tables whose oids are in `rows`.
fn mark(facts: &mut [Facts], rows: &[Row], set: impl Fn(&mut Facts)) {
    let found: HashSet<Oid> = rows.iter().map(|row| row.get(0)).collect();
    facts.iter_mut().filter(|facts| found.contains(&facts.oid)).for_each(set);
}
