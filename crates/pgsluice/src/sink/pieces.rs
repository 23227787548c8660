//! Pieces of a payload that the server has refused, by destination.

use pgsluice_core::bucket::{BlockRow, MIN_COPY_ROWS, Payload, Wire};
use pgsluice_core::catalog::NodeId;

/// Rows that are sent to one table.
pub(super) type PartRows<'p> = (NodeId, Wire, Vec<(BlockRow, &'p [u8])>);

/// Returns the rows for each table. If the leaves have many rows each, they are addressed by name, so that
/// the server checks them.
pub(super) fn pieces(payload: &Payload) -> Vec<PartRows<'_>> {
    let wire = payload.wire();
    if stays_whole(payload) {
        return vec![(payload.node(), wire, payload.in_order().collect())];
    }
    payload.apart().map(|(node, rows)| (node, wire, rows)).collect()
}

/// Whether the rows of a payload are too few to go leaf by leaf.
fn stays_whole(payload: &Payload) -> bool {
    payload.rows() < MIN_COPY_ROWS * payload.nodes().len()
}

/// Returns the destinations of the pieces and their format.
pub(super) fn tables(payload: &Payload) -> Vec<(NodeId, Wire)> {
    match stays_whole(payload) {
        true => vec![(payload.node(), payload.wire())],
        false => payload.nodes().iter().map(|node| (*node, payload.wire())).collect(),
    }
}
