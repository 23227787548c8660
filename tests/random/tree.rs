//! Random partition trees: their shape from proptest, and their SQL.
//!
//! A bound is given by rungs of the key types' ladders, so that neighbours are in order by
//! construction and every tree is one that PostgreSQL takes.

use std::collections::BTreeSet;
use std::fmt::Write;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};

use super::values::{KINDS, Kind};
use crate::copy_options::literal;

/// A table with its columns `k0`, `k1`, ... and, after them, `note`.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) root: Node,
}

/// A table of the tree: a leaf, or one that is partitioned by some of the columns.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Leaf,
    Split { by: Method, columns: Vec<usize>, parts: Vec<(Part, Node)> },
}

/// How a table is partitioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Range,
    List,
    Hash,
}

/// What a partition is for.
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

/// One column's part of a range bound, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Bound {
    Min,
    Rung(usize),
    Max,
}

/// Trees of one to three levels over one to four columns.
pub(crate) fn trees() -> impl Strategy<Value = Tree> {
    vec(proptest::sample::select(KINDS), 1..=4).prop_flat_map(|kinds| {
        let root = splits(kinds.clone(), 3);
        root.prop_map(move |root| Tree { kinds: kinds.clone(), root })
    })
}

fn nodes(kinds: Vec<Kind>, levels: u32) -> BoxedStrategy<Node> {
    if levels == 0 {
        return Just(Node::Leaf).boxed();
    }
    let split = splits(kinds, levels);
    prop_oneof![4 => Just(Node::Leaf), 1 => split].boxed()
}

fn splits(kinds: Vec<Kind>, levels: u32) -> BoxedStrategy<Node> {
    let by = proptest::sample::select(&[Method::Range, Method::List, Method::Hash][..]);
    let all: Vec<usize> = (0..kinds.len()).collect();
    (by, subsequence(all, 1..=kinds.len().min(3)).prop_shuffle())
        .prop_flat_map(move |(by, mut columns)| {
            if by == Method::List {
                columns.truncate(1);
            }
            let keys: Vec<Kind> = columns.iter().map(|&column| kinds[column]).collect();
            let parts = match by {
                Method::Range => ranges(keys),
                Method::List => lists(keys[0]),
                Method::Hash => hashes(),
            };
            let kinds = kinds.clone();
            parts.prop_flat_map(move |parts| {
                let below = vec(nodes(kinds.clone(), levels - 1), parts.len());
                let columns = columns.clone();
                below.prop_map(move |below| Node::Split {
                    by,
                    columns: columns.clone(),
                    parts: parts.iter().cloned().zip(below).collect(),
                })
            })
        })
        .boxed()
}

/// Neighbouring ranges between a few sorted bounds, some left out, and mostly a default.
fn ranges(keys: Vec<Kind>) -> BoxedStrategy<Vec<Part>> {
    let bound = vec((0u8..8, any::<Index>()), keys.len()).prop_map(move |columns| {
        let each = columns.iter().zip(&keys).map(|((choice, which), kind)| match choice {
            0 => Bound::Min,
            1 => Bound::Max,
            _ => Bound::Rung(which.index(kind.ladder().len())),
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

/// PostgreSQL wants MINVALUE and MAXVALUE to be followed by their like.
fn ordered(mut bound: Vec<Bound>) -> Vec<Bound> {
    if let Some(first) = bound.iter().position(|part| !matches!(part, Bound::Rung(_))) {
        let end = bound[first];
        bound[first..].fill(end);
    }
    bound
}

/// The rungs, and perhaps NULL, dealt out to a few leaves, and mostly a default.
fn lists(kind: Kind) -> BoxedStrategy<Vec<Part>> {
    let members: Vec<Option<usize>> = (0..kind.ladder().len()).map(Some).chain([None]).collect();
    let dealt = vec(0usize..4, members.len());
    (dealt, prop::bool::weighted(0.85))
        .prop_map(move |(dealt, default)| {
            // Hand 3 is what no list has.
            let hand = |hand: usize| -> Vec<Option<usize>> {
                let mine = members.iter().zip(&dealt).filter(|(_, to)| **to == hand);
                mine.map(|(member, _)| *member).collect()
            };
            let lists = (0..3).map(hand).filter(|list| !list.is_empty()).map(Part::List);
            lists.chain(default.then_some(Part::Default)).collect()
        })
        .boxed()
}

/// A few remainders of one modulus, some of them split again, seldom one left out.
fn hashes() -> BoxedStrategy<Vec<Part>> {
    (1u32..5, vec(0u8..20, 5))
        .prop_map(|(modulus, fates)| {
            let one = |remainder: u32| match fates[remainder as usize] {
                0 => vec![],
                1..=4 => vec![(modulus * 2, remainder), (modulus * 2, remainder + modulus)],
                _ => vec![(modulus, remainder)],
            };
            let parts = (0..modulus).flat_map(one);
            parts.map(|(modulus, remainder)| Part::Hash { modulus, remainder }).collect()
        })
        .boxed()
}

impl Tree {
    /// The statements that make the table `t`.
    pub(crate) fn sql(&self) -> String {
        let mut columns = String::new();
        for (i, kind) in self.kinds.iter().enumerate() {
            let _ = write!(columns, "k{i} {}, ", kind.sql());
        }
        let mut sql = format!("CREATE TABLE t ({columns}note text){};\n", self.by(&self.root));
        self.partitions("t", &self.root, &mut sql);
        sql
    }

    /// The columns that are keys somewhere, and whether all keys are native.
    pub(crate) fn keys(&self) -> (BTreeSet<usize>, bool) {
        let mut keys = BTreeSet::new();
        let native = self.visit(&self.root, &mut keys);
        (keys, native)
    }

    fn visit(&self, node: &Node, keys: &mut BTreeSet<usize>) -> bool {
        let Node::Split { by, columns, parts } = node else { return true };
        keys.extend(columns);
        let here = columns.iter().all(|&column| self.kinds[column].native(*by == Method::Hash));
        parts.iter().fold(here, |native, (_, below)| self.visit(below, keys) && native)
    }

    fn partitions(&self, parent: &str, node: &Node, sql: &mut String) {
        let Node::Split { columns, parts, .. } = node else { return };
        for (i, (part, below)) in parts.iter().enumerate() {
            let name = format!("{parent}_{i}");
            let values = self.values(part, columns);
            let by = self.by(below);
            let _ = writeln!(sql, "CREATE TABLE {name} PARTITION OF {parent} {values}{by};");
            self.partitions(&name, below, sql);
        }
    }

    fn by(&self, node: &Node) -> String {
        let Node::Split { by, columns, .. } = node else { return String::new() };
        let columns = columns.iter().map(|column| format!("k{column}")).collect::<Vec<_>>();
        format!(" PARTITION BY {by:?} ({})", columns.join(", "))
    }

    fn values(&self, part: &Part, columns: &[usize]) -> String {
        let rung = |column: usize, rung: usize| literal(self.kinds[column].ladder()[rung]);
        let bound = |bound: &[Bound]| {
            let each = bound.iter().zip(columns).map(|(part, &column)| match part {
                Bound::Min => "MINVALUE".into(),
                Bound::Max => "MAXVALUE".into(),
                Bound::Rung(at) => rung(column, *at),
            });
            each.collect::<Vec<_>>().join(", ")
        };
        match part {
            Part::Range(from, to) => {
                format!("FOR VALUES FROM ({}) TO ({})", bound(from), bound(to))
            }
            Part::List(members) => {
                let each =
                    members.iter().map(|m| m.map_or("NULL".into(), |at| rung(columns[0], at)));
                format!("FOR VALUES IN ({})", each.collect::<Vec<_>>().join(", "))
            }
            Part::Hash { modulus, remainder } => {
                format!("FOR VALUES WITH (MODULUS {modulus}, REMAINDER {remainder})")
            }
            Part::Default => "DEFAULT".into(),
        }
    }
}
