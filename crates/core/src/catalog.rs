//! The partition tree as the router needs it: nodes, keys and bounds, in values and not in SQL.
//!
//! The tree is read from the server once and immutable from then on. Bounds hold the datums that
//! the server itself made of them, so nothing here parses a literal.

use std::fmt;

use crate::expr::Expr;
use crate::types::{KeyType, OwnedDatum};

/// A node's place in [`Tree::nodes`].
pub type NodeId = usize;

/// A table with all of its partitions; a plain table is a tree of one node.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The root is first and every parent stands before its children.
    pub nodes: Vec<Node>,
}

/// The root of every tree.
pub const ROOT: NodeId = 0;

impl Tree {
    /// The leaves: partitions without partitions, or the plain table itself.
    pub fn leaves(&self) -> impl Iterator<Item = NodeId> {
        (0..self.nodes.len()).filter(|&node| self.nodes[node].key.is_none())
    }

    /// The type of a field of the input that is a native key by itself.
    pub fn key_type(&self, field: usize) -> Option<&KeyType> {
        let keys = self.nodes.iter().filter_map(|node| node.key.as_ref());
        keys.flat_map(|key| &key.columns).find_map(|column| match column {
            KeyColumn::Native { field: Some(other), ty, .. } if *other == field => Some(ty),
            _ => None,
        })
    }

    /// The distance of `node` from the root.
    pub fn depth(&self, node: NodeId) -> usize {
        std::iter::successors(self.nodes[node].parent, |&above| self.nodes[above].parent).count()
    }
}

/// Any table of the tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name.
    pub relation: Relation,
    /// The table that it is a partition of; None for the root.
    pub parent: Option<NodeId>,
    /// Which rows of its parent it takes; None for the root.
    pub bound: Option<Bound>,
    /// How its own rows are distributed; None for a leaf.
    pub key: Option<Key>,
    /// Its partitions.
    pub children: Vec<NodeId>,
}

/// A qualified table name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Relation {
    /// The schema, unquoted.
    pub schema: String,
    /// The table, unquoted.
    pub name: String,
}

/// The name as SQL takes it, both parts always quoted.
impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", quoted(&self.schema), quoted(&self.name))
    }
}

impl Relation {
    /// The name for people: quoted only where it must be, as `quote_identifier` does it.
    pub fn label(&self) -> String {
        format!("{}.{}", label(&self.schema), label(&self.name))
    }
}

/// `identifier` for people: in double quotes only if it is not plain lower case.
pub fn label(identifier: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    match identifier.as_bytes() {
        [b'a'..=b'z' | b'_', rest @ ..] if rest.iter().all(|&byte| plain(byte)) => {
            identifier.to_owned()
        }
        _ => quoted(identifier),
    }
}

/// `identifier` in double quotes, as `quote_identifier` writes it when it must.
pub fn quoted(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}

/// `PARTITION BY`.
#[derive(Clone, Debug)]
pub struct Key {
    /// How bounds are read.
    pub strategy: Strategy,
    /// One to 32 columns or expressions; exactly one for a list.
    pub columns: Vec<KeyColumn>,
}

/// `PARTITION BY RANGE | LIST | HASH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Bounds are half-open intervals of tuples.
    Range,
    /// Bounds are sets of values.
    List,
    /// Bounds are remainders of a hash.
    Hash,
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Range => "range",
            Self::List => "list",
            Self::Hash => "hash",
        })
    }
}

/// One column or expression of a partition key.
#[derive(Clone, Debug)]
pub enum KeyColumn {
    /// A column whose values are understood here.
    Native {
        /// Its name.
        column: String,
        /// Which field of the input it is, from 0; None where the input omits it: NULL.
        field: Option<usize>,
        /// How its values are read, compared and hashed.
        ty: KeyType,
    },
    /// An expression that is evaluated here.
    Expression {
        /// Its text, as the server deparses it.
        text: String,
        /// The same over the fields of the input.
        expr: Expr,
    },
    /// A column or an expression that the server evaluates for batches of rows. It returns the place of
    /// the value among the bounds, or its hash.
    ///
    /// A place is a [`crate::types::Datum::Int`]. That of the bounds' `n`th value is `2 * n`, from 2
    /// on; a value between two of them has the odd number between theirs.
    Asked {
        /// The column's name or the expression.
        column: String,
        /// Which fields of the input it needs, from 0.
        fields: Vec<usize>,
        /// Why it is not native, in words for the user.
        why: String,
    },
    /// Anything else; its rows go no deeper than this node.
    Opaque {
        /// The column's name or the expression.
        column: String,
        /// Why it is not native, in words for the user.
        why: String,
    },
}

impl KeyColumn {
    /// The column's name or the expression.
    pub fn name(&self) -> &str {
        match self {
            Self::Native { column, .. }
            | Self::Asked { column, .. }
            | Self::Opaque { column, .. } => column,
            Self::Expression { text, .. } => text,
        }
    }

    /// The type of its values, if they are understood here.
    pub fn ty(&self) -> Option<&KeyType> {
        match self {
            Self::Native { ty, .. } => Some(ty),
            Self::Expression { expr, .. } => Some(expr.ty()),
            Self::Asked { .. } | Self::Opaque { .. } => None,
        }
    }

    /// Has the server evaluate an opaque column, from these fields of the input.
    pub fn ask(&mut self, fields: Vec<usize>) {
        if let Self::Opaque { column, why } = self {
            let (column, why) = (std::mem::take(column), std::mem::take(why));
            *self = Self::Asked { column, fields, why };
        }
    }

    /// Leaves the column to the server, because of `why`, unless it is already.
    pub fn make_opaque(&mut self, why: impl FnOnce() -> String) {
        if !matches!(self, Self::Opaque { .. }) {
            *self = Self::Opaque { column: self.name().to_owned(), why: why() };
        }
    }
}

/// `FOR VALUES ...`
#[derive(Clone, Debug)]
pub enum Bound {
    /// `DEFAULT`.
    Default,
    /// `WITH (modulus, remainder)`.
    Hash {
        /// At least 1.
        modulus: u64,
        /// Below the modulus.
        remainder: u64,
    },
    /// `IN (...)`; None is NULL.
    List(Vec<Option<OwnedDatum>>),
    /// `FROM (...) TO (...)`, the lower end included.
    Range {
        /// One edge for each key column.
        lower: Vec<Edge>,
        /// One edge for each key column.
        upper: Vec<Edge>,
    },
    /// Its key is opaque, so it is never compared.
    Opaque,
}

/// One column of a range bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Before every value.
    MinValue,
    /// A value.
    Datum(OwnedDatum),
    /// After every value.
    MaxValue,
}
