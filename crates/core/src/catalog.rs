//! The partition tree as the router needs it: nodes, keys and bounds, as values instead of SQL.
//!
//! The tree is read from the server once and is immutable from then on. Bounds contain the datums that the
//! server itself made of them, so nothing here parses a literal.

use std::fmt;

use crate::expr::Expr;
use crate::types::{KeyType, OwnedDatum};

/// Index of a node in [`Tree::nodes`].
pub type NodeId = usize;

/// A table with all of its partitions; a plain table is a tree of one node.
#[derive(Clone, Debug)]
pub struct Tree {
    /// All nodes; the root is first, and every parent precedes its children.
    pub nodes: Vec<Node>,
}

/// Index of the root of every tree.
pub const ROOT: NodeId = 0;

impl Tree {
    /// Returns the leaves: partitions without partitions, or the plain table itself.
    pub fn leaves(&self) -> impl Iterator<Item = NodeId> {
        (0..self.nodes.len()).filter(|&node| self.nodes[node].key.is_none())
    }

    /// Returns the type of an input field that is a native key by itself.
    pub fn key_type(&self, field: usize) -> Option<&KeyType> {
        let keys = self.nodes.iter().filter_map(|node| node.key.as_ref());
        keys.flat_map(|key| &key.columns).find_map(|column| match column {
            KeyColumn::Native { field: Some(other), ty, .. } if *other == field => Some(ty),
            _ => None,
        })
    }

    /// Returns the distance of `node` from the root.
    pub fn depth(&self, node: NodeId) -> usize {
        std::iter::successors(self.nodes[node].parent, |&above| self.nodes[above].parent).count()
    }
}

/// A table of the tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// Name of the table.
    pub relation: Relation,
    /// The table that it is a partition of; `None` for the root.
    pub parent: Option<NodeId>,
    /// The bound of the rows that it takes from its parent; `None` for the root.
    pub bound: Option<Bound>,
    /// The partition key; `None` for a leaf.
    pub key: Option<Key>,
    /// The partitions of the table.
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

/// Formats the name for SQL, with both parts always quoted.
impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", quote_identifier(&self.schema), quote_identifier(&self.name))
    }
}

impl Relation {
    /// Returns the name for messages, quoted only where necessary, like `quote_identifier`.
    pub fn label(&self) -> String {
        format!("{}.{}", label(&self.schema), label(&self.name))
    }
}

/// Returns `identifier` for messages, in double quotes only if it is not plain lower case.
pub fn label(identifier: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    match identifier.as_bytes() {
        [b'a'..=b'z' | b'_', rest @ ..] if rest.iter().all(|&byte| plain(byte)) => {
            identifier.to_owned()
        }
        _ => quote_identifier(identifier),
    }
}

/// Returns `identifier` in double quotes, as `quote_identifier` writes it if quotes are necessary.
pub fn quote_identifier(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}

/// A partition key (`PARTITION BY`).
#[derive(Clone, Debug)]
pub struct Key {
    /// The strategy, which determines the form of the bounds.
    pub strategy: Strategy,
    /// One to 32 columns or expressions; exactly one for a list.
    pub columns: Vec<KeyColumn>,
}

/// A partitioning strategy: `PARTITION BY RANGE | LIST | HASH`.
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
    /// A column with native support.
    Native {
        /// Name of the column.
        column: String,
        /// Index of the input field, from 0; `None` (NULL) if the input omits the column.
        field: Option<usize>,
        /// The type, which determines how values are read, compared and hashed.
        ty: KeyType,
    },
    /// An expression with native support.
    Expression {
        /// Text of the expression, as the server deparses it.
        text: String,
        /// The expression over the fields of the input.
        expr: Expr,
    },
    /// A column or an expression that the server evaluates for batches of rows. It returns the place of the
    /// value among the bounds, or its hash.
    ///
    /// A place is a [`crate::types::Datum::Int`]. The bounds' `n`th value has the place `2 * n`, from 2 on; a
    /// value between two of them has the odd number between their places.
    Asked {
        /// Name of the column, or the expression.
        column: String,
        /// Indexes of the input fields that it needs, from 0.
        fields: Vec<usize>,
        /// The reason why it has no native support, in words for the user.
        why: String,
    },
    /// Any other column or expression; its rows are routed no deeper than this node.
    Opaque {
        /// Name of the column, or the expression.
        column: String,
        /// The reason why it has no native support, in words for the user.
        why: String,
    },
}

impl KeyColumn {
    /// Returns the name of the column, or the expression.
    pub fn name(&self) -> &str {
        match self {
            Self::Native { column, .. }
            | Self::Asked { column, .. }
            | Self::Opaque { column, .. } => column,
            Self::Expression { text, .. } => text,
        }
    }

    /// Returns the type of the values, if it has native support.
    pub fn ty(&self) -> Option<&KeyType> {
        match self {
            Self::Native { ty, .. } => Some(ty),
            Self::Expression { expr, .. } => Some(expr.ty()),
            Self::Asked { .. } | Self::Opaque { .. } => None,
        }
    }

    /// Lets the server evaluate an opaque column from the given fields of the input.
    pub fn ask(&mut self, fields: Vec<usize>) {
        if let Self::Opaque { column, why } = self {
            let (column, why) = (std::mem::take(column), std::mem::take(why));
            *self = Self::Asked { column, fields, why };
        }
    }

    /// Leaves the column to the server for the reason `why`, unless it is opaque already.
    pub fn make_opaque(&mut self, why: impl FnOnce() -> String) {
        if !matches!(self, Self::Opaque { .. }) {
            *self = Self::Opaque { column: self.name().to_owned(), why: why() };
        }
    }
}

/// A partition bound (`FOR VALUES ...`).
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
    /// `IN (...)`; `None` is NULL.
    List(Vec<Option<OwnedDatum>>),
    /// `FROM (...) TO (...)`, the lower end included.
    Range {
        /// One edge for each key column.
        lower: Vec<Edge>,
        /// One edge for each key column.
        upper: Vec<Edge>,
    },
    /// A bound of an opaque key, which is never compared.
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
