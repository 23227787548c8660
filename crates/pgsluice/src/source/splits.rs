//! The positions of splits in the inputs, from which the positions of rows follow.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pgsluice_core::bucket::{Mark, RowAt};
use pgsluice_core::position::{Origin, Position};

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

/// The start of a split and its length in bytes.
#[derive(Clone, Copy)]
struct Extent {
    start: Position,
    length: u64,
}

impl Splits {
    /// Records the position of a split.
    pub(crate) fn begin(&self, split: &Split) {
        let extent = Extent { start: split.start, length: split.length as u64 };
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

    /// Returns the place where a row begins.
    pub(crate) fn row_at(&self, mark: Mark) -> Origin {
        self.extents.lock()[mark.split as usize].start.origin.plus(mark.offset.into())
    }

    /// Returns a place after all rows before `mark`, but not after `mark` itself. Its split may not have
    /// begun.
    pub(crate) fn behind(&self, mark: Mark) -> Origin {
        match (mark.offset, mark.split.checked_sub(1)) {
            (0, None) => Origin::default(),
            (0, Some(before)) => {
                let Extent { start, length } = self.extents.lock()[before as usize];
                start.origin.plus(length)
            }
            _ => self.row_at(mark),
        }
    }

    /// Returns the end of all splits.
    pub(crate) fn end(&self) -> Origin {
        let splits = self.extents.lock().len();
        self.behind(Mark::start(splits as u32))
    }

    /// Returns the position of a row.
    pub(crate) fn position_of(&self, at: RowAt) -> Option<Position> {
        let start = self.extents.lock().get(at.split as usize)?.start;
        let (origin, line) = (start.origin.plus(at.offset.into()), start.line + u64::from(at.line));
        Some(Position { origin, line })
    }
}
