//! The keys of a line: the column of each, and whether it appeared before.
//!
//! Objects of an input mostly have the same keys in the same order. So the key that followed last time is
//! compared first, and only another one is looked up. Keys without a column are remembered too, because they
//! must not appear twice either.

use std::collections::HashMap;

use crate::key_match::{KeyMatch, KeyMatcher};

/// The most keys without a column that are remembered from line to line.
const MAX_IGNORED: usize = 1000;

/// A key and the facts about it.
#[derive(Clone, Debug)]
struct Slot {
    key: Box<str>,
    matched: KeyMatch,
    /// Whether the key was recorded as left out.
    is_noted: bool,
    /// The slot of the key that followed last time.
    next: usize,
    /// The last line that had the key.
    line: u64,
}

/// All known keys: first those of the columns, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    by_key: HashMap<Box<str>, usize>,
    columns: usize,
    line: u64,
    /// The slot of a line's first key, last time.
    first: usize,
    /// The slot of the previous key.
    previous: Option<usize>,
    /// Keys that were left out and not yet reported.
    left_out: Vec<String>,
}

/// A key of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoundKey {
    /// The slot of the key.
    pub(crate) slot: usize,
    /// Whether the key appeared before in the line.
    pub(crate) is_duplicate: bool,
    /// The target of its value.
    pub(crate) matched: KeyMatch,
}

impl Slots {
    /// Creates slots for the `keys` of the columns, in their order.
    pub(crate) fn new<'k>(keys: impl Iterator<Item = &'k str>, matcher: &KeyMatcher) -> Self {
        let mut slots = Self {
            slots: Vec::new(),
            by_key: HashMap::new(),
            columns: 0,
            line: 0,
            first: 0,
            previous: None,
            left_out: Vec::new(),
        };
        for key in keys {
            slots.learn(key, matcher);
        }
        slots.columns = slots.slots.len();
        slots
    }

    /// Begins a line.
    pub(crate) fn begin(&mut self) {
        self.line += 1;
        self.previous = None;
        if self.slots.len() - self.columns > MAX_IGNORED {
            for slot in self.slots.drain(self.columns..) {
                self.by_key.remove(&slot.key);
            }
        }
    }

    /// Finds the next key of the line.
    #[inline]
    pub(crate) fn find(&mut self, key: &str, matcher: &KeyMatcher) -> FoundKey {
        let guess = self.previous.map_or(self.first, |previous| self.slots[previous].next);
        let at = match self.slots.get(guess) {
            Some(slot) if *slot.key == *key => guess,
            _ => self.look_up(key, matcher),
        };
        self.previous = Some(at);
        let slot = &mut self.slots[at];
        let is_duplicate = slot.line == self.line;
        slot.line = self.line;
        FoundKey { slot: at, is_duplicate, matched: slot.matched }
    }

    /// Returns the key of a slot.
    pub(crate) fn key(&self, slot: usize) -> &str {
        &self.slots[slot].key
    }

    /// Records that the key of a slot is left out.
    #[inline]
    pub(crate) fn note_left_out(&mut self, slot: usize) {
        let slot = &mut self.slots[slot];
        if !slot.is_noted {
            slot.is_noted = true;
            if self.left_out.len() < MAX_IGNORED {
                self.left_out.push(slot.key.to_string());
            }
        }
    }

    /// Returns the keys that were left out since the last call.
    pub(crate) fn take_left_out(&mut self) -> Vec<String> {
        std::mem::take(&mut self.left_out)
    }

    /// Looks up the slot of a key that was not expected, and expects it the next time.
    #[inline(never)]
    fn look_up(&mut self, key: &str, matcher: &KeyMatcher) -> usize {
        let at = self.by_key.get(key).copied();
        let at = at.unwrap_or_else(|| self.learn(key, matcher));
        match self.previous {
            Some(previous) => self.slots[previous].next = at,
            None => self.first = at,
        }
        at
    }

    fn learn(&mut self, key: &str, matcher: &KeyMatcher) -> usize {
        let at = self.slots.len();
        let matched = matcher.find(key);
        self.slots.push(Slot { key: key.into(), matched, is_noted: false, next: at + 1, line: 0 });
        self.by_key.insert(key.into(), at);
        at
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pgsluice_core::column_lookup::ColumnLookup;

    use super::{FoundKey, KeyMatch, KeyMatcher, MAX_IGNORED, Slots};

    fn slots(keys: &[&str]) -> (Slots, KeyMatcher) {
        let columns: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        let lookup = ColumnLookup::new(&columns, Default::default());
        let matcher = KeyMatcher::new(Arc::new(lookup), keys.iter().copied());
        (Slots::new(keys.iter().copied(), &matcher), matcher)
    }

    fn column(place: usize) -> Option<KeyMatch> {
        Some(KeyMatch::Column { place, is_alike: false })
    }

    const UNKNOWN: Option<KeyMatch> = Some(KeyMatch::Unknown);
    const DUPLICATE: Option<KeyMatch> = None;

    fn found(found: FoundKey) -> Option<KeyMatch> {
        (!found.is_duplicate).then_some(found.matched)
    }

    #[test]
    fn keys_are_found_in_any_order() {
        let (mut slots, matcher) = slots(&["a", "b", ""]);
        let mut line = |keys: &[&str]| {
            slots.begin();
            keys.iter().map(|key| found(slots.find(key, &matcher))).collect::<Vec<_>>()
        };
        for _ in 0..2 {
            assert_eq!(line(&["a", "b", ""]), [column(0), column(1), column(2)]);
            assert_eq!(line(&["x", "", "b"]), [UNKNOWN, column(2), column(1)]);
            assert_eq!(
                line(&["b", "b", "x", "y", "x"]),
                [column(1), DUPLICATE, UNKNOWN, UNKNOWN, DUPLICATE]
            );
            assert_eq!(line(&["B"]), [Some(KeyMatch::Column { place: 1, is_alike: true })]);
            assert_eq!(line(&[]), []);
        }
    }

    #[test]
    fn keys_that_never_come_again_are_forgotten() {
        let (mut slots, matcher) = slots(&["a"]);
        for line in 0..10_000 {
            slots.begin();
            let key = line.to_string();
            let keys = [&key, "a", &key].map(|key| found(slots.find(key, &matcher)));
            assert_eq!(keys, [UNKNOWN, column(0), DUPLICATE]);
            assert!(slots.slots.len() < MAX_IGNORED + 5);
            assert_eq!(slots.slots.len(), slots.by_key.len());
        }
    }
}
