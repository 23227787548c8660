//! One level of the router: the partitions of one node, as a sorted array with a lookup.

use std::cmp::Ordering;

use super::ints::Ints;
use super::{Cause, KnownRow, RoutePart, Scratch};
use crate::catalog::{Bound, Edge, NodeId, Strategy, Tree};
use crate::hash::combine64;
use crate::types::{Datum, OwnedDatum};

/// `PARTITION_MAX_KEYS` in `src/include/pg_config_manual.h`.
pub(super) const MAX_KEYS: usize = 32;

/// The maximum size of a table of hash slots. Beyond it, the children are checked one by one.
const MAX_SLOTS: u64 = 1 << 20;

/// The partitions of one node, prepared for lookups.
#[derive(Debug)]
pub(super) enum Level {
    Hash(Hash),
    List(ListLevel),
    Range(RangeLevel),
    /// A level whose key needs answers from the server before the lookup.
    Asked(Box<Level>),
    /// A level whose key has a column that can be evaluated neither natively nor by asking the server.
    Opaque,
}

/// Hash partitions. Slot `hash % slots.len()` contains the child; `slots` is empty if the greatest modulus is
/// too large for a table.
#[derive(Debug)]
pub(super) struct Hash {
    parts: Vec<RoutePart>,
    slots: Vec<Option<NodeId>>,
    children: Vec<(u64, u64, NodeId)>,
}

/// List partitions. `values` is sorted and contains the child of each value.
#[derive(Debug)]
pub(super) struct ListLevel {
    part: RoutePart,
    values: Vec<(OwnedDatum, NodeId)>,
    null: Option<NodeId>,
    default: Option<NodeId>,
}

/// Range partitions. `ranges` is sorted by lower bound, without overlaps.
#[derive(Debug)]
pub(super) struct RangeLevel {
    parts: Vec<RoutePart>,
    ranges: Vec<(Vec<Edge>, Vec<Edge>, NodeId)>,
    ints: Option<Ints>,
    default: Option<NodeId>,
}

impl Level {
    /// Creates the level of `node`, whose children must have bounds of `strategy`.
    pub(super) fn new(
        tree: &Tree,
        node: NodeId,
        strategy: Strategy,
        parts: Vec<RoutePart>,
    ) -> Self {
        let children = || {
            let children = tree.nodes[node].children.iter();
            children.filter_map(|&child| Some((child, tree.nodes[child].bound.as_ref()?)))
        };
        let default =
            children().find_map(|(child, bound)| matches!(bound, Bound::Default).then_some(child));
        match strategy {
            Strategy::Hash => Self::Hash(Hash::new(parts, children())),
            Strategy::List => match parts[..] {
                [ref part] => Self::List(ListLevel::new(part.clone(), children(), default)),
                _ => Self::Opaque,
            },
            Strategy::Range => Self::Range(RangeLevel::new(parts, children(), default)),
        }
    }

    /// Returns the child that accepts the row.
    pub(super) fn find(&self, known: KnownRow<'_>, scratch: &mut Scratch) -> Result<NodeId, Cause> {
        match self {
            Self::Hash(hash) => hash.find(known, scratch),
            Self::List(list) => list.find(known, scratch),
            Self::Range(range) => range.find(known, scratch),
            Self::Asked(answered) => answered.find(known, scratch),
            Self::Opaque => Err(Cause::Opaque),
        }
    }
}

impl Hash {
    fn new<'t>(parts: Vec<RoutePart>, children: impl Iterator<Item = (NodeId, &'t Bound)>) -> Self {
        let children: Vec<_> = children
            .filter_map(|(child, bound)| match *bound {
                Bound::Hash { modulus, remainder } => Some((modulus, remainder, child)),
                _ => None,
            })
            .collect();
        let greatest = children.iter().map(|&(modulus, ..)| modulus).max().unwrap_or(0);
        let mut slots = Vec::new();
        if greatest <= MAX_SLOTS {
            slots.resize(greatest as usize, None);
            for &(modulus, remainder, child) in &children {
                let taken = slots.iter_mut().skip(remainder as usize).step_by(modulus as usize);
                taken.for_each(|slot| *slot = Some(child));
            }
        }
        Self { parts, slots, children }
    }

    fn find(&self, known: KnownRow<'_>, scratch: &mut Scratch) -> Result<NodeId, Cause> {
        let int = match &self.parts[..] {
            [part] => part.int(known).map(|value| combine64(0, part.hash(Datum::Int(value)))),
            _ => None,
        };
        let hash = match int {
            Some(hash) => hash,
            None => self.hash(known, scratch)?,
        };
        let child = if self.slots.is_empty() {
            let taker =
                self.children.iter().find(|&&(modulus, remainder, _)| hash % modulus == remainder);
            taker.map(|&(.., child)| child)
        } else {
            self.slots[(hash % self.slots.len() as u64) as usize]
        };
        child.ok_or(Cause::NoPartition)
    }

    /// Hashes the key like `compute_partition_hash_value` in `partbounds.c`: NULLs contribute nothing.
    fn hash(&self, known: KnownRow<'_>, scratch: &mut Scratch) -> Result<u64, Cause> {
        let mut hash = 0;
        for (column, (part, scratch)) in self.parts.iter().zip(&mut scratch.columns).enumerate() {
            if let Some(datum) = part.datum(column, known, scratch)? {
                hash = combine64(hash, part.hash(datum));
            }
        }
        Ok(hash)
    }
}

impl ListLevel {
    fn new<'t>(
        part: RoutePart,
        children: impl Iterator<Item = (NodeId, &'t Bound)>,
        default: Option<NodeId>,
    ) -> Self {
        let mut list = Self { part, values: Vec::new(), null: None, default };
        for (child, bound) in children {
            let Bound::List(values) = bound else { continue };
            for value in values {
                match value {
                    Some(datum) => list.values.push((datum.clone(), child)),
                    None => list.null = Some(child),
                }
            }
        }
        list.values.sort_by(|(a, _), (b, _)| a.as_datum().cmp(&b.as_datum()));
        list
    }

    fn find(&self, known: KnownRow<'_>, scratch: &mut Scratch) -> Result<NodeId, Cause> {
        let child = match self.part.datum(0, known, &mut scratch.columns[0])? {
            None => self.null,
            Some(datum) => {
                let found = self.values.binary_search_by(|(value, _)| value.as_datum().cmp(&datum));
                found.ok().map(|index| self.values[index].1)
            }
        };
        child.or(self.default).ok_or(Cause::NoPartition)
    }
}

impl RangeLevel {
    fn new<'t>(
        parts: Vec<RoutePart>,
        children: impl Iterator<Item = (NodeId, &'t Bound)>,
        default: Option<NodeId>,
    ) -> Self {
        let mut ranges: Vec<_> = children
            .filter_map(|(child, bound)| match bound {
                Bound::Range { lower, upper } => Some((lower.clone(), upper.clone(), child)),
                _ => None,
            })
            .collect();
        ranges.sort_by(|(a, ..), (b, ..)| compare_bounds(a, b));
        let ints = if parts.len() == 1 { Ints::from_ranges(&ranges) } else { None };
        Self { parts, ranges, ints, default }
    }

    fn find(&self, known: KnownRow<'_>, scratch: &mut Scratch) -> Result<NodeId, Cause> {
        let child = match &self.parts[..] {
            // Keys of one column are by far the most frequent, and they need no array of 32 datums.
            [part] => match (&self.ints, part.int(known)) {
                (Some(ints), Some(value)) => ints.search(value),
                _ => {
                    let datum = part.datum(0, known, &mut scratch.columns[0])?;
                    datum.and_then(|datum| self.search(&[Some(datum)]))
                }
            },
            parts => {
                let mut datums = [None; MAX_KEYS];
                let places = datums.iter_mut().zip(&mut scratch.columns);
                for (column, (part, (datum, scratch))) in parts.iter().zip(places).enumerate() {
                    *datum = part.datum(column, known, scratch)?;
                }
                let key = &datums[..parts.len()];
                // A range contains no key with a NULL in any column.
                if key.contains(&None) { None } else { self.search(key) }
            }
        };
        child.or(self.default).ok_or(Cause::NoPartition)
    }

    fn search(&self, key: &[Option<Datum<'_>>]) -> Option<NodeId> {
        let after = self.ranges.partition_point(|(lower, ..)| compare(lower, key).is_le());
        let (_, upper, child) = self.ranges.get(after.checked_sub(1)?)?;
        compare(upper, key).is_gt().then_some(*child)
    }
}

/// Compares a bound with a key without NULLs, like `partition_rbound_datum_cmp` in `partbounds.c`.
fn compare(bound: &[Edge], key: &[Option<Datum<'_>>]) -> Ordering {
    for (edge, datum) in bound.iter().zip(key) {
        let order = match edge {
            Edge::MinValue => Ordering::Less,
            Edge::MaxValue => Ordering::Greater,
            Edge::Datum(value) => Some(value.as_datum()).cmp(datum),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Compares two bounds, like `partition_rbound_cmp`; ignores columns after MINVALUE or MAXVALUE.
fn compare_bounds(a: &[Edge], b: &[Edge]) -> Ordering {
    let rank = |edge: &Edge| match edge {
        Edge::MinValue => 0,
        Edge::Datum(_) => 1,
        Edge::MaxValue => 2,
    };
    for (a, b) in a.iter().zip(b) {
        match (a, b) {
            (Edge::Datum(a), Edge::Datum(b)) => {
                let order = a.as_datum().cmp(&b.as_datum());
                if order.is_ne() {
                    return order;
                }
            }
            _ => return rank(a).cmp(&rank(b)),
        }
    }
    Ordering::Equal
}
