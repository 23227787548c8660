//! What every stage of one load sees, and nothing that changes except through [`Control`].

use std::sync::Arc;

use parking_lot::Mutex;
use pgsluice_core::bucket::{Mark, RowAt};
use pgsluice_core::position::Position;

use crate::control::Control;
use crate::error::Place;
use crate::exchange::Exchange;
use crate::ledger::Ledger;
use crate::opening::Opening;
use crate::plan::Plan;
use crate::rejects::Rejects;
use crate::source::{Input, Split};

/// One load: its plan, its inputs, and how it is watched and stopped.
pub(crate) struct Flow<'a> {
    pub plan: &'a Plan,
    pub control: &'a Arc<Control>,
    pub inputs: Arc<[Input]>,
    pub opening: &'a Opening,
    pub exchange: Option<&'a Exchange<'a>>,
    pub rejects: Option<&'a Rejects>,
    /// None if none is kept.
    pub ledger: Option<&'a Ledger>,
    splits: Mutex<Vec<Extent>>,
}

/// Where a split begins, and its bytes.
#[derive(Clone, Copy)]
struct Extent {
    start: Position,
    length: u64,
}

impl<'a> Flow<'a> {
    /// A load that is about to begin.
    pub(crate) fn new(
        plan: &'a Plan,
        control: &'a Arc<Control>,
        inputs: Arc<[Input]>,
        opening: &'a Opening,
        exchange: Option<&'a Exchange<'a>>,
        rejects: Option<&'a Rejects>,
        ledger: Option<&'a Ledger>,
    ) -> Self {
        let splits = Mutex::default();
        Self { plan, control, inputs, opening, exchange, rejects, ledger, splits }
    }

    /// Notes where a split lies.
    pub(crate) fn begin_split(&self, split: &Split) {
        let extent = Extent { start: split.start, length: split.length as u64 };
        let mut splits = self.splits.lock();
        let number = split.number as usize;
        let length = splits.len().max(number + 1);
        splits.resize(length, extent);
        splits[number] = extent;
    }

    /// The source and the byte at which a row begins.
    pub(crate) fn row_at(&self, mark: Mark) -> (u32, u64) {
        let start = self.splits.lock()[mark.split as usize].start;
        (start.source, start.offset + u64::from(mark.offset))
    }

    /// A place behind all rows before `mark`, and not behind it. Its split may not have begun.
    pub(crate) fn behind(&self, mark: Mark) -> (u32, u64) {
        match (mark.offset, mark.split.checked_sub(1)) {
            (0, None) => (0, 0),
            (0, Some(before)) => {
                let Extent { start, length } = self.splits.lock()[before as usize];
                (start.source, start.offset + length)
            }
            _ => self.row_at(mark),
        }
    }

    /// The end of all splits.
    pub(crate) fn end(&self) -> (u32, u64) {
        let splits = self.splits.lock().len();
        self.behind(Mark::start(splits as u32))
    }

    /// Where a row stands.
    pub(crate) fn position_of(&self, at: RowAt) -> Option<Position> {
        let Position { source, offset, line } = self.splits.lock().get(at.split as usize)?.start;
        let (offset, line) = (offset + u64::from(at.offset), line + u64::from(at.line));
        Some(Position { source, offset, line })
    }

    /// Where a row stands, in the words of the user.
    pub(crate) fn place_of(&self, at: RowAt) -> Option<Place> {
        let Position { source, offset, line } = self.position_of(at)?;
        let source = self.inputs.get(source as usize)?.name.clone();
        Some(Place { source, line, offset })
    }
}
