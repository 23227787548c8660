//! Weights: the approximate size of a value in bytes once written. An array may be far smaller than its rows:
//! all rows may share a long value of a dictionary, a run, or a list.

use super::nested::Items;
use super::{ArrowValue, Data, Source};

/// The weight of a number, a time, or the overhead of a longer value.
const SCALAR: usize = 24;

impl Source<'_> {
    /// Returns the weight of every row, if all rows have the same.
    pub(crate) fn constant_weight(&self) -> Option<usize> {
        match &self.data {
            Data::Utf8(_)
            | Data::LargeUtf8(_)
            | Data::Utf8View(_)
            | Data::Binary(_)
            | Data::LargeBinary(_)
            | Data::BinaryView(_)
            | Data::List(..)
            | Data::Struct(_)
            | Data::Map(..) => None,
            Data::FixedSizeBinary(values) => {
                Some(bytes(usize::try_from(values.value_length()).unwrap_or(0)))
            }
            Data::Dictionary(_, values)
            | Data::Runs16(_, values)
            | Data::Runs32(_, values)
            | Data::Runs64(_, values) => values.constant_weight(),
            _ => Some(SCALAR),
        }
    }

    /// Returns the weight of the value in `row`.
    pub(crate) fn weight(&self, row: usize) -> usize {
        match self.value(row) {
            ArrowValue::Text(text) => SCALAR + text.len(),
            ArrowValue::Bytes(value) => bytes(value.len()),
            ArrowValue::List(items) => SCALAR.saturating_add(items.weight()),
            ArrowValue::Map(pairs) => pairs.keys.weight().saturating_add(pairs.values.weight()),
            // JSON repeats the names in each row.
            ArrowValue::Struct(row) => row
                .named_fields()
                .map(|(name, source, row)| source.weight(row).saturating_add(name.len()))
                .fold(SCALAR, usize::saturating_add),
            _ => SCALAR,
        }
    }
}

impl Items<'_, '_> {
    fn weight(&self) -> usize {
        match self.source().constant_weight() {
            Some(weight) => weight.saturating_mul(self.len()),
            None => {
                let weights = self.rows().map(|row| self.source().weight(row));
                weights.fold(0, usize::saturating_add)
            }
        }
    }
}

/// Returns the weight of `count` bytes as text.
fn bytes(count: usize) -> usize {
    SCALAR + 2 * count
}
