//! Unique indexes of a tree, and the rights of a session on existing rows: for loads that change rows.

use std::collections::HashMap;

use futures_util::future::try_join4;
use pgsluice_core::bucket::SendOrder;
use pgsluice_core::catalog::{KeyColumn, NodeId, ROOT};
use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Row, Transaction};

use super::indexes;
use super::session::SessionFacts;
use super::triggers::{self, RowTrigger};
use super::{Catalogue, Facts, keys};
use crate::error::Result;
use crate::pg::Parameters;
use crate::pg::compared::ComparedColumn;
use crate::pg::constraint::constraints;

/// An index that excludes duplicates: a unique index, or one of an exclusion constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UniqueIndex {
    pub(crate) node: NodeId,
    pub(crate) oid: Oid,
    pub(crate) name: String,
    /// The columns in order; `None` for an expression.
    pub(crate) columns: Vec<Option<String>>,
    pub(crate) is_primary: bool,
    pub(crate) is_exclusion: bool,
    /// Whether it only excludes rows with equal keys.
    pub(crate) is_of_equals: bool,
    pub(crate) is_valid: bool,
    pub(crate) is_deferrable: bool,
    pub(crate) is_partial: bool,
    /// Whether it treats NULLs as equal.
    pub(crate) joins_nulls: bool,
    /// The comparison of each column.
    comparisons: Vec<Comparison>,
}

/// The comparison of a column by an index.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparison {
    /// The collation as SQL, if the type has collations.
    collation: Option<String>,
    /// The operator class as SQL.
    class: String,
    /// Whether the column's own comparison is the same.
    is_default: bool,
}

impl UniqueIndex {
    /// Whether both compare the same columns in the same way.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (&self.columns, &self.comparisons, self.joins_nulls)
            == (&other.columns, &other.comparisons, other.joins_nulls)
    }

    /// Whether both treat the same values as equal, regardless of the order of columns.
    pub(crate) fn compares_alike(&self, other: &Self) -> bool {
        let is_in_other =
            |column| other.columns.iter().zip(&other.comparisons).any(|it| it == column);
        let mut columns = self.columns.iter().zip(&self.comparisons);
        self.columns.len() == other.columns.len() && columns.all(is_in_other)
    }

    /// Whether its comparisons are the columns' own ones.
    pub(crate) fn is_default(&self) -> bool {
        self.comparisons.iter().all(|comparison| comparison.is_default)
    }

    /// Returns its columns with their comparisons. The list is empty if the index has an expression.
    pub(crate) fn compared_columns(&self) -> Vec<ComparedColumn> {
        let columns = self.columns.iter().zip(&self.comparisons).map(|(name, comparison)| {
            let Comparison { collation, class, is_default } = comparison.clone();
            Some(ComparedColumn { name: name.clone()?, collation, class, is_default })
        });
        columns.collect::<Option<Vec<_>>>().unwrap_or_default()
    }
}

/// The rights of a session on the rows of a table, and the side effects of using them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changing {
    pub(crate) may_select: bool,
    pub(crate) may_update: bool,
    pub(crate) may_delete: bool,
    pub(crate) has_rules: bool,
    /// Whether there are enabled triggers for each statement that updates or deletes.
    pub(crate) statement_triggers: bool,
    /// Whether there are enabled user triggers for each row.
    pub(crate) row_triggers: bool,
}

impl Changing {
    /// Returns the privilege that the session lacks to read rows and, if needed, to update and delete them.
    pub(crate) fn lacks(&self, updates: bool, deletes: bool) -> Option<&'static str> {
        let needed = [
            (true, self.may_select, "SELECT"),
            (updates, self.may_update, "UPDATE"),
            (deletes, self.may_delete, "DELETE"),
        ];
        needed.iter().find(|(is_needed, may, _)| *is_needed && !may).map(|(.., right)| *right)
    }
}

const UNIQUES: &str = "
SELECT i.indrelid, i.indexrelid, c.relname,
       ARRAY(SELECT a.attname::pg_catalog.text
             FROM pg_catalog.unnest(i.indkey::pg_catalog.int2[]) WITH ORDINALITY AS k (attnum, place)
             LEFT JOIN pg_catalog.pg_attribute a
                 ON a.attrelid = i.indrelid AND a.attnum = k.attnum AND k.attnum > 0
             WHERE place <= i.indnkeyatts
             ORDER BY place) AS columns,
       i.indisprimary, i.indisexclusion,
       NOT EXISTS (SELECT FROM pg_catalog.pg_constraint e,
                          pg_catalog.unnest(e.conexclop) AS x (operator)
                   JOIN pg_catalog.pg_operator o ON o.oid = x.operator
                   WHERE e.conindid = i.indexrelid AND e.contype = 'x'
                     AND (o.oprname <> '=' OR o.oprnamespace <> 'pg_catalog'::regnamespace)) AS is_of_equals,
       i.indisvalid AND i.indisready AS is_valid,
       NOT i.indimmediate AS is_deferrable, i.indpred IS NOT NULL AS is_partial,
       COALESCE((pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct')::pg_catalog.bool, false) AS joins_nulls,
       k.classes, k.collations, k.defaults
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
CROSS JOIN LATERAL (
    SELECT pg_catalog.array_agg(pg_catalog.format('%I.%I', oo.nspname, o.opcname) ORDER BY place) AS classes,
           pg_catalog.array_agg(CASE WHEN l.oid IS NOT NULL
                                     THEN pg_catalog.format('%I.%I', ll.nspname, l.collname) END
                                ORDER BY place) AS collations,
           pg_catalog.array_agg(COALESCE(o.opcdefault AND a.attcollation = k.coll, false) ORDER BY place)
               AS defaults
    FROM unnest(i.indclass::pg_catalog.oid[], i.indcollation::pg_catalog.oid[], i.indkey::pg_catalog.int2[])
        WITH ORDINALITY AS k (class, coll, attnum, place)
    JOIN pg_catalog.pg_opclass o ON o.oid = k.class
    JOIN pg_catalog.pg_namespace oo ON oo.oid = o.opcnamespace
    LEFT JOIN pg_catalog.pg_collation l ON l.oid = k.coll
    LEFT JOIN pg_catalog.pg_namespace ll ON ll.oid = l.collnamespace
    LEFT JOIN pg_catalog.pg_attribute a
        ON a.attrelid = i.indrelid AND a.attnum = k.attnum AND k.attnum > 0) AS k
WHERE i.indrelid = ANY (ARRAY(SELECT pg_catalog.unnest($1::pg_catalog.oid[])))
  AND (i.indisunique OR i.indisexclusion)
ORDER BY i.indisprimary DESC, c.relname";

const CHANGING: &str = "
SELECT c.oid,
       pg_catalog.has_table_privilege(c.oid, 'SELECT') AS may_select,
       pg_catalog.has_table_privilege(c.oid, 'UPDATE') AS may_update,
       pg_catalog.has_table_privilege(c.oid, 'DELETE') AS may_delete,
       EXISTS (SELECT FROM pg_catalog.pg_rewrite r
               WHERE r.ev_class = c.oid AND r.ev_type <> '1') AS has_rules,
       EXISTS (SELECT FROM pg_catalog.pg_trigger g
               WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgenabled <> 'D'
                 AND g.tgtype & 1 = 0 AND g.tgtype & 24 <> 0) AS statement_triggers,
       EXISTS (SELECT FROM pg_catalog.pg_trigger g
               WHERE g.tgrelid = c.oid AND (NOT g.tgisinternal OR g.tgconstraint = 0) AND g.tgenabled <> 'D'
                 AND g.tgtype & 1 = 1 AND g.tgtype & 24 <> 0) AS row_triggers
FROM pg_catalog.pg_class c
WHERE c.oid = ANY (ARRAY(SELECT pg_catalog.unnest($1::pg_catalog.oid[])))";

const STAGING: &str = "
SELECT pg_catalog.format('GRANT TEMPORARY ON DATABASE %I TO %I', pg_catalog.current_database(), current_user)
WHERE NOT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'TEMPORARY')";

/// Facts from the catalogue for loads that change existing rows.
#[derive(Debug)]
pub(crate) struct Uniques {
    /// The statement that would give the session the right to create temporary tables, if it lacks it.
    pub(crate) staging: Option<String>,
    pub(crate) indexes: Vec<UniqueIndex>,
    /// The rights and side effects for each node.
    pub(crate) changing: Vec<Changing>,
    /// Triggers that fire before each row is inserted or updated.
    pub(crate) triggers: Vec<RowTrigger>,
}

/// Further facts to read about the tables.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// The indexes that identify rows.
    pub(crate) indexes: Vec<Oid>,
    /// Whether to read which rows each leaf accepts.
    pub(crate) constraints: bool,
}

/// A callback that chooses the facts to read, based on the indexes of the tree.
pub(crate) type Choose<'c> = &'c mut (dyn FnMut(&Catalogue, &Uniques) -> Result<Wanted> + Send);

/// The options for existing rows.
pub(crate) struct ExistingRows<'c> {
    pub(crate) choose: Choose<'c>,
    /// The column whose greatest value wins.
    pub(crate) newer: Option<&'c str>,
    /// The column that marks rows that delete others. The table may lack it.
    pub(crate) delete_when: Option<&'c str>,
}

/// The columns of the input for the keys that identify rows, and for the column whose greatest value wins.
#[derive(Debug, Default)]
pub(crate) struct MatchFacts {
    pub(crate) keys: Vec<Vec<KeyColumn>>,
    /// The rows that each leaf accepts, in SQL as the server deparses it, if needed.
    pub(crate) constraints: HashMap<Oid, String>,
    pub(crate) newer: Option<KeyColumn>,
}

/// Reads the keys of the indexes that `choose` selects, and the column `newer`.
pub(super) async fn read_match_facts(
    transaction: &Transaction<'_>,
    session: &SessionFacts,
    catalogue: &Catalogue,
    ExistingRows { choose, newer, .. }: ExistingRows<'_>,
) -> Result<MatchFacts> {
    let uniques = read(transaction, &catalogue.facts).await?;
    let columns = &catalogue.columns;
    let wanted = choose(catalogue, &uniques)?;
    let mut keys = Vec::new();
    for index in &wanted.indexes {
        keys.push(keys::read_index(transaction, session, *index, columns).await?);
    }
    let constraints = match wanted.constraints {
        true => {
            let leaves = catalogue.tree.leaves().map(|leaf| catalogue.facts[leaf].oid);
            constraints(transaction, &leaves.collect::<Vec<_>>()).await?
        }
        false => HashMap::new(),
    };
    let newer = match newer {
        Some(name) => {
            let root = catalogue.facts[ROOT].oid;
            keys::read_column(transaction, session, root, name, columns).await?.pop()
        }
        None => None,
    };
    Ok(MatchFacts { keys, constraints, newer })
}

impl Catalogue {
    /// Sorts rows by the key that identifies existing rows, so that all loads lock these in the same order.
    pub(super) fn sort_by_key(&mut self, match_facts: &MatchFacts) {
        let [key] = &match_facts.keys[..] else { return };
        let names = key.iter().map(|column| (Some(column.name()), false));
        if let Some(columns) = indexes::order_by(names, &self.columns, &self.codecs) {
            let order = SendOrder::Key(columns);
            self.facts.iter_mut().for_each(|facts| facts.order.clone_from(&order));
        }
    }
}

async fn read(transaction: &Transaction<'_>, facts: &[Facts]) -> Result<Uniques> {
    let oids: Vec<Oid> = facts.iter().map(|facts| facts.oid).collect();
    let nodes: HashMap<Oid, NodeId> =
        oids.iter().enumerate().map(|(node, oid)| (*oid, node)).collect();
    let asked: Parameters<'_> = &[(&oids, Type::OID_ARRAY)];
    let (indexes, of_tables, staging, triggers) = try_join4(
        transaction.query_typed(UNIQUES, asked),
        transaction.query_typed(CHANGING, asked),
        transaction.query_typed(STAGING, &[]),
        triggers::read(transaction, &oids, &nodes),
    )
    .await?;
    let indexes = indexes.iter().filter_map(|row| Some(index(row, *nodes.get(&row.get(0))?)));
    let mut changing = vec![Changing::default(); oids.len()];
    for row in &of_tables {
        let Some(&node) = nodes.get(&row.get(0)) else { continue };
        changing[node] = Changing {
            may_select: row.get("may_select"),
            may_update: row.get("may_update"),
            may_delete: row.get("may_delete"),
            has_rules: row.get("has_rules"),
            statement_triggers: row.get("statement_triggers"),
            row_triggers: row.get("row_triggers"),
        };
    }
    let staging = staging.first().map(|row| row.get(0));
    Ok(Uniques { staging, indexes: indexes.collect(), changing, triggers })
}

fn index(row: &Row, node: NodeId) -> UniqueIndex {
    UniqueIndex {
        node,
        oid: row.get("indexrelid"),
        name: row.get("relname"),
        columns: row.get("columns"),
        is_primary: row.get("indisprimary"),
        is_exclusion: row.get("indisexclusion"),
        is_of_equals: row.get("is_of_equals"),
        is_valid: row.get("is_valid"),
        is_deferrable: row.get("is_deferrable"),
        is_partial: row.get("is_partial"),
        joins_nulls: row.get("joins_nulls"),
        comparisons: comparisons(row),
    }
}

fn comparisons(row: &Row) -> Vec<Comparison> {
    let classes: Vec<String> = row.get("classes");
    let collations: Vec<Option<String>> = row.get("collations");
    let defaults: Vec<bool> = row.get("defaults");
    let columns = classes.into_iter().zip(collations).zip(defaults);
    let comparison = |((class, collation), is_default)| Comparison { collation, class, is_default };
    columns.map(comparison).collect()
}
