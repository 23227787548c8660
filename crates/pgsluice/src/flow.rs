//! What every stage of one load sees, and nothing that changes except through [`Control`].

use std::sync::Arc;

use parking_lot::Mutex;
use pgsluice_core::bucket::RowAt;
use pgsluice_core::position::Position;

use crate::control::Control;
use crate::error::Place;
use crate::exchange::Exchange;
use crate::opening::Opening;
use crate::plan::Plan;
use crate::rejects::Rejects;
use crate::source::Input;

/// One load: its plan, its inputs, and how it is watched and stopped.
pub(crate) struct Flow<'a> {
    pub plan: &'a Plan,
    pub control: &'a Arc<Control>,
    pub inputs: Arc<[Input]>,
    pub opening: &'a Opening,
    pub exchange: Option<&'a Exchange<'a>>,
    pub rejects: Option<&'a Rejects>,
    starts: Mutex<Vec<Position>>,
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
    ) -> Self {
        Self { plan, control, inputs, opening, exchange, rejects, starts: Mutex::default() }
    }

    /// Notes where a split begins.
    pub(crate) fn begin_split(&self, number: u32, start: Position) {
        let mut starts = self.starts.lock();
        let number = number as usize;
        let length = starts.len().max(number + 1);
        starts.resize(length, start);
        starts[number] = start;
    }

    /// Where a row stands.
    pub(crate) fn position_of(&self, at: RowAt) -> Option<Position> {
        let Position { source, offset, line } = *self.starts.lock().get(at.split as usize)?;
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
