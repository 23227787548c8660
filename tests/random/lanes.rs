//! The worst lane that a row may take, given its keys.

use super::tree::{Key, Method, Node, Tree};
use super::values::{Field, Spelling};

/// The way to find the leaf of a row, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    Native,
    Server,
    Slow,
}

/// The party that reads the values of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The client.
    Native,
    /// The client, if the values are ASCII.
    Ascii,
    /// The client, except that the server reads values that must be ordered by a collation that only it knows.
    Ordered,
    /// The client, except that neither reads values that must be ordered by a collation that only the server knows.
    Unordered,
    /// The server.
    Asked,
    /// The server, except for some values of hash keys.
    Unhashed,
}

impl Tree {
    /// Returns the worst lane that a row may take. Its path is unknown, so all keys of the tree count.
    pub(crate) fn worst_lane(&self, row: &[Field]) -> Lane {
        let mut worst = Lane::Native;
        self.root.each_key(&mut |by, key| worst = worst.max(lane(by, key, &row[key.column])));
        worst
    }

    /// Whether the server must be asked about every row.
    pub(crate) fn asks_at_root(&self) -> bool {
        let Node::Split { keys, .. } = &self.root else { return false };
        let mut readings = keys.iter().map(|key| key.form.reading);
        readings.any(|reading| reading == Reading::Asked)
    }
}

fn lane(by: Method, key: Key, field: &Field) -> Lane {
    let is_expression = key.form.sql != "@";
    let is_ascii = field.text.as_ref().is_none_or(|text| text.is_ascii());
    match key.form.reading {
        Reading::Unhashed if by == Method::Hash => Lane::Slow,
        Reading::Asked | Reading::Unhashed => Lane::Server,
        Reading::Unordered if by == Method::Range => Lane::Slow,
        Reading::Ascii if !is_ascii => Lane::Slow,
        _ if field.spelling == Spelling::Unread => Lane::Slow,
        Reading::Ordered if by == Method::Range => Lane::Server,
        _ if field.spelling == Spelling::Canonical => Lane::Native,
        // For some values an expression is not evaluated in any spelling.
        _ if is_expression => Lane::Slow,
        _ => Lane::Server,
    }
}
