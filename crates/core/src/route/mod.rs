//! Route: finds the leaf of a row, like `ExecFindPartition`.
//!
//! Each level of the tree is a small sorted array with one lookup, built when the first row reaches that level.
//! If a key cannot be evaluated with certainty, the row stops at that node, and the server decides from there.
//!
//! Source: `get_partition_for_tuple` in `src/backend/executor/execPartition.c` and
//! `src/backend/partitioning/partbounds.c` (PostgreSQL 18).

mod ints;
mod level;
pub mod naive;

use std::sync::{Arc, OnceLock};

use crate::catalog::{KeyColumn, NodeId, ROOT, Tree};
use crate::expr::{Expr, Unknown};
use crate::hash::PARTITION_SEED;
use crate::parse::{Fields, Value};
use crate::types::{Datum, KeyType};
use level::Level;

/// The result of routing a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The row belongs to this leaf.
    Leaf(NodeId),
    /// The row belongs to this node or below it. With the server's answers about the node's key,
    /// [`Router::resume`] continues.
    Ask(NodeId),
    /// The row belongs to this node or below it. Only the server can say where.
    Node(NodeId, Cause),
}

/// The reason why a row was not routed to a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The node's key has a column that cannot be evaluated natively.
    Opaque,
    /// The server could not evaluate the node's key.
    Unanswered,
    /// The value of this key column, in text or in binary, or the result of an expression on it, is not proven
    /// to equal the server's.
    Spelling(usize),
    /// The value of this key column depends on the clock, so the server is not asked about it.
    Clock(usize),
    /// The row has no field for this key column.
    Missing(usize),
    /// A field of the row stands for the default of its column, which only the server knows.
    Default,
    /// The input cannot be turned into a row.
    Malformed,
    /// No partition of the node accepts the row.
    NoPartition,
}

impl Cause {
    /// Whether the server will most probably reject the row as well. The sooner it reports that, the better.
    pub fn is_likely_refused(self) -> bool {
        matches!(self, Self::NoPartition | Self::Missing(_) | Self::Malformed | Self::Unanswered)
    }
}

/// The partition tree, prepared for lookups.
#[derive(Debug)]
pub struct Router {
    tree: Arc<Tree>,
    wanted: Vec<usize>,
    /// Whether each node is a leaf. The nodes themselves are too large to be read for every row.
    leaves: Vec<bool>,
    levels: Vec<OnceLock<Level>>,
}

/// Buffers for the datums of a row's keys that are not part of its text; reused from row to row.
#[derive(Clone, Debug)]
pub struct Scratch {
    columns: Vec<Vec<u8>>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self { columns: vec![Vec::new(); level::MAX_KEYS] }
    }
}

/// The server's answers about a row's key at one node, one for each column that it was asked about. `None` is
/// NULL.
pub type Answers<'a> = &'a [Option<i64>];

/// A row, with everything known about its keys.
#[derive(Clone, Copy)]
struct KnownRow<'a> {
    row: &'a [u8],
    keys: &'a Fields,
    answers: Answers<'a>,
}

/// A key column or expression in terms of the parsed row.
#[derive(Clone, Debug)]
enum RoutePart {
    /// A value of the row.
    Value { source: KeySource, ty: KeyType },
    /// One of the server's answers.
    Answer { index: usize },
}

/// The source of a part's values; positions count among the wanted fields.
#[derive(Clone, Debug)]
enum KeySource {
    /// A column that the input omits.
    Null,
    Field(usize),
    Expr(Expr),
}

impl Router {
    /// Creates a router for `tree`, for a parser that returns exactly the fields that it needs. Each level is
    /// built when a row reaches it.
    pub fn new(tree: Arc<Tree>) -> Self {
        let wanted = wanted_fields(&tree);
        Self::over(tree, wanted)
    }

    /// Creates a router for a parser that returns the fields `wanted`, in ascending order. They must include all
    /// fields that the router needs.
    pub fn over(tree: Arc<Tree>, wanted: Vec<usize>) -> Self {
        let levels = tree.nodes.iter().map(|_| OnceLock::new()).collect();
        let leaves = tree.nodes.iter().map(|node| node.key.is_none()).collect();
        Self { tree, wanted, leaves, levels }
    }

    /// Returns the positions of the input's fields that the parser must find, in ascending order.
    pub fn wanted_fields(&self) -> &[usize] {
        &self.wanted
    }

    /// Finds the leaf of `row`, whose key columns are in `keys`.
    pub fn route(&self, row: &[u8], keys: &Fields, scratch: &mut Scratch) -> Route {
        self.descend(ROOT, None, row, keys, scratch)
    }

    /// Continues at `node` with the server's answers about `row`.
    pub fn resume(
        &self,
        node: NodeId,
        answers: Answers<'_>,
        row: &[u8],
        keys: &Fields,
        scratch: &mut Scratch,
    ) -> Route {
        self.descend(node, Some(answers), row, keys, scratch)
    }

    fn descend(
        &self,
        mut node: NodeId,
        mut answers: Option<Answers<'_>>,
        row: &[u8],
        keys: &Fields,
        scratch: &mut Scratch,
    ) -> Route {
        loop {
            if self.leaves[node] {
                return Route::Leaf(node);
            }
            let mut level = self.levels[node].get_or_init(|| self.level(node));
            let mut known = KnownRow { row, keys, answers: &[] };
            if let Level::Asked(answered) = level {
                let Some(answers) = answers.take() else {
                    return self.ask(node, row, keys);
                };
                (level, known.answers) = (answered, answers);
            }
            match level.find(known, scratch) {
                Ok(child) => node = child,
                Err(cause) => return Route::Node(node, cause),
            }
        }
    }

    /// Returns [`Route::Ask`], or a cause if the row lacks a field of the key.
    fn ask(&self, node: NodeId, row: &[u8], keys: &Fields) -> Route {
        let is_missing = |field: &usize| keys.get(self.slot(*field), row) == Value::Missing;
        let columns = self.tree.nodes[node].key.as_ref().map_or(&[][..], |key| &key.columns);
        match columns.iter().position(|column| asked_fields(column).iter().any(is_missing)) {
            Some(column) => Route::Node(node, Cause::Missing(column)),
            None => Route::Ask(node),
        }
    }

    fn slot(&self, field: usize) -> usize {
        self.wanted.partition_point(|&other| other < field)
    }

    fn level(&self, node: NodeId) -> Level {
        let Some(key) = &self.tree.nodes[node].key else { return Level::Opaque };
        let mut asked = 0..;
        let parts = key.columns.iter().map(|column| {
            let source = match column {
                KeyColumn::Native { field: None, .. } => KeySource::Null,
                KeyColumn::Native { field: Some(field), .. } => KeySource::Field(self.slot(*field)),
                KeyColumn::Expression { expr, .. } => {
                    KeySource::Expr(expr.map_columns(&|field| self.slot(field)))
                }
                KeyColumn::Asked { .. } => {
                    return asked.next().map(|index| RoutePart::Answer { index });
                }
                KeyColumn::Opaque { .. } => return None,
            };
            Some(RoutePart::Value { source, ty: column.ty()?.clone() })
        });
        let Some(parts) = parts.collect::<Option<Vec<RoutePart>>>() else {
            return Level::Opaque;
        };
        let level = Level::new(&self.tree, node, key.strategy, parts);
        if asked.start > 0 { Level::Asked(Box::new(level)) } else { level }
    }
}

fn asked_fields(column: &KeyColumn) -> &[usize] {
    match column {
        KeyColumn::Asked { fields, .. } => fields,
        _ => &[],
    }
}

impl RoutePart {
    /// Returns the key's datum in this row; `None` is NULL. `column` is the position in the key.
    fn datum<'a>(
        &'a self,
        column: usize,
        known: KnownRow<'a>,
        scratch: &'a mut Vec<u8>,
    ) -> Result<Option<Datum<'a>>, Cause> {
        let (source, ty) = match self {
            Self::Value { source, ty } => (source, ty),
            Self::Answer { index } => {
                let answer = known.answers.get(*index).ok_or(Cause::Unanswered)?;
                return Ok(answer.map(Datum::Int));
            }
        };
        let KnownRow { row, keys, .. } = known;
        let slot = match source {
            KeySource::Field(slot) => *slot,
            KeySource::Null => return Ok(None),
            KeySource::Expr(expr) => {
                return expr.evaluate(row, keys, scratch).map_err(|unknown| match unknown {
                    Unknown::Missing => Cause::Missing(column),
                    Unknown::Value => Cause::Spelling(column),
                });
            }
        };
        match keys.get(slot, row) {
            Value::Missing => Err(Cause::Missing(column)),
            Value::Null => Ok(None),
            value => value.read(ty, scratch).map(Some).ok_or(Cause::Spelling(column)),
        }
    }

    /// Returns the datum in this row if it is [`Datum::Int`]; otherwise `None`, and [`Self::datum`] must find
    /// it.
    #[inline]
    fn int(&self, known: KnownRow<'_>) -> Option<i64> {
        let Self::Value { source: KeySource::Field(slot), ty } = self else { return None };
        match known.keys.get(*slot, known.row) {
            Value::Text(text) => ty.parse_int(text),
            Value::Binary(bytes) => ty.receive_int(bytes),
            Value::Null | Value::Missing => None,
        }
    }

    /// Hashes the datum of the column.
    #[inline]
    fn hash(&self, datum: Datum<'_>) -> u64 {
        match (self, datum) {
            (Self::Value { ty, .. }, _) => ty.hash(datum, PARTITION_SEED),
            (Self::Answer { .. }, Datum::Int(hash)) => hash as u64,
            // An answer is never another datum.
            (Self::Answer { .. }, _) => 0,
        }
    }
}

/// Returns the fields in the keys of all levels that can be reached, in ascending order. Nodes below an opaque
/// key are not reached.
pub fn wanted_fields(tree: &Tree) -> Vec<usize> {
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
                KeyColumn::Asked { fields: asked, .. } => fields.extend(asked),
                KeyColumn::Opaque { .. } => {}
            }
        }
        nodes.extend(&tree.nodes[node].children);
    }
    fields.sort_unstable();
    fields.dedup();
    fields
}
