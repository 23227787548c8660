//! Properties of single columns.

use std::iter::successors;

use pgsluice_core::catalog::{KeyColumn, NodeId};
use tokio_postgres::types::{Oid, Type};

use crate::pg::introspect::Catalogue;

/// Whether the input has all columns that determine which rows a leaf accepts.
pub(super) fn is_readable(catalogue: &Catalogue, leaf: NodeId) -> bool {
    let above = |node: &NodeId| catalogue.tree.nodes[*node].parent;
    let keys =
        successors(Some(leaf), above).filter_map(|node| catalogue.tree.nodes[node].key.as_ref());
    !catalogue.omits_columns
        || keys.flat_map(|key| &key.columns).all(|column| match column {
            KeyColumn::Native { field, .. } => field.is_some(),
            KeyColumn::Asked { column, .. } => catalogue.columns.contains(column),
            KeyColumn::Expression { .. } | KeyColumn::Opaque { .. } => false,
        })
}

/// Returns the columns of the input whose types store equal values in the same way.
pub(super) fn exact(catalogue: &Catalogue) -> Vec<String> {
    let types = [
        Type::BOOL,
        Type::INT2,
        Type::INT4,
        Type::INT8,
        Type::OID,
        Type::DATE,
        Type::TIME,
        Type::TIMESTAMP,
        Type::TIMESTAMPTZ,
        Type::UUID,
    ];
    let is_exact = |oid: &Oid| types.iter().any(|ty| ty.oid() == *oid);
    let columns = catalogue.columns.iter().zip(&catalogue.types);
    columns.filter(|(_, oid)| is_exact(oid)).map(|(name, _)| name.clone()).collect()
}

/// Whether a column of the input is read as a boolean.
pub(super) fn is_boolean(catalogue: &Catalogue, column: &str) -> bool {
    let place = catalogue.columns.iter().position(|name| name == column);
    place.is_some_and(|place| catalogue.types.get(place) == Some(&Type::BOOL.oid()))
}
