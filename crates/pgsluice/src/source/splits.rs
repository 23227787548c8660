//! The origins of splits in the inputs, from which the origins of rows follow.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pgsluice_core::bucket::{BlockRow, SplitOffset};
use pgsluice_core::origin::Origin;

use crate::source::Split;

/// The longest time for which a split that has failed waits for the splits before it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The pause between two checks whether they are routed.
const PAUSE: Duration = Duration::from_millis(1);

/// All splits that the reader returned, by number.
#[derive(Default)]
pub(crate) struct Splits {
    extents: Mutex<Vec<Extent>>,
    routed: Mutex<RoutedSplits>,
}

/// The numbers of routed splits: all before `frontier`, and some after it.
#[derive(Default)]
struct RoutedSplits {
    frontier: u32,
    beyond: BTreeSet<u32>,
}

/// The start of a split with its line, and its length in bytes.
#[derive(Clone, Copy)]
struct Extent {
    start: Origin,
    line: u64,
    length: u64,
}

impl Splits {
    /// Records the origin of a split.
    pub(crate) fn begin(&self, split: &Split) {
        let extent = Extent { start: split.start, line: split.line, length: split.length as u64 };
        let mut splits = self.extents.lock();
        let number = split.number as usize;
        let length = splits.len().max(number + 1);
        splits.resize(length, extent);
        splits[number] = extent;
    }

    /// Marks a split as routed to its end.
    pub(crate) fn complete(&self, number: u32) {
        let RoutedSplits { frontier, beyond } = &mut *self.routed.lock();
        beyond.insert(number);
        while beyond.remove(frontier) {
            *frontier += 1;
        }
    }

    /// Blocks until all splits before `number` are routed, or until `is_over` returns true. A split that has
    /// failed waits here, so that the error of the earliest row is reported, regardless of which thread is
    /// the fastest.
    pub(crate) fn wait_for_earlier(&self, number: u32, is_over: impl Fn() -> bool) {
        let began = Instant::now();
        while self.routed.lock().frontier < number && !is_over() && began.elapsed() < PATIENCE {
            thread::sleep(PAUSE);
        }
    }

    /// Returns the origin of a row that begins at `at`.
    pub(crate) fn origin_at(&self, at: SplitOffset) -> Origin {
        self.extents.lock()[at.split as usize].start.plus(at.offset.into())
    }

    /// Returns an origin after all rows before `at`, but not after `at` itself. Its split may not have begun.
    pub(crate) fn end_before(&self, at: SplitOffset) -> Origin {
        match (at.offset, at.split.checked_sub(1)) {
            (0, None) => Origin::default(),
            (0, Some(before)) => {
                let Extent { start, length, .. } = self.extents.lock()[before as usize];
                start.plus(length)
            }
            _ => self.origin_at(at),
        }
    }

    /// Returns the end of all splits.
    pub(crate) fn end(&self) -> Origin {
        let splits = self.extents.lock().len();
        self.end_before(SplitOffset::start_of(splits as u32))
    }

    /// Returns the origin of a row, and its line.
    pub(crate) fn origin_of(&self, row: BlockRow) -> Option<(Origin, u64)> {
        let Extent { start, line, .. } = *self.extents.lock().get(row.start.split as usize)?;
        Some((start.plus(row.start.offset.into()), line + u64::from(row.line)))
    }
}
