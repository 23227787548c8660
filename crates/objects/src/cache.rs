//! Blocks of the objects of a store that were read last, and beginnings that were requested ahead.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use object_store::path::Path;

use crate::runtime::Pending;

/// The size of a block: small enough for a header or a row, and large enough for the next ones.
pub(crate) const BLOCK: u64 = 256 << 10;

/// The maximum number of blocks: 8 MiB.
pub(crate) const BLOCKS: usize = 32;

/// Blocks of the objects of a store.
#[derive(Default)]
pub(crate) struct Cache {
    /// Blocks by their object and place, the newest first.
    recent: Mutex<VecDeque<(Path, u64, Bytes)>>,
    /// The first blocks of objects.
    ahead: Mutex<HashMap<Path, Pending<Bytes>>>,
}

impl Cache {
    /// Returns the block at `first`, if it is in the cache.
    pub(crate) fn recent(&self, path: &Path, first: u64) -> Option<Bytes> {
        let recent = lock(&self.recent);
        let found = recent.iter().find(|(of, at, _)| of == path && *at == first);
        found.map(|(_, _, block)| block.clone())
    }

    /// Inserts the block at `first`, in place of the oldest one.
    pub(crate) fn insert(&self, path: &Path, first: u64, block: Bytes) {
        if self.recent(path, first).is_none() {
            let mut recent = lock(&self.recent);
            recent.truncate(BLOCKS - 1);
            recent.push_front((path.clone(), first, block));
        }
    }

    /// Stores the request for a first block, unless there is one.
    pub(crate) fn request(&self, path: &Path, request: impl FnOnce() -> Pending<Bytes>) {
        lock(&self.ahead).entry(path.clone()).or_insert_with(request);
    }

    /// Returns the request for a first block, if there is one.
    pub(crate) fn take(&self, path: &Path) -> Option<Pending<Bytes>> {
        lock(&self.ahead).remove(path)
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
