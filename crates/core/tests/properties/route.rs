//! The router finds the same leaf as its naive twin, or stops at the same node for the same reason.

use std::sync::Arc;

use pgsluice_core::catalog::{Key, KeyColumn, NodeId, ROOT, Strategy, Tree};
use pgsluice_core::format::Format;
use pgsluice_core::hash::PARTITION_SEED;
use pgsluice_core::parse::{Fields, Parser};
use pgsluice_core::route::{Cause, Route, Router, Scratch, naive};
use pgsluice_core::types::{Datum, KeyType, OwnedDatum};

use crate::choices::Choices;
use crate::tree::{self, FIELDS};

/// A field of a row.
#[derive(Debug)]
enum Value {
    Null,
    Text(Vec<u8>),
}

/// Checks the property.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let tree = Arc::new(tree::tree(&mut choices));
    let router = Router::new(Arc::clone(&tree));
    let parser = Parser::new(&Format::text(), router.wanted_fields().to_vec());
    let mut keys = Fields::default();
    let mut scratch = Scratch::default();
    for _ in 0..20 {
        let values = values(&mut choices);
        let row = line(&values);
        parser.parse(&row, &mut keys);
        let mut route = router.route(&row, &keys, &mut scratch);
        while let Route::Ask(node) = route {
            let answers = answers(&tree, node, &values);
            route = router.resume(node, &answers, &row, &keys, &mut scratch);
        }
        assert_eq!(route, descend(&tree, &values), "{values:?} in {tree:#?}");
    }
}

fn values(choices: &mut Choices<'_>) -> Vec<Value> {
    let fields = if choices.once_in(16) { choices.below(FIELDS.len()) } else { FIELDS.len() };
    let value = |ty: &KeyType| match choices.below(32) {
        0..3 => Value::Null,
        3 => Value::Text(b"?".to_vec()),
        _ => Value::Text(tree::spelling(choices, ty)),
    };
    FIELDS[..fields].iter().map(value).collect()
}

fn line(values: &[Value]) -> Vec<u8> {
    let fields: Vec<&[u8]> = (values.iter())
        .map(|value| match value {
            Value::Null => b"\\N".as_slice(),
            Value::Text(text) => text,
        })
        .collect();
    fields.join(&b'\t')
}

/// Returns the server's answers: the value of the first field is its own place.
fn answers(tree: &Tree, node: NodeId, values: &[Value]) -> Vec<Option<i64>> {
    let key = tree.nodes[node].key.as_ref().expect("a key");
    let place = asked(values).map(|place| match key.strategy {
        Strategy::Hash => KeyType::Int8.hash(Datum::Int(place), PARTITION_SEED) as i64,
        Strategy::List | Strategy::Range => place,
    });
    let is_asked = |column: &&KeyColumn| matches!(column, KeyColumn::Asked { .. });
    key.columns.iter().filter(is_asked).map(|_| place).collect()
}

fn asked(values: &[Value]) -> Option<i64> {
    let Some(Value::Text(text)) = values.first() else { return None };
    match KeyType::Int8.parse(text, &mut Vec::new())? {
        Datum::Int(place) => Some(place),
        _ => None,
    }
}

/// Descends from the root, one question at a time.
fn descend(tree: &Tree, values: &[Value]) -> Route {
    let mut node = ROOT;
    while let Some(key) = &tree.nodes[node].key {
        match step(tree, node, key, values) {
            Ok(child) => node = child,
            Err(cause) => return Route::Node(node, cause),
        }
    }
    Route::Leaf(node)
}

fn step(tree: &Tree, node: NodeId, key: &Key, values: &[Value]) -> Result<NodeId, Cause> {
    let mut types = Vec::new();
    let mut datums: Vec<Option<OwnedDatum>> = Vec::new();
    let parse = |ty: &KeyType, text| ty.parse(text, &mut Vec::new()).map(OwnedDatum::from);
    for column in &key.columns {
        types.push(match column {
            KeyColumn::Asked { .. } => KeyType::Int8,
            column => column.ty().ok_or(Cause::Opaque)?.clone(),
        });
    }
    for (index, column) in key.columns.iter().enumerate() {
        let (field, ty) = match column {
            KeyColumn::Native { field: Some(field), ty, .. } => (field, ty),
            KeyColumn::Native { field: None, .. } => {
                datums.push(None);
                continue;
            }
            KeyColumn::Expression { .. } => {
                datums.push(expression(values, index)?);
                continue;
            }
            KeyColumn::Asked { .. } => {
                datums.push(asked(values).map(OwnedDatum::Int));
                continue;
            }
            KeyColumn::Opaque { .. } => return Err(Cause::Opaque),
        };
        datums.push(match values.get(*field) {
            // A row without fields is a row with one empty field.
            None if values.is_empty() && *field == 0 => {
                Some(parse(ty, b"").ok_or(Cause::Spelling(index))?)
            }
            None => return Err(Cause::Missing(index)),
            Some(Value::Null) => None,
            Some(Value::Text(text)) => Some(parse(ty, text).ok_or(Cause::Spelling(index))?),
        });
    }
    let datums: Vec<Option<Datum<'_>>> =
        datums.iter().map(|datum| datum.as_ref().map(OwnedDatum::as_datum)).collect();
    naive::child(tree, node, &types, &datums).ok_or(Cause::NoPartition)
}

/// Evaluates the only expression of the trees: the first letter of a text, or the text of a uuid.
fn expression(values: &[Value], index: usize) -> Result<Option<OwnedDatum>, Cause> {
    let text = match (values.get(1), values.get(2)) {
        (None, _) | (Some(Value::Null), None) => return Err(Cause::Missing(index)),
        (Some(Value::Null), Some(Value::Null)) => return Ok(None),
        (Some(Value::Text(text)), _) => {
            String::from_utf8_lossy(text).chars().take(1).collect::<String>()
        }
        (_, Some(Value::Text(uuid))) => {
            match KeyType::Uuid.parse(uuid, &mut Vec::new()).ok_or(Cause::Spelling(index))? {
                Datum::Uuid(value) => hyphenated(&format!("{value:032x}")),
                other => panic!("{other:?}"),
            }
        }
    };
    Ok(Some(OwnedDatum::Bytes(text.into_bytes().into())))
}

fn hyphenated(digits: &str) -> String {
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}
