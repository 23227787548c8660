//! Route: the leaf of a row, as `ExecFindPartition` would find it.
//!
//! Each level of the tree becomes one small sorted array and one lookup in it, made when the
//! first row meets that level. Where a key cannot be evaluated with certainty the row stops at
//! that node, and the server decides from there.
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

/// How far a row was routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The row belongs to this leaf.
    Leaf(NodeId),
    /// The row belongs to this node or below it; with the server's answers about the node's key
    /// [`Router::resume`] goes on.
    Ask(NodeId),
    /// The row belongs to this node or below it; the server must say where.
    Node(NodeId, Cause),
}

/// Why a row was not routed to a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The node's key has a column that is not native.
    Opaque,
    /// The server could not evaluate the node's key.
    Unanswered,
    /// The spelling of this key column's value, or its binary form, is not proven to mean what it seems
    /// to, or what an expression makes of it is not.
    Spelling(usize),
    /// What this key column's value means depends on the clock, so the server is not asked about it.
    Clock(usize),
    /// The row has no field for this key column.
    Missing(usize),
    /// A field of the row stands for the default of its column, which only the server has.
    Default,
    /// No row can be made of what the input has.
    Malformed,
    /// No partition of the node takes the row.
    NoPartition,
}

impl Cause {
    /// Whether the server will most probably refuse the row as well: the sooner it says so the
    /// better.
    pub fn is_likely_refused(self) -> bool {
        matches!(self, Self::NoPartition | Self::Missing(_) | Self::Malformed | Self::Unanswered)
    }
}

/// The tree made ready for looking up.
#[derive(Debug)]
pub struct Router {
    tree: Arc<Tree>,
    wanted: Vec<usize>,
    /// Whether each node is one: nodes themselves are too large to be looked at for every row.
    leaves: Vec<bool>,
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

/// What the server has said about a row's key at one node, for each column that it was asked about.
/// None is NULL.
pub type Answers<'a> = &'a [Option<i64>];

/// A row with what is known of its keys.
#[derive(Clone, Copy)]
struct Known<'a> {
    row: &'a [u8],
    keys: &'a Fields,
    answers: Answers<'a>,
}

/// A key column or expression in the terms of the parsed row.
#[derive(Clone, Debug)]
enum RoutePart {
    /// A value of the row.
    Value { source: KeySource, ty: KeyType },
    /// One of the server's answers.
    Answer { index: usize },
}

/// Where the values of a part come from; places are those among the wanted fields.
#[derive(Clone, Debug)]
enum KeySource {
    /// A column that the input omits.
    Null,
    Field(usize),
    Expr(Expr),
}

impl Router {
    /// Makes a router for `tree`, for a parser that gives the fields that it needs. A level is built
    /// when a row reaches it.
    pub fn new(tree: Arc<Tree>) -> Self {
        let wanted = wanted_fields(&tree);
        Self::over(tree, wanted)
    }

    /// Makes a router for a parser that gives the fields `wanted`, ascending: those needed and perhaps
    /// more.
    pub fn over(tree: Arc<Tree>, wanted: Vec<usize>) -> Self {
        let levels = tree.nodes.iter().map(|_| OnceLock::new()).collect();
        let leaves = tree.nodes.iter().map(|node| node.key.is_none()).collect();
        Self { tree, wanted, leaves, levels }
    }

    /// The positions of the input's fields that the parser must find, ascending.
    pub fn wanted(&self) -> &[usize] {
        &self.wanted
    }

    /// Finds the leaf of `row`, whose key columns are in `keys`.
    pub fn route(&self, row: &[u8], keys: &Fields, scratch: &mut Scratch) -> Route {
        self.descend(ROOT, None, row, keys, scratch)
    }

    /// Continues from `node`, where the server was asked, with its answers about `row`.
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
            let mut known = Known { row, keys, answers: &[] };
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

    /// A row that lacks a field has no key to ask about.
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
                    KeySource::Expr(expr.placed(&|field| self.slot(field)))
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
    /// The key's datum in this row; None is NULL. `column` is the place in the key.
    fn datum<'a>(
        &'a self,
        column: usize,
        known: Known<'a>,
        scratch: &'a mut Vec<u8>,
    ) -> Result<Option<Datum<'a>>, Cause> {
        let (source, ty) = match self {
            Self::Value { source, ty } => (source, ty),
            Self::Answer { index } => {
                let answer = known.answers.get(*index).ok_or(Cause::Unanswered)?;
                return Ok(answer.map(Datum::Int));
            }
        };
        let Known { row, keys, .. } = known;
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

    /// The datum in this row if it is [`Datum::Int`]; None where [`Self::datum`] must say what it is.
    #[inline]
    fn int(&self, known: Known<'_>) -> Option<i64> {
        let Self::Value { source: KeySource::Field(slot), ty } = self else { return None };
        match known.keys.get(*slot, known.row) {
            Value::Text(text) => ty.parse_int(text),
            Value::Binary(bytes) => ty.receive_int(bytes),
            Value::Null | Value::Missing => None,
        }
    }

    /// The hash of the column's datum.
    #[inline]
    fn hash(&self, datum: Datum<'_>) -> u64 {
        match (self, datum) {
            (Self::Value { ty, .. }, _) => ty.hash(datum, PARTITION_SEED),
            (Self::Answer { .. }, Datum::Int(hash)) => hash as u64,
            // No other datum is an answer.
            (Self::Answer { .. }, _) => 0,
        }
    }
}

/// The fields of every level that can be reached, ascending: below an opaque key nothing is looked at.
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
