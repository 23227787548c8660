//! The router finds the leaf that its slow twin finds, or stops at the same node for the same cause.

use std::sync::Arc;

use pgsluice_core::catalog::{Key, KeyColumn, NodeId, ROOT, Tree};
use pgsluice_core::format::Format;
use pgsluice_core::parse::{Keys, Parser};
use pgsluice_core::route::{Cause, Route, Router, naive};
use pgsluice_core::types::{Datum, KeyType};

use crate::choices::Choices;
use crate::tree::{self, FIELDS};

/// A field of a row.
#[derive(Debug)]
enum Value {
    Null,
    Text(Vec<u8>),
}

/// The property.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let tree = Arc::new(tree::tree(&mut choices));
    let router = Router::new(Arc::clone(&tree));
    let parser = Parser::new(&Format::text(), router.wanted().to_vec());
    let mut keys = Keys::default();
    for _ in 0..20 {
        let values = values(&mut choices);
        let row = line(&values);
        parser.parse(&row, &mut keys);
        assert_eq!(router.route(&row, &keys), walk(&tree, &values), "{values:?} in {tree:#?}");
    }
}

fn values(choices: &mut Choices<'_>) -> Vec<Value> {
    let fields = if choices.once_in(16) { choices.below(FIELDS.len()) } else { FIELDS.len() };
    let value = |&ty: &KeyType| match choices.below(32) {
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

/// Down from the root, one question at a time.
fn walk(tree: &Tree, values: &[Value]) -> Route {
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
    let mut datums: Vec<Option<Datum<'_>>> = Vec::new();
    for column in &key.columns {
        let KeyColumn::Native { ty, .. } = column else { return Err(Cause::Opaque) };
        types.push(*ty);
    }
    for (index, column) in key.columns.iter().enumerate() {
        let KeyColumn::Native { field, ty, .. } = column else { return Err(Cause::Opaque) };
        let Some(field) = field else {
            datums.push(None);
            continue;
        };
        datums.push(match values.get(*field) {
            // A row without a single field is a row with one that is empty.
            None if values.is_empty() && *field == 0 => {
                Some(ty.parse(b"").ok_or(Cause::Spelling(index))?)
            }
            None => return Err(Cause::Missing(index)),
            Some(Value::Null) => None,
            Some(Value::Text(text)) => Some(ty.parse(text).ok_or(Cause::Spelling(index))?),
        });
    }
    naive::child(tree, node, &types, &datums).ok_or(Cause::NoPartition)
}
