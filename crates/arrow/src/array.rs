//! Lists as arrays, and lists of lists as arrays of several dimensions.

use crate::source::{ArrowValue, Items};
use crate::writer::{ColumnWriter, ValueError, ValueResult};

/// `MAXDIM`, `src/include/utils/array.h`.
pub(crate) const MAX_DIMENSIONS: usize = 6;

/// An array type.
#[derive(Debug)]
pub(crate) struct ArrayOf {
    /// The type of the elements.
    pub(crate) oid: u32,
    /// The delimiter between elements.
    pub(crate) delimiter: u8,
    /// The depth of nested lists.
    pub(crate) dimensions: usize,
    pub(crate) element: ColumnWriter,
}

impl ArrayOf {
    /// Returns the length of each dimension, if all its lists have the same length. An empty array has no
    /// dimensions.
    pub(crate) fn lengths(&self, items: Items<'_, '_>) -> ValueResult<Lengths> {
        let mut lengths = Lengths { of: [0; MAX_DIMENSIONS], count: 0 };
        if items.len() > 0 {
            lengths.count = self.dimensions;
            lengths.find(items, 0)?;
            lengths.check(items, 0)?;
        }
        Ok(lengths)
    }
}

/// The lengths of the dimensions of an array.
pub(crate) struct Lengths {
    of: [usize; MAX_DIMENSIONS],
    count: usize,
}

impl Lengths {
    pub(crate) fn all(&self) -> &[usize] {
        &self.of[..self.count]
    }

    /// Takes the lengths of the first list in each dimension.
    fn find(&mut self, items: Items<'_, '_>, dimension: usize) -> ValueResult {
        self.of[dimension] = items.len();
        if dimension + 1 == self.count {
            return Ok(());
        }
        match items.values().next() {
            Some(first) => self.find(list(first)?, dimension + 1),
            None => Ok(()),
        }
    }

    fn check(&self, items: Items<'_, '_>, dimension: usize) -> ValueResult {
        if items.len() != self.of[dimension] {
            return unfit("has lists of different lengths, which an array cannot have");
        }
        // The server's only array without elements is the one without dimensions.
        if items.len() == 0 {
            return unfit("contains an empty list, which an array cannot contain");
        }
        if dimension + 1 == self.count {
            return Ok(());
        }
        items.values().try_for_each(|inner| self.check(list(inner)?, dimension + 1))
    }
}

/// Returns the list in a value of a list.
pub(crate) fn list<'s, 'b>(value: ArrowValue<'s, 'b>) -> ValueResult<Items<'s, 'b>> {
    match value {
        ArrowValue::List(items) => Ok(items),
        _ => Err(ValueError::Unfit(
            "has NULL in place of a list, which an array cannot have".to_owned(),
        )),
    }
}

fn unfit(why: &str) -> ValueResult {
    Err(ValueError::Unfit(why.to_owned()))
}
