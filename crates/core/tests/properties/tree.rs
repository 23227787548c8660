//! Random partition trees that PostgreSQL would allow: bounds do not overlap, each modulus divides the next,
//! and there is at most one DEFAULT. Random rows have values near these bounds.

use std::collections::BTreeSet;

use pgsluice_core::catalog::{Bound, Edge, Key, KeyColumn, Node, NodeId, Relation, Strategy, Tree};
use pgsluice_core::expr::{Cut, Expr};
use pgsluice_core::types::{KeyType, OwnedDatum};

use crate::choices::Choices;

/// The input's fields.
pub const FIELDS: [KeyType; 6] = [
    KeyType::Int8,
    KeyType::Text,
    KeyType::Uuid,
    KeyType::Numeric { scale: None },
    KeyType::Interval { precision: 6 },
    KeyType::Bytea,
];

const MAX_NODES: usize = 60;

/// Returns a tree of up to three levels below the root.
pub fn tree(choices: &mut Choices<'_>) -> Tree {
    let mut tree = Tree { nodes: vec![leaf(None, None)] };
    grow(choices, &mut tree, 0, 3);
    tree
}

fn leaf(parent: Option<NodeId>, bound: Option<Bound>) -> Node {
    let relation = Relation { schema: "s".to_owned(), name: "t".to_owned() };
    Node { relation, parent, bound, key: None, children: Vec::new() }
}

fn grow(choices: &mut Choices<'_>, tree: &mut Tree, node: NodeId, levels: usize) {
    let strategy = choices.pick(&[Strategy::Range, Strategy::List, Strategy::Hash]);
    let columns = if strategy == Strategy::List { 1 } else { 1 + choices.below(3) };
    let columns: Vec<KeyColumn> = (0..columns).map(|_| column(choices)).collect();
    let types: Vec<KeyType> = columns.iter().map(key_type).collect();
    let bounds = match strategy {
        Strategy::Range => ranges(choices, &types),
        Strategy::List => lists(choices, &types[0]),
        Strategy::Hash => hashes(choices),
    };
    tree.nodes[node].key = Some(Key { strategy, columns });
    for bound in bounds {
        if tree.nodes.len() == MAX_NODES {
            break;
        }
        let child = tree.nodes.len();
        tree.nodes.push(leaf(Some(node), Some(bound)));
        tree.nodes[node].children.push(child);
        if levels > 1 && choices.once_in(3) {
            grow(choices, tree, child, levels - 1);
        }
    }
}

fn column(choices: &mut Choices<'_>) -> KeyColumn {
    let field = choices.below(FIELDS.len());
    let column = format!("c{field}");
    match choices.below(32) {
        26 | 27 => KeyColumn::Asked { column, fields: vec![0], why: "by chance".to_owned() },
        28 | 29 => KeyColumn::Expression { text: "an expression".to_owned(), expr: expression() },
        30 => KeyColumn::Opaque { column, why: "by chance".to_owned() },
        31 => KeyColumn::Native { column, field: None, ty: FIELDS[field].clone() },
        _ => KeyColumn::Native { column, field: Some(field), ty: FIELDS[field].clone() },
    }
}

/// Returns `coalesce(left(c1, 1), c2::text)`, of a text and a uuid.
fn expression() -> Expr {
    let [text, uuid] = [1, 2].map(|field| Expr::column(field, FIELDS[field].clone()));
    let one = Expr::constant(b"1", &KeyType::Int4).expect("a number");
    let letter = text.and_then(|text| text.cut(Cut::Left, vec![one]));
    let items = [letter, uuid.and_then(|uuid| uuid.cast(&KeyType::Text))];
    let items = items.into_iter().collect::<Option<_>>();
    items.and_then(Expr::coalesce).expect("its types are right")
}

fn key_type(column: &KeyColumn) -> KeyType {
    match column {
        // The server's answers are integers.
        KeyColumn::Asked { .. } => KeyType::Int8,
        column => column.ty().cloned().unwrap_or(KeyType::Text),
    }
}

/// Returns one of a few values of the type as text, so that bounds are hit.
pub fn spelling(choices: &mut Choices<'_>, ty: &KeyType) -> Vec<u8> {
    match ty {
        KeyType::Text => choices.pick(&["", "a", "ab", "b", "ä", "B", "aa"]).into(),
        KeyType::Uuid => format!("{:032x}", choices.below(6) << choices.pick(&[0, 32])).into(),
        KeyType::Numeric { .. } => {
            choices.pick(&["-1e20", "-1.5", "-1.0", "0.00", "-0", "1", "1.00", "NaN"]).into()
        }
        KeyType::Interval { .. } => {
            choices.pick(&["-1 mon", "-30 days", "00:00:00", "24:00", "1 day", "1 year"]).into()
        }
        KeyType::Bytea => choices.pick(&["", "a", "ab", "b", "A", "aa"]).into(),
        _ => choices.pick(&["-2", "-1", "0", "1", "2", "7", "-2147483648", "2147483647"]).into(),
    }
}

fn datum(choices: &mut Choices<'_>, ty: &KeyType) -> OwnedDatum {
    let spelling = spelling(choices, ty);
    ty.parse(&spelling, &mut Vec::new()).map(OwnedDatum::from).expect("it is spelled plainly")
}

/// Returns adjacent ranges between a few sorted bounds, with some left out.
fn ranges(choices: &mut Choices<'_>, types: &[KeyType]) -> Vec<Bound> {
    let bounds: BTreeSet<Vec<(u8, Option<OwnedDatum>)>> =
        (0..choices.below(8)).map(|_| range_bound(choices, types)).collect();
    let edges: Vec<Vec<Edge>> =
        bounds.into_iter().map(|bound| bound.into_iter().map(edge).collect()).collect();
    let mut ranges: Vec<Bound> = (edges.windows(2))
        .filter(|_| !choices.once_in(4))
        .map(|pair| Bound::Range { lower: pair[0].clone(), upper: pair[1].clone() })
        .collect();
    // The server lists partitions in no particular order.
    if choices.once_in(2) {
        ranges.reverse();
    }
    with_default(choices, ranges)
}

/// Returns a bound in its sort order: MINVALUE, values, MAXVALUE. After the first or the last, all bounds are equal.
fn range_bound(choices: &mut Choices<'_>, types: &[KeyType]) -> Vec<(u8, Option<OwnedDatum>)> {
    let mut infinite = None;
    let edge = |ty: &KeyType| {
        infinite = infinite.or_else(|| choices.pick(&[None, None, None, None, Some(0), Some(2)]));
        match infinite {
            Some(rank) => (rank, None),
            None => (1, Some(datum(choices, ty))),
        }
    };
    types.iter().map(edge).collect()
}

fn edge((rank, value): (u8, Option<OwnedDatum>)) -> Edge {
    match (rank, value) {
        (_, Some(value)) => Edge::Datum(value),
        (0, None) => Edge::MinValue,
        (_, None) => Edge::MaxValue,
    }
}

fn lists(choices: &mut Choices<'_>, ty: &KeyType) -> Vec<Bound> {
    let mut values: Vec<Vec<Option<OwnedDatum>>> = vec![Vec::new(); 1 + choices.below(4)];
    let partitions = values.len();
    let distinct: BTreeSet<OwnedDatum> =
        (0..choices.below(8)).map(|_| datum(choices, ty)).collect();
    for value in distinct {
        values[choices.below(partitions)].push(Some(value));
    }
    if choices.once_in(2) {
        values[choices.below(partitions)].push(None);
    }
    let values = values.into_iter().filter(|values| !values.is_empty());
    let bounds = values.map(Bound::List).collect();
    with_default(choices, bounds)
}

/// Repeatedly splits remainder classes by factors, which are equal within a round, and leaves some classes out.
fn hashes(choices: &mut Choices<'_>) -> Vec<Bound> {
    let mut classes = vec![(1_u64, 0_u64)];
    let mut bounds = Vec::new();
    for _ in 0..choices.below(4) {
        let factor = choices.pick(&[2, 3, 5, 1 << 11, 1 << 21]);
        let mut split = Vec::new();
        for (modulus, remainder) in classes {
            match choices.below(6) {
                0 => {}
                1 => bounds.push((modulus, remainder)),
                _ => split.extend((0..factor.min(5)).map(|_| {
                    let part = choices.below(factor.min(256) as usize) as u64;
                    (modulus * factor, remainder + part * modulus)
                })),
            }
        }
        classes = split;
        classes.sort_unstable();
        classes.dedup();
        classes.truncate(MAX_NODES);
    }
    bounds.extend(classes);
    let bound = |(modulus, remainder)| Bound::Hash { modulus, remainder };
    bounds.into_iter().map(bound).collect()
}

fn with_default(choices: &mut Choices<'_>, mut bounds: Vec<Bound>) -> Vec<Bound> {
    if choices.once_in(2) {
        bounds.insert(choices.below(bounds.len() + 1), Bound::Default);
    }
    bounds
}
