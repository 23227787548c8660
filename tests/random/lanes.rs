//! Lanes: the worst that a row may take, by what is known of its keys.

use super::tree::{Key, Method, Node, Tree};
use super::values::{Field, Spelling};

/// How a row finds its leaf, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    Native,
    Server,
    Slow,
}

/// Who reads the values of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The client.
    Native,
    /// The client, if they are ASCII.
    Ascii,
    /// The client, but the server if they must be put in order and their collation is its own.
    Ordered,
    /// The client, but nobody if they must be put in order and their collation is the server's.
    Unordered,
    /// The server.
    Asked,
    /// The server, but not all of them where they are hashed.
    Unhashed,
}

impl Tree {
    /// The worst lane that a row may take: not knowing its path, that of all the tree's keys.
    pub(crate) fn worst_lane(&self, row: &[Field]) -> Lane {
        let mut worst = Lane::Native;
        self.root.each_key(&mut |by, key| worst = worst.max(lane(by, key, &row[key.column])));
        worst
    }

    /// Whether every row must be asked about.
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
        // Of some values an expression is not evaluated, however they are spelled.
        _ if is_expression => Lane::Slow,
        _ => Lane::Server,
    }
}
