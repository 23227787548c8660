//! The router's slow and obvious twin: asks every partition, one by one, whether it takes the key.
//!
//! It is for tests only, and public so that integration tests and fuzz targets can compare it with
//! [`super::Router`].

use crate::catalog::{Bound, Edge, NodeId, Tree};
use crate::hash::{PARTITION_SEED, combine64};
use crate::types::{Datum, KeyType};

/// The child of `node` that takes `key`, whose types are `types`; NULL is None.
pub fn child(
    tree: &Tree,
    node: NodeId,
    types: &[KeyType],
    key: &[Option<Datum<'_>>],
) -> Option<NodeId> {
    let children = &tree.nodes[node].children;
    let bound = |child: NodeId| tree.nodes[child].bound.as_ref();
    let taker = children.iter().find(|&&child| bound(child).is_some_and(|b| takes(b, types, key)));
    let default = || children.iter().find(|&&child| matches!(bound(child), Some(Bound::Default)));
    taker.or_else(default).copied()
}

fn takes(bound: &Bound, types: &[KeyType], key: &[Option<Datum<'_>>]) -> bool {
    match bound {
        Bound::Default | Bound::Opaque => false,
        Bound::Hash { modulus, remainder } => {
            let hash = types.iter().zip(key).fold(0, |hash, (ty, datum)| match datum {
                Some(datum) => combine64(hash, ty.hash(*datum, PARTITION_SEED)),
                None => hash,
            });
            hash % modulus == *remainder
        }
        Bound::List(values) => {
            values.iter().any(|value| value.as_ref().map(|value| value.as_datum()) == key[0])
        }
        Bound::Range { lower, upper } => {
            let key: Option<Vec<Datum<'_>>> = key.iter().copied().collect();
            key.is_some_and(|key| !before(&key, lower) && before(&key, upper))
        }
    }
}

/// Whether `key` sorts before `bound`, column by column.
fn before(key: &[Datum<'_>], bound: &[Edge]) -> bool {
    match (key, bound) {
        ([datum, key @ ..], [edge, bound @ ..]) => match edge {
            Edge::MinValue => false,
            Edge::MaxValue => true,
            Edge::Datum(value) if *datum == value.as_datum() => before(key, bound),
            Edge::Datum(value) => *datum < value.as_datum(),
        },
        _ => false,
    }
}
