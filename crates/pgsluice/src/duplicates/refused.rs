//! Errors about rows that cannot be compared, and about keys that must not occur again.

use pgsluice_core::catalog::{NodeId, label};
use pgsluice_core::route::Cause;

use super::DuplicateFinding;
use crate::error::kind::Kind;
use crate::error::{Error, Location, Unit, option};
use crate::route::row::Routed;
use crate::source::{Reader, Split};

impl DuplicateFinding<'_> {
    /// Returns the error for a row whose leaf is unknown.
    pub(super) fn refused_place(
        &self,
        split: &Split,
        routed: &Routed<'_>,
        node: NodeId,
        cause: Cause,
    ) -> Error {
        let (what, why) = self.plan.explain(node, cause);
        let why = format!("{what}: {why}, so its leaf is unknown");
        self.refused_at(split, routed, &why)
    }

    /// Returns the error for a row whose key cannot be read natively.
    pub(super) fn refused_spelling(
        &self,
        split: &Split,
        routed: &Routed<'_>,
        column: &str,
    ) -> Error {
        let why = format!("only the server can read the value of column {}", label(column));
        self.refused_at(split, routed, &why)
    }

    /// Returns the error for a row that cannot be compared with others.
    pub(super) fn refused_at(&self, split: &Split, routed: &Routed<'_>, why: &str) -> Error {
        let message = format!("cannot compare the row with others: {why}");
        let error = Error::new(Kind::Data, message).with_sqlstate("0A000");
        let place = self.inputs.locate_row(split, routed.index);
        match place {
            Some(place) => error.at(place),
            None => error,
        }
    }

    /// Returns the error for two rows with the same key in an input that must have none.
    pub(super) fn refused(&self, pair: [u64; 2]) -> Error {
        let places = pair.map(|row| self.place_of(row));
        let key = self.changes.key.columns.join(", ");
        let message = format!("the input has several rows with the same key ({key})");
        let error = Error::new(Kind::Data, message).with_sqlstate("21000");
        match places {
            [Some(first), Some(second)] => {
                let byte = match first.unit {
                    Unit::Bytes => format!(", byte {}", first.offset),
                    Unit::Rows | Unit::Group(_) | Unit::Tuple => String::new(),
                };
                let detail = format!("The first row with this key is at {first}{byte}.");
                error.at(second).with_detail(detail)
            }
            _ => error,
        }
        .with_hint(
            "Keep one of them with "
                + option("duplicates").with("first")
                + " or "
                + option("duplicates").with("last")
                + ".",
        )
    }

    /// Returns the location of row number `row`.
    fn place_of(&self, row: u64) -> Option<Location> {
        let Self { plan, inputs, .. } = self;
        let mut reader = Reader::new((*inputs).clone(), &plan.shape);
        let mut used = None;
        while let Ok(Some(split)) = reader.next(used.take()) {
            let index = row.checked_sub(split.first_row)?;
            let index = usize::try_from(index).ok()?;
            if index < split.rows.len() {
                return inputs.locate_row(&split, index);
            }
            used = Some(split);
        }
        None
    }
}
