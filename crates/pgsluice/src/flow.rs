//! What every stage of one load sees, and nothing that changes except through [`Control`].

use std::sync::Arc;

use pgsluice_core::position::Position;

use crate::control::Control;
use crate::error::Place;
use crate::exchange::Exchange;
use crate::opening::Opening;
use crate::plan::Plan;
use crate::source::Input;

/// One load: its plan, its inputs, and how it is watched and stopped.
pub(crate) struct Flow<'a> {
    pub plan: &'a Plan,
    pub control: &'a Arc<Control>,
    pub inputs: Arc<[Input]>,
    pub opening: &'a Opening,
    pub exchange: Option<&'a Exchange<'a>>,
}

impl Flow<'_> {
    /// A position in the words of the user.
    pub(crate) fn place(&self, position: Position) -> Place {
        let Position { source, offset, line } = position;
        let name = self.inputs.get(source as usize).map(|input| input.name.clone());
        Place { source: name.unwrap_or_default(), line, offset }
    }
}
