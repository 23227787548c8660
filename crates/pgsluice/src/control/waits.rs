//! The waits of a run, and their duration by reason.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The reason why a run waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// A session of the run waits for a lock. A notice names the holder.
    Lock,
    /// Another session must end, or release a lock, before the run goes on.
    Session,
    /// A replica, a replication slot or the archiver lags behind.
    Lag,
    /// The server is unavailable.
    Server,
    /// The input has not arrived yet.
    Input,
    /// A step that takes long, such as a comparison. The metrics do not count it as a wait.
    Work,
}

const ALL: [WaitReason; 6] = [
    WaitReason::Lock,
    WaitReason::Session,
    WaitReason::Lag,
    WaitReason::Server,
    WaitReason::Input,
    WaitReason::Work,
];

impl WaitReason {
    /// Returns the name of the reason in metrics and logs. Both kinds of locks have the same name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lock | Self::Session => "lock",
            Self::Lag => "lag",
            Self::Server => "server",
            Self::Input => "input",
            Self::Work => "work",
        }
    }
}

/// The waits of a run, with their durations in all attempts.
#[derive(Debug, Default)]
pub(crate) struct Waits(Mutex<WaitState>);

#[derive(Debug, Default)]
struct WaitState {
    waits: [Wait; ALL.len()],
    /// The number of routers that wait for input.
    waiting_for_input: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Wait {
    since: Option<Instant>,
    total: Duration,
}

impl Wait {
    fn end(&mut self) -> Option<Duration> {
        let time = self.since.take()?.elapsed();
        self.total += time;
        Some(time)
    }
}

impl Waits {
    /// Begins a wait that has lasted for `waited`, unless it has begun. Returns its duration so far, and whether
    /// it is new.
    pub(super) fn begin(&self, reason: WaitReason, waited: Duration) -> (Duration, bool) {
        let wait = &mut self.state().waits[reason as usize];
        match wait.since {
            Some(since) => (since.elapsed(), false),
            None => {
                let now = Instant::now();
                wait.since = Some(now.checked_sub(waited).unwrap_or(now));
                (waited, true)
            }
        }
    }

    /// Ends a wait. Returns its duration, or `None` if there was none.
    pub(super) fn end(&self, reason: WaitReason) -> Option<Duration> {
        self.state().waits[reason as usize].end()
    }

    /// Returns the reasons of the waits that have not ended.
    pub(super) fn open(&self) -> Vec<WaitReason> {
        let state = self.state();
        ALL.into_iter().filter(|&reason| state.waits[reason as usize].since.is_some()).collect()
    }

    /// Marks one of `routers` threads as waiting for input until the returned value is dropped. The run waits
    /// while all of them do. This is called for each block of the input, so it emits no event.
    pub(crate) fn begin_input_wait(&self, routers: usize) -> InputWait<'_> {
        let mut state = self.state();
        state.waiting_for_input += 1;
        if state.waiting_for_input == routers {
            state.waits[WaitReason::Input as usize].since.get_or_insert_with(Instant::now);
        }
        InputWait(self)
    }

    /// Returns the time spent in waits of this name so far.
    pub(crate) fn time(&self, name: &str) -> Duration {
        let state = self.state();
        let waits = ALL.into_iter().filter(|reason| reason.name() == name);
        waits
            .map(|reason| state.waits[reason as usize])
            .map(|wait| wait.total + wait.since.map_or(Duration::ZERO, |since| since.elapsed()))
            .sum()
    }

    fn state(&self) -> MutexGuard<'_, WaitState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guard of a thread that waits for input.
pub(crate) struct InputWait<'a>(&'a Waits);

impl Drop for InputWait<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.waiting_for_input -= 1;
        state.waits[WaitReason::Input as usize].end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_counts_while_it_lasts_and_after_it_ended() {
        let waits = Waits::default();
        let waited = Duration::from_secs(5);
        assert_eq!(waits.begin(WaitReason::Lock, waited), (waited, true));
        let (so_far, is_new) = waits.begin(WaitReason::Lock, Duration::ZERO);
        assert!(so_far >= waited && !is_new);
        assert_eq!(waits.open(), [WaitReason::Lock]);
        assert!(waits.time("lock") >= waited);
        assert!(waits.end(WaitReason::Lock).is_some_and(|time| time >= waited));
        assert!(waits.end(WaitReason::Lock).is_none());
        assert!(waits.time("lock") >= waited);
        assert_eq!(waits.time("lag"), Duration::ZERO);
    }

    #[test]
    fn input_is_waited_for_when_all_routers_wait() {
        let waits = Waits::default();
        let is_waiting = || waits.state().waits[WaitReason::Input as usize].since.is_some();
        let first = waits.begin_input_wait(2);
        assert!(!is_waiting());
        let second = waits.begin_input_wait(2);
        assert!(is_waiting());
        drop(first);
        assert!(!is_waiting());
        drop(second);
    }
}
