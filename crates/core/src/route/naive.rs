//! A slow and simple twin of the router, which checks every partition in turn.
//!
//! Only tests use it. It is public so that integration tests and fuzz targets can compare it with
//! [`super::Router`].

use crate::catalog::{Bound, Edge, NodeId, Tree};
use crate::hash::{PARTITION_SEED, combine64};
use crate::types::{Datum, KeyType};

/// Returns the child of `node` that accepts `key`, whose types are `types`; `None` in the key is NULL.
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
