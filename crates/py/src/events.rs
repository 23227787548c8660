//! Events for Python's `logging`. The threads of a run only queue them, so none waits for the interpreter.
//! Python takes them while it waits for the run.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use pgsluice::{Control, Event, Events, Level};

/// Maximum number of events that wait for Python.
const MAX_EVENTS: usize = 10_000;

// The levels of Python's `logging`.
const DEBUG: u8 = 10;
const INFO: u8 = 20;
const WARNING: u8 = 30;

/// Events that Python has not taken yet: the level and the text of each.
#[derive(Default)]
pub(crate) struct EventQueue {
    /// The least level that Python takes.
    min: u8,
    events: Mutex<VecDeque<(u8, String)>>,
}

impl EventQueue {
    /// Queues the events of `control` from this level on. Queues none for `None`.
    pub(crate) fn begin(min: Option<u8>, control: &Control) -> Arc<Self> {
        let queue = Arc::new(Self { min: min.unwrap_or(u8::MAX), events: Mutex::default() });
        if min.is_some() {
            control.listen(Arc::<Self>::clone(&queue));
        }
        queue
    }

    /// Returns the events, and forgets them.
    pub(crate) fn take(&self) -> Vec<(u8, String)> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }
}

impl Events for EventQueue {
    fn event(&self, event: &Event<'_>) {
        let level = match event {
            Event::Waiting { is_new: false, .. } => return,
            Event::Message { level: Level::Warning, .. } | Event::Retry { .. } => WARNING,
            Event::Message { .. } => INFO,
            _ => DEBUG,
        };
        if level < self.min {
            return;
        }
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() == MAX_EVENTS {
            // Texts for the user are rare, and worth more than the oldest event.
            let place = events.iter().position(|(level, _)| *level == DEBUG).unwrap_or(0);
            events.remove(place);
        }
        events.push_back((level, event.to_string()));
    }
}
