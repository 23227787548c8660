//! The sessions that work for a load, and the time since when. It is updated for each payload, never for each
//! row.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pgsluice_session::connect::Pid;

/// The working sessions.
#[derive(Debug, Default)]
pub(crate) struct Busy {
    next: AtomicU64,
    works: Mutex<HashMap<u64, (Pid, Instant)>>,
}

impl Busy {
    /// Marks the session `pid` as working until the returned value is dropped.
    pub(crate) fn enter(&self, pid: &Pid) -> BusyGuard<'_> {
        let work = self.next.fetch_add(1, Relaxed);
        self.works().insert(work, (Arc::clone(pid), Instant::now()));
        BusyGuard { busy: self, work }
    }

    /// Returns the sessions that have been working for at least `time`, and for how long.
    pub(crate) fn longer_than(&self, time: Duration) -> Vec<(i32, Duration)> {
        let works = self.works();
        let works = works.values().filter_map(|(pid, since)| Some((*pid.get()?, since.elapsed())));
        works.filter(|(_, busy)| *busy >= time).collect()
    }

    fn works(&self) -> MutexGuard<'_, HashMap<u64, (Pid, Instant)>> {
        self.works.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A working session.
pub(crate) struct BusyGuard<'a> {
    busy: &'a Busy,
    work: u64,
}

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        self.busy.works().remove(&self.work);
    }
}
