//! Where the splits lie in the inputs, and so their rows.

use parking_lot::Mutex;
use pgsluice_core::bucket::{Mark, RowAt};
use pgsluice_core::position::{Origin, Position};

use crate::source::Split;

/// All splits that were handed out, by their numbers.
#[derive(Default)]
pub(crate) struct Splits(Mutex<Vec<Extent>>);

/// Where a split begins, and its bytes.
#[derive(Clone, Copy)]
struct Extent {
    start: Position,
    length: u64,
}

impl Splits {
    /// Records where a split lies.
    pub(crate) fn begin(&self, split: &Split) {
        let extent = Extent { start: split.start, length: split.length as u64 };
        let mut splits = self.0.lock();
        let number = split.number as usize;
        let length = splits.len().max(number + 1);
        splits.resize(length, extent);
        splits[number] = extent;
    }

    /// Where a row begins.
    pub(crate) fn row_at(&self, mark: Mark) -> Origin {
        self.0.lock()[mark.split as usize].start.origin.plus(mark.offset.into())
    }

    /// A place behind all rows before `mark`, and not behind it. Its split may not have begun.
    pub(crate) fn behind(&self, mark: Mark) -> Origin {
        match (mark.offset, mark.split.checked_sub(1)) {
            (0, None) => Origin::default(),
            (0, Some(before)) => {
                let Extent { start, length } = self.0.lock()[before as usize];
                start.origin.plus(length)
            }
            _ => self.row_at(mark),
        }
    }

    /// The end of all splits.
    pub(crate) fn end(&self) -> Origin {
        let splits = self.0.lock().len();
        self.behind(Mark::start(splits as u32))
    }

    /// Returns the position of a row.
    pub(crate) fn position_of(&self, at: RowAt) -> Option<Position> {
        let start = self.0.lock().get(at.split as usize)?.start;
        let (origin, line) = (start.origin.plus(at.offset.into()), start.line + u64::from(at.line));
        Some(Position { origin, line })
    }
}
