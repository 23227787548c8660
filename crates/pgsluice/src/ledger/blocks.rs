//! Blocks: the ledger's record of streams and of tables in memory, which have no fingerprint. The hash
//! of each split is kept with the first receipt that speaks of its rows. When the load is resumed, a
//! split must have the same hash before its rows go on. When a load is finished, only one hash over all
//! blocks of a stream is kept.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;
use pgsluice_core::hash::bytes_extended;

use crate::error::{Error, Result};
use crate::source::{Fingerprint, Input, OfStream, Split, changed};
use pgsluice_core::position::Origin;

/// A block that was read of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) source: u32,
    pub(super) start: u64,
    pub(super) stop: u64,
    pub(super) hash: i64,
}

/// The blocks of a load.
#[derive(Debug, Default)]
pub(super) struct Blocks(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Blocks of earlier runs that this run has not read again yet, by source and start.
    known: HashMap<(u32, u64), Block>,
    /// How far earlier runs had read each source.
    ends: HashMap<u32, u64>,
    /// Blocks that are not known to be in the ledger, by split.
    new: BTreeMap<u32, Block>,
    /// All blocks that this run has read, by source and start.
    met: BTreeMap<(u32, u64), Block>,
}

impl Blocks {
    /// Makes blocks that begin with those of earlier runs.
    pub(super) fn of(earlier: Vec<Block>) -> Self {
        let mut state = State::default();
        for block in earlier {
            let end = state.ends.entry(block.source).or_default();
            *end = block.stop.max(*end);
            state.known.insert((block.source, block.start), block);
        }
        Self(Mutex::new(state))
    }

    /// Records a split of a stream; refuses one that is not what an earlier run has read.
    pub(super) fn verify_block(&self, split: &Split, inputs: &[Input]) -> Result<()> {
        let Origin { input: source, at: start } = split.start.origin;
        let Some(input) = inputs.get(source as usize).filter(|it| !it.is_file()) else {
            return Ok(());
        };
        let (stop, hash) = (start + split.length as u64, split.hash().cast_signed());
        let block = Block { source, start, stop, hash };
        let mut state = self.0.lock();
        state.met.insert((source, start), block);
        match state.known.remove(&(source, start)) {
            Some(known) if known == block => Ok(()),
            None if state.ends.get(&source).is_none_or(|&end| end <= start) => {
                state.new.insert(split.number, block);
                Ok(())
            }
            _ => {
                let (name, unit) = (&input.name, input.counted_by());
                Err(changed(format!("{name} is another from {unit} {start} on, or soon after")))
            }
        }
    }

    /// `sources` with what their streams are, all of which were read.
    pub(super) fn whole(&self, sources: &[Fingerprint]) -> Vec<Fingerprint> {
        let state = self.0.lock();
        let whole = |(source, fingerprint): (u32, &Fingerprint)| {
            let blocks = state.met.range((source, 0)..=(source, u64::MAX)).map(|(_, block)| *block);
            fingerprint.of_stream(of_stream(blocks))
        };
        (0..).zip(sources).map(whole).collect()
    }

    /// Returns the blocks up to the split `last` that must be written before a receipt speaks of them.
    pub(super) fn unwritten(&self, last: u32) -> Vec<Block> {
        self.0.lock().new.range(..=last).map(|(_, block)| *block).collect()
    }

    /// Marks `blocks` as written to the ledger.
    pub(super) fn written(&self, blocks: &[Block]) {
        self.0.lock().new.retain(|_, block| !blocks.contains(block));
    }

    /// Refuses a stream that has ended before what earlier runs have read of it.
    pub(super) fn check_end(&self, inputs: &[Input]) -> Result<()> {
        let state = self.0.lock();
        match state.known.keys().min() {
            None => Ok(()),
            Some((source, start)) => Err(ended(inputs, *source, *start)),
        }
    }
}

/// A stream of these blocks, in their order; `pg::ledger::upgrade` says the same in SQL.
fn of_stream(blocks: impl Iterator<Item = Block>) -> Option<OfStream> {
    let (mut bytes, mut texts) = (0, Vec::new());
    for Block { start, stop, hash, .. } in blocks {
        bytes = stop;
        texts.push(format!("{start}-{stop}:{hash}"));
    }
    let hash = bytes_extended(texts.join(",").as_bytes(), 0);
    (!texts.is_empty()).then(|| OfStream { bytes, hash: format!("{hash:016x}") })
}

fn ended(inputs: &[Input], source: u32, at: u64) -> Error {
    let input = inputs.get(source as usize);
    let (name, unit) = input.map_or(("", "byte"), |it| (it.name.as_str(), it.counted_by()));
    changed(format!("{name} ends at {unit} {at}, and went on"))
}
