//! Rows whose keys depend on the clock. Their bytes determine the node at which they stop; the server is not
//! asked.

use pgsluice_core::catalog::{KeyColumn, NodeId};
use pgsluice_core::parse::{Fields, Value};
use pgsluice_core::route::Cause;

use super::Plan;

impl Plan {
    /// Returns the cause if a row at `node` must not be asked about because its value depends on the clock.
    /// `column` is the column of the key, or `None` for the whole key.
    pub(crate) fn clock_at(
        &self,
        node: NodeId,
        column: Option<usize>,
        row: &[u8],
        keys: &Fields,
    ) -> Option<Cause> {
        let columns = &self.tree.nodes[node].key.as_ref()?.columns;
        let mut scratch = Vec::new();
        let mut depends_on_clock = |field: usize| {
            let slot = self.router.wanted_fields().partition_point(|&other| other < field);
            match keys.get(slot, row) {
                Value::Text(text) => {
                    !self.catalogue.questions.volatility(field).admits(text, &mut scratch)
                }
                Value::Null | Value::Missing | Value::Binary(_) => false,
            }
        };
        let mut is_at = |column: &KeyColumn| match column {
            KeyColumn::Native { field, .. } => field.is_some_and(&mut depends_on_clock),
            KeyColumn::Expression { expr, .. } => {
                expr.places().into_iter().any(&mut depends_on_clock)
            }
            KeyColumn::Asked { fields, .. } => fields.iter().copied().any(&mut depends_on_clock),
            KeyColumn::Opaque { .. } => false,
        };
        match column {
            Some(place) => {
                columns.get(place).is_some_and(&mut is_at).then_some(Cause::Clock(place))
            }
            None => {
                let is_asked = |column: &KeyColumn| matches!(column, KeyColumn::Asked { .. });
                let place = columns.iter().position(|column| is_asked(column) && is_at(column));
                place.map(Cause::Clock)
            }
        }
    }
}
