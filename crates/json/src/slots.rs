//! The keys of a line: which column each goes to, and whether it came before.
//!
//! Objects of an input mostly have the same keys in the same order. So the key that followed last time is
//! compared first, and only another one is looked up. Keys that go to no column are remembered as well,
//! because they may not come twice either.

use std::collections::HashMap;

/// So many keys that go to no column are remembered from line to line.
const MOST_IGNORED: usize = 1000;

/// A key and what is known of it.
#[derive(Clone, Debug)]
struct Slot {
    key: Box<str>,
    /// The slot of the key that came next, the last time.
    next: usize,
    /// The last line that had it.
    line: u64,
}

/// All keys that are known: those of the columns first, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    by_key: HashMap<Box<str>, usize>,
    columns: usize,
    line: u64,
    /// Which slot the first key of a line had, the last time.
    first: usize,
    /// The slot of the key before.
    previous: Option<usize>,
}

/// What a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// That of a column.
    Column(usize),
    /// That of no column.
    Unknown,
    /// One that came before in this line.
    Duplicate,
}

impl Slots {
    pub(crate) fn new<'k>(keys: impl Iterator<Item = &'k str>) -> Self {
        let mut slots = Self {
            slots: Vec::new(),
            by_key: HashMap::new(),
            columns: 0,
            line: 0,
            first: 0,
            previous: None,
        };
        for key in keys {
            slots.learn(key);
        }
        slots.columns = slots.slots.len();
        slots
    }

    /// Begins a line.
    pub(crate) fn begin(&mut self) {
        self.line += 1;
        self.previous = None;
        if self.slots.len() - self.columns > MOST_IGNORED {
            for slot in self.slots.drain(self.columns..) {
                self.by_key.remove(&slot.key);
            }
        }
    }

    /// Finds the next key of the line.
    #[inline]
    pub(crate) fn find(&mut self, key: &str) -> Found {
        let guess = self.previous.map_or(self.first, |previous| self.slots[previous].next);
        let at = match self.slots.get(guess) {
            Some(slot) if *slot.key == *key => guess,
            _ => self.look_up(key),
        };
        self.previous = Some(at);
        let slot = &mut self.slots[at];
        if slot.line == self.line {
            return Found::Duplicate;
        }
        slot.line = self.line;
        if at < self.columns { Found::Column(at) } else { Found::Unknown }
    }

    /// The slot of a key that was not expected; it is, the next time.
    #[inline(never)]
    fn look_up(&mut self, key: &str) -> usize {
        let at = self.by_key.get(key).copied();
        let at = at.unwrap_or_else(|| self.learn(key));
        match self.previous {
            Some(previous) => self.slots[previous].next = at,
            None => self.first = at,
        }
        at
    }

    fn learn(&mut self, key: &str) -> usize {
        let at = self.slots.len();
        self.slots.push(Slot { key: key.into(), next: at + 1, line: 0 });
        self.by_key.insert(key.into(), at);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::Found::{Column, Duplicate, Unknown};
    use super::{MOST_IGNORED, Slots};

    #[test]
    fn keys_are_found_in_any_order() {
        let mut slots = Slots::new(["a", "b", ""].into_iter());
        let mut line = |keys: &[&str]| {
            slots.begin();
            keys.iter().map(|key| slots.find(key)).collect::<Vec<_>>()
        };
        for _ in 0..2 {
            assert_eq!(line(&["a", "b", ""]), [Column(0), Column(1), Column(2)]);
            assert_eq!(line(&["x", "", "b"]), [Unknown, Column(2), Column(1)]);
            assert_eq!(
                line(&["b", "b", "x", "y", "x"]),
                [Column(1), Duplicate, Unknown, Unknown, Duplicate]
            );
            assert_eq!(line(&[]), []);
        }
    }

    #[test]
    fn keys_that_never_come_again_are_forgotten() {
        let mut slots = Slots::new(["a"].into_iter());
        for line in 0..10_000 {
            slots.begin();
            let key = line.to_string();
            let found = [&key, "a", &key].map(|key| slots.find(key));
            assert_eq!(found, [Unknown, Column(0), Duplicate]);
            assert!(slots.slots.len() < MOST_IGNORED + 5);
            assert_eq!(slots.slots.len(), slots.by_key.len());
        }
    }
}
