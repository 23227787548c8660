//! Route: the leaf of a row, as `ExecFindPartition` would find it.
//!
//! Each level of the tree becomes one small sorted array and one lookup in it, made when the
//! first row meets that level. Where a key cannot be evaluated with certainty the row stops at
//! that node, and the server decides from there.
//!
//! Source: `get_partition_for_tuple` in `src/backend/executor/execPartition.c` and
//! `src/backend/partitioning/partbounds.c` (PostgreSQL 18).

mod level;
pub mod naive;

use std::sync::{Arc, OnceLock};

use crate::catalog::{Key, KeyColumn, NodeId, ROOT, Tree};
use crate::expr::{Expr, Unknown};
use crate::parse::{Keys, Value};
use crate::types::{Datum, KeyType};
use level::Level;

/// How far a row was routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The row belongs to this leaf.
    Leaf(NodeId),
    /// The row belongs to this node or below it; the server must say where.
    Node(NodeId, Cause),
}

/// Why a row was not routed to a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The node's key has a column that is not native.
    Opaque,
    /// The spelling of this key column's value is not proven to mean what it seems to, or what an
    /// expression makes of it is not.
    Spelling(usize),
    /// The row has no field for this key column.
    Missing(usize),
    /// No partition of the node takes the row.
    NoPartition,
}

/// The tree made ready for looking up.
#[derive(Debug)]
pub struct Router {
    tree: Arc<Tree>,
    wanted: Vec<usize>,
    levels: Vec<OnceLock<Level>>,
}

/// Where the datums of a row's keys are put that are not part of its text; reused from row to row.
#[derive(Clone, Debug)]
pub struct Scratch {
    columns: Vec<Vec<u8>>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self { columns: vec![Vec::new(); level::MAX_KEYS] }
    }
}

/// A key column or expression in the terms of the parsed row.
#[derive(Clone, Debug)]
struct Part {
    source: Source,
    ty: KeyType,
}

/// Where the values of a part come from; places are those among the wanted fields.
#[derive(Clone, Debug)]
enum Source {
    /// A column that the input omits.
    Null,
    Field(usize),
    Expr(Expr),
}

impl Router {
    /// A router for `tree`; no level is built before a row meets it.
    pub fn new(tree: Arc<Tree>) -> Self {
        let wanted = wanted_fields(&tree);
        let levels = tree.nodes.iter().map(|_| OnceLock::new()).collect();
        Self { tree, wanted, levels }
    }

    /// The positions of the input's fields that the parser must find, ascending.
    pub fn wanted(&self) -> &[usize] {
        &self.wanted
    }

    /// Finds the leaf of `row`, whose key columns are in `keys`.
    pub fn route(&self, row: &[u8], keys: &Keys, scratch: &mut Scratch) -> Route {
        let mut node = ROOT;
        loop {
            let Some(key) = &self.tree.nodes[node].key else {
                return Route::Leaf(node);
            };
            let level = self.levels[node].get_or_init(|| self.level(node, key));
            match level.find(row, keys, scratch) {
                Ok(child) => node = child,
                Err(cause) => return Route::Node(node, cause),
            }
        }
    }

    fn level(&self, node: NodeId, key: &Key) -> Level {
        let slot = |field| self.wanted.partition_point(|&other| other < field);
        let parts = key.columns.iter().map(|column| {
            let source = match column {
                KeyColumn::Native { field: None, .. } => Source::Null,
                KeyColumn::Native { field: Some(field), .. } => Source::Field(slot(*field)),
                KeyColumn::Expression { expr, .. } => Source::Expr(expr.placed(&slot)),
                KeyColumn::Opaque { .. } => return None,
            };
            Some(Part { source, ty: column.ty()?.clone() })
        });
        match parts.collect::<Option<Vec<Part>>>() {
            Some(parts) => Level::new(&self.tree, node, key.strategy, parts),
            None => Level::Opaque,
        }
    }
}

impl Part {
    /// The key's datum in this row; None is NULL. `column` is the place in the key.
    fn datum<'a>(
        &'a self,
        column: usize,
        row: &'a [u8],
        keys: &'a Keys,
        scratch: &'a mut Vec<u8>,
    ) -> Result<Option<Datum<'a>>, Cause> {
        let slot = match &self.source {
            Source::Field(slot) => *slot,
            Source::Null => return Ok(None),
            Source::Expr(expr) => {
                return expr.evaluate(row, keys, scratch).map_err(|unknown| match unknown {
                    Unknown::Missing => Cause::Missing(column),
                    Unknown::Value => Cause::Spelling(column),
                });
            }
        };
        match keys.get(slot, row) {
            Value::Missing => Err(Cause::Missing(column)),
            Value::Null => Ok(None),
            Value::Text(text) => match self.ty.parse(text, scratch) {
                Some(datum) => Ok(Some(datum)),
                None => Err(Cause::Spelling(column)),
            },
        }
    }
}

/// The fields of every level that can be reached: below an opaque key nothing is looked at.
fn wanted_fields(tree: &Tree) -> Vec<usize> {
    let mut fields = Vec::new();
    let mut nodes = vec![ROOT];
    while let Some(node) = nodes.pop() {
        let Some(key) = &tree.nodes[node].key else { continue };
        if key.columns.iter().any(|column| matches!(column, KeyColumn::Opaque { .. })) {
            continue;
        }
        for column in &key.columns {
            match column {
                KeyColumn::Native { field, .. } => fields.extend(field),
                KeyColumn::Expression { expr, .. } => fields.extend(expr.places()),
                KeyColumn::Opaque { .. } => {}
            }
        }
        nodes.extend(&tree.nodes[node].children);
    }
    fields.sort_unstable();
    fields.dedup();
    fields
}
