//! Blocks: the ledger's record of streams and of tables in memory, which have no fingerprint. The hash of
//! each split is stored with the first receipt that covers its rows. When a load is resumed, a split must
//! have the same hash before its rows are sent. When a load is finished, only one hash over all blocks of a
//! stream is kept.
//!
//! Threads take splits in order but compute their hashes in any order. After a killed run, a block may
//! therefore be missing before a later one. No receipt covers the rows of the missing block.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use pgsluice_core::hash::bytes_extended;

use crate::error::{Error, Result};
use crate::source::{Fingerprint, Input, Split, StreamFacts, changed};
use pgsluice_core::origin::Origin;

/// A block that was read from a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamBlock {
    pub(super) source: u32,
    pub(super) start: u64,
    pub(super) stop: u64,
    pub(super) hash: i64,
}

/// The blocks of a load.
#[derive(Debug, Default)]
pub(super) struct Blocks(Mutex<BlockState>);

#[derive(Debug, Default)]
struct BlockState {
    /// Blocks of earlier runs that this run has not read yet, by source and start.
    known: BTreeMap<(u32, u64), StreamBlock>,
    /// Blocks that may not be in the ledger yet, by split.
    new: BTreeMap<u32, StreamBlock>,
    /// All blocks that this run has read, by source and start.
    read: BTreeMap<(u32, u64), StreamBlock>,
}

impl Blocks {
    /// Begins with the blocks of earlier runs.
    pub(super) fn from_earlier(earlier: Vec<StreamBlock>) -> Self {
        let known = earlier.into_iter().map(|block| ((block.source, block.start), block)).collect();
        Self(Mutex::new(BlockState { known, ..BlockState::default() }))
    }

    /// Records a split of a stream. Rejects a split that differs from the one that an earlier run read.
    pub(super) fn verify_block(&self, split: &Split, inputs: &[Input]) -> Result<()> {
        self.compare(split, inputs, |state, block| state.record(split.number, block))
    }

    /// Rejects a split like [`Self::verify_block`], but records nothing.
    pub(super) fn check_block(&self, split: &Split, inputs: &[Input]) -> Result<()> {
        self.compare(split, inputs, |state, block| state.is_possible(block))
    }

    fn compare(
        &self,
        split: &Split,
        inputs: &[Input],
        is_same: impl FnOnce(&mut BlockState, StreamBlock) -> bool,
    ) -> Result<()> {
        let Origin { input: source, at: start } = split.start;
        let Some(input) =
            inputs.get(source as usize).filter(|it| !it.is_file() && !it.may_change())
        else {
            return Ok(());
        };
        let (stop, hash) = (start + split.length as u64, split.hash().cast_signed());
        let block = StreamBlock { source, start, stop, hash };
        if is_same(&mut self.0.lock(), block) {
            return Ok(());
        }
        let (name, place) = (&input.name, input.describe_place(start));
        Err(changed(format!("{name} differs from what was read before, at {place} or soon after")))
    }

    /// Returns `sources` with descriptions of their streams, which were all read to the end.
    pub(super) fn whole(&self, sources: &[Fingerprint]) -> Vec<Fingerprint> {
        let state = self.0.lock();
        let whole = |(source, fingerprint): (u32, &Fingerprint)| {
            let blocks =
                state.read.range((source, 0)..=(source, u64::MAX)).map(|(_, block)| *block);
            fingerprint.with_stream(describe_stream(blocks))
        };
        (0..).zip(sources).map(whole).collect()
    }

    /// Returns the blocks up to the split `last` that must be written before a receipt covers their rows.
    pub(super) fn blocks_to_write(&self, last: u32) -> Vec<StreamBlock> {
        self.0.lock().new.range(..=last).map(|(_, block)| *block).collect()
    }

    /// Marks `blocks` as written to the ledger.
    pub(super) fn mark_written(&self, blocks: &[StreamBlock]) {
        self.0.lock().new.retain(|_, block| !blocks.contains(block));
    }

    /// Rejects a stream that ended before blocks that earlier runs had read.
    pub(super) fn check_end(&self, inputs: &[Input]) -> Result<()> {
        let state = self.0.lock();
        match state.known.keys().min() {
            None => Ok(()),
            Some((source, start)) => Err(ended(inputs, *source, *start)),
        }
    }
}

impl BlockState {
    /// Records the block of a split; returns false if earlier runs read something else there.
    fn record(&mut self, split: u32, block: StreamBlock) -> bool {
        let StreamBlock { source, start, .. } = block;
        let is_possible = self.is_possible(block);
        self.read.insert((source, start), block);
        if self.known.remove(&(source, start)).is_none() {
            self.new.insert(split, block);
        }
        is_possible
    }

    /// Whether earlier runs read the same block, or nothing in its range.
    fn is_possible(&self, block: StreamBlock) -> bool {
        let StreamBlock { source, start, stop, .. } = block;
        if let Some(known) = self.known.get(&(source, start)) {
            return *known == block;
        }
        let mut before = self.known.range((source, 0)..(source, stop));
        before.next_back().is_none_or(|(_, known)| known.stop <= start)
    }
}

/// Returns the description of a stream with these blocks, which must be in order.
fn describe_stream(blocks: impl Iterator<Item = StreamBlock>) -> Option<StreamFacts> {
    let (mut bytes, mut texts) = (0, Vec::new());
    for StreamBlock { start, stop, hash, .. } in blocks {
        bytes = stop;
        texts.push(format!("{start}-{stop}:{hash}"));
    }
    let hash = bytes_extended(texts.join(",").as_bytes(), 0);
    (!texts.is_empty()).then(|| StreamFacts { bytes, hash: format!("{hash:016x}") })
}

fn ended(inputs: &[Input], source: u32, at: u64) -> Error {
    let input = inputs.get(source as usize);
    let (name, place) =
        input.map_or(("", String::new()), |it| (it.name.as_str(), it.describe_place(at)));
    changed(format!("{name} ends at {place}, but was longer before"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: u64, stop: u64) -> StreamBlock {
        StreamBlock { source: 1, start, stop, hash: (start + stop).cast_signed() }
    }

    #[test]
    fn a_block_that_no_run_has_recorded_may_be_between_two() {
        let recorded =
            || vec![block(0, 10), block(20, 30), StreamBlock { source: 0, ..block(10, 20) }];
        let accepts = |blocks: &[StreamBlock]| {
            let found = Blocks::from_earlier(recorded());
            let mut state = found.0.lock();
            (0..).zip(blocks).all(|(split, block)| state.record(split, *block))
        };
        assert!(accepts(&[block(0, 10), block(10, 20), block(20, 30), block(30, 50)]));
        assert!(accepts(&[block(20, 30), block(30, 50), block(10, 20), block(0, 10)]));
        for other in [block(10, 21), block(9, 10), block(11, 30), block(21, 25), block(20, 31)] {
            assert!(!accepts(&[block(0, 5), other]) && !accepts(&[other]), "{other:?}");
        }
        assert!(!accepts(&[StreamBlock { hash: 0, ..block(20, 30) }]));
    }
}
