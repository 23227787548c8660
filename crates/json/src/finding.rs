//! The search for the column of each key of a line.

use std::collections::HashMap;

use pgsluice_core::words::Words;

use crate::key_match::{KeyMatch, KeyMatcher};
use crate::refused::RefusedLine;
use crate::slots::Slots;
use crate::target::{ObjectColumn, UnknownKeys};

/// The placeholder for the key in a hint.
const KEY: &str = "{key}";

/// The rules that assign keys to columns.
#[derive(Clone, Copy)]
pub(crate) struct Finding<'o> {
    pub(crate) unknown: UnknownKeys,
    pub(crate) matcher: &'o KeyMatcher,
    pub(crate) hints: &'o HashMap<String, Words>,
}

impl Finding<'_> {
    /// Finds the index of the column for a member; `None` if the member is left out.
    #[inline]
    pub(crate) fn column(
        self,
        line: &str,
        key: &str,
        value: &str,
        columns: &mut [ObjectColumn],
        slots: &mut Slots,
    ) -> Result<Option<usize>, RefusedLine> {
        let found = slots.find(key, self.matcher);
        match found.matched {
            _ if found.is_duplicate => Err(RefusedLine::duplicate(line, key, value)),
            KeyMatch::Column { place, is_alike } if columns[place].field.is_none() => {
                columns[place].key_of_row = (found.slot, is_alike);
                Ok(Some(place))
            }
            KeyMatch::Column { place, is_alike } => {
                let (first, first_is_alike) = columns[place].key_of_row;
                let is_same = is_alike == first_is_alike;
                if is_same || self.unknown == UnknownKeys::Refuse {
                    return Err(RefusedLine::second(line, key, value, slots.key(first)));
                }
                // The key that equals the column's name wins.
                if is_alike {
                    slots.note_left_out(found.slot);
                    return Ok(None);
                }
                slots.note_left_out(first);
                columns[place].key_of_row = (found.slot, is_alike);
                Ok(Some(place))
            }
            KeyMatch::Absent(column) => Err(self.left_out(line, key, value, column)),
            KeyMatch::Ambiguous(one, other) => {
                let columns = [one, other].map(|column| self.matcher.column(column));
                Err(RefusedLine::either(line, key, value, columns))
            }
            KeyMatch::Unknown if self.unknown == UnknownKeys::Refuse => {
                Err(RefusedLine::unknown(line, key, value))
            }
            KeyMatch::Unknown => {
                slots.note_left_out(found.slot);
                Ok(None)
            }
        }
    }

    #[cold]
    fn left_out(self, line: &str, key: &str, value: &str, column: usize) -> RefusedLine {
        let column = self.matcher.column(column);
        let refused = RefusedLine::left_out(line, key, value, column);
        match self.hints.get(column) {
            Some(hint) => refused.with_hint(hint.replace(KEY, key)),
            None => refused,
        }
    }
}
