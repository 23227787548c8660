//! Random partition trees: their shape from proptest, and their SQL.
//!
//! A bound is given by the rungs of the key types' ladders, so that neighbours are in order by construction
//! and PostgreSQL accepts every tree.

use std::fmt::Write;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use super::values::{Form, Kind, kinds};
use crate::harness::literal;

/// A table with its columns `k0`, `k1`, ... and, after them, `note`.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) kinds: Vec<&'static Kind>,
    pub(crate) root: Node,
}

/// A table of the tree: a leaf, or a table that is partitioned by some of the columns.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Leaf,
    Split { by: Method, keys: Vec<Key>, parts: Vec<(Part, Node)> },
}

/// A column by which a table is partitioned, or an expression of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) column: usize,
    pub(crate) form: &'static Form,
}

/// The partitioning method of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Range,
    List,
    Hash,
}

/// The bound of a partition.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Range(Vec<Bound>, Vec<Bound>),
    /// Rungs; `None` is NULL.
    List(Vec<Option<usize>>),
    Hash {
        modulus: u32,
        remainder: u32,
    },
    Default,
}

/// One column's part of a range bound, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Bound {
    Min,
    Rung(usize),
    Max,
}

/// Returns trees of one to three levels over one to four columns.
pub(crate) fn trees() -> impl Strategy<Value = Tree> {
    vec(kinds(), 1..=4).prop_flat_map(|kinds| {
        let root = splits(kinds.clone(), 3);
        root.prop_map(move |root| Tree { kinds: kinds.clone(), root })
    })
}

/// Splits a default more often than other partitions, because it has found many bugs.
fn nodes(kinds: Vec<&'static Kind>, levels: u32, part: &Part) -> BoxedStrategy<Node> {
    if levels == 0 {
        return Just(Node::Leaf).boxed();
    }
    let leaves = if matches!(part, Part::Default) { 1 } else { 4 };
    let split = splits(kinds, levels);
    prop_oneof![leaves => Just(Node::Leaf), 1 => split].boxed()
}

fn splits(kinds: Vec<&'static Kind>, levels: u32) -> BoxedStrategy<Node> {
    let by = select(&[Method::Range, Method::List, Method::Hash][..]);
    (by, keys(&kinds))
        .prop_flat_map(move |(mut by, mut keys)| {
            if by == Method::Hash && keys.iter().any(|key| !key.form.hashes) {
                by = Method::Range;
            }
            if by == Method::List {
                keys.truncate(1);
            }
            let parts = match by {
                Method::Range => ranges(keys.clone()),
                Method::List => lists(keys[0]),
                Method::Hash => hashes(),
            };
            let kinds = kinds.clone();
            parts.prop_flat_map(move |parts| {
                let below: Vec<_> =
                    parts.iter().map(|part| nodes(kinds.clone(), levels - 1, part)).collect();
                let keys = keys.clone();
                below.prop_map(move |below| Node::Split {
                    by,
                    keys: keys.clone(),
                    parts: parts.iter().cloned().zip(below).collect(),
                })
            })
        })
        .boxed()
}

/// Returns up to three of the columns in any order, or expressions of them.
fn keys(kinds: &[&'static Kind]) -> impl Strategy<Value = Vec<Key>> + use<> {
    let all: Vec<Key> =
        (0..kinds.len()).map(|column| Key { column, form: &kinds[column].plain }).collect();
    let count = kinds.len().min(3);
    let kinds = kinds.to_vec();
    (subsequence(all, 1..=count).prop_shuffle(), vec((0u8..3, any::<Index>()), count)).prop_map(
        move |(mut keys, choices)| {
            for (key, (choice, which)) in keys.iter_mut().zip(choices) {
                let forms = kinds[key.column].forms;
                if choice == 2 && !forms.is_empty() {
                    key.form = which.get(forms);
                }
            }
            keys
        },
    )
}

/// Returns adjacent ranges between a few sorted bounds, with some left out, and usually a default.
fn ranges(keys: Vec<Key>) -> BoxedStrategy<Vec<Part>> {
    let bound = vec((0u8..8, any::<Index>()), keys.len()).prop_map(move |columns| {
        let each = columns.iter().zip(&keys).map(|((choice, which), key)| match choice {
            0 => Bound::Min,
            1 => Bound::Max,
            _ => Bound::Rung(which.index(key.form.ladder.len())),
        });
        ordered(each.collect())
    });
    (btree_set(bound, 2..=6), vec(prop::bool::weighted(0.85), 6), prop::bool::weighted(0.85))
        .prop_map(|(bounds, kept, default)| {
            let bounds: Vec<Vec<Bound>> = bounds.into_iter().collect();
            let pairs = bounds.windows(2).map(|pair| Part::Range(pair[0].clone(), pair[1].clone()));
            let kept = pairs.zip(kept).filter(|(_, kept)| *kept).map(|(part, _)| part);
            kept.chain(default.then_some(Part::Default)).collect()
        })
        .boxed()
}

/// Repeats MINVALUE and MAXVALUE in all later columns, as PostgreSQL requires.
fn ordered(mut bound: Vec<Bound>) -> Vec<Bound> {
    if let Some(first) = bound.iter().position(|part| !matches!(part, Bound::Rung(_))) {
        let end = bound[first];
        bound[first..].fill(end);
    }
    bound
}

/// Distributes the rungs, and perhaps NULL, over a few leaves, and usually adds a default.
fn lists(key: Key) -> BoxedStrategy<Vec<Part>> {
    let members: Vec<Option<usize>> = (0..key.form.ladder.len()).map(Some).chain([None]).collect();
    let dealt = vec(0usize..4, members.len());
    (dealt, prop::bool::weighted(0.85))
        .prop_map(move |(dealt, default)| {
            // Hand 3 gets the values that no list has.
            let hand = |hand: usize| -> Vec<Option<usize>> {
                let mine = members.iter().zip(&dealt).filter(|(_, to)| **to == hand);
                mine.map(|(member, _)| *member).collect()
            };
            let lists = (0..3).map(hand).filter(|list| !list.is_empty()).map(Part::List);
            lists.chain(default.then_some(Part::Default)).collect()
        })
        .boxed()
}

/// Returns a few remainders of one modulus. Some are divided once or twice more into remainders of its
/// multiples, and rarely one is left out.
fn hashes() -> BoxedStrategy<Vec<Part>> {
    (1u32..5, vec(0u8..20, 5), 2u32..4)
        .prop_map(|(modulus, row_counts, times)| {
            let again = |of: u32, remainder: u32, times: u32| {
                (0..times).map(move |n| (of * times, remainder + of * n))
            };
            let one = |remainder: u32| match row_counts[remainder as usize] {
                0 => vec![],
                1..=3 => again(modulus, remainder, 2).collect(),
                4..=6 => {
                    let rest = again(modulus * 2, remainder + modulus, times);
                    again(modulus, remainder, 2).take(1).chain(rest).collect()
                }
                _ => vec![(modulus, remainder)],
            };
            let parts = (0..modulus).flat_map(one);
            parts.map(|(modulus, remainder)| Part::Hash { modulus, remainder }).collect()
        })
        .boxed()
}

impl Node {
    /// Calls `each` for every key of this table and of the tables below it.
    pub(crate) fn each_key(&self, each: &mut impl FnMut(Method, Key)) {
        let Self::Split { by, keys, parts } = self else { return };
        keys.iter().for_each(|key| each(*by, *key));
        parts.iter().for_each(|(_, below)| below.each_key(each));
    }
}

impl Tree {
    /// Returns the statements that create the table `t`.
    pub(crate) fn sql(&self) -> String {
        let mut columns = String::new();
        for (i, kind) in self.kinds.iter().enumerate() {
            let _ = write!(columns, "k{i} {}, ", kind.sql);
        }
        let mut sql = format!("CREATE TABLE t ({columns}note text){};\n", by(&self.root));
        partitions("t", &self.root, &mut sql);
        sql
    }
}

fn partitions(parent: &str, node: &Node, sql: &mut String) {
    let Node::Split { keys, parts, .. } = node else { return };
    for (i, (part, below)) in parts.iter().enumerate() {
        let name = format!("{parent}_{i}");
        let values = values(part, keys);
        let by = by(below);
        let _ = writeln!(sql, "CREATE TABLE {name} PARTITION OF {parent} {values}{by};");
        partitions(&name, below, sql);
    }
}

fn by(node: &Node) -> String {
    let Node::Split { by, keys, .. } = node else { return String::new() };
    let keys = keys.iter().map(|key| key.form.sql.replace('@', &format!("k{}", key.column)));
    format!(" PARTITION BY {by:?} ({})", keys.collect::<Vec<_>>().join(", "))
}

fn values(part: &Part, keys: &[Key]) -> String {
    let rung = |key: &Key, rung: usize| literal(key.form.ladder[rung]);
    let bound = |bound: &[Bound]| {
        let each = bound.iter().zip(keys).map(|(part, key)| match part {
            Bound::Min => "MINVALUE".into(),
            Bound::Max => "MAXVALUE".into(),
            Bound::Rung(at) => rung(key, *at),
        });
        each.collect::<Vec<_>>().join(", ")
    };
    match part {
        Part::Range(from, to) => {
            format!("FOR VALUES FROM ({}) TO ({})", bound(from), bound(to))
        }
        Part::List(members) => {
            let each = members.iter().map(|m| m.map_or("NULL".into(), |at| rung(&keys[0], at)));
            format!("FOR VALUES IN ({})", each.collect::<Vec<_>>().join(", "))
        }
        Part::Hash { modulus, remainder } => {
            format!("FOR VALUES WITH (MODULUS {modulus}, REMAINDER {remainder})")
        }
        Part::Default => "DEFAULT".into(),
    }
}
