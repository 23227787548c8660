//! Shard: the rows that one thread has put into buckets, until a payload takes them.

use std::collections::VecDeque;

use super::block::{Block, BlockRow, SplitOffset};

/// Number of bytes by which a row may grow during encoding before its block must grow.
const ROOM_A_ROW: usize = 256;

/// One thread's share of all buckets.
#[derive(Debug)]
pub struct Shard {
    buckets: Vec<Bucket>,
    /// Upper bound for the number of bytes of any bucket.
    max_bytes: usize,
    grown: usize,
    /// The first position from which rows of the current split may still arrive, if they may arrive late.
    pending: Option<SplitOffset>,
}

/// One thread's share of one bucket.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    /// The block that is being filled; before the first row it has no capacity. It is stored here, next to the
    /// sums, because anything else that a row touches comes from distant memory.
    open: Block,
    pub(super) bytes: usize,
    pub(super) rows: usize,
    full: VecDeque<Block>,
}

impl Bucket {
    /// Returns the oldest block, if it has rows.
    pub(super) fn first(&self) -> Option<&Block> {
        self.blocks().next()
    }

    /// Returns the blocks with rows, the oldest first.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Block> {
        let open = (!self.open.rows().is_empty()).then_some(&self.open);
        self.full.iter().chain(open)
    }
}

impl Shard {
    /// Creates a shard for `buckets` buckets.
    pub fn new(buckets: usize) -> Self {
        Self {
            buckets: (0..buckets).map(|_| Bucket::default()).collect(),
            max_bytes: 0,
            grown: 0,
            pending: None,
        }
    }

    /// Returns the number of bytes of all rows.
    pub fn bytes(&self) -> usize {
        self.buckets.iter().map(|bucket| bucket.bytes).sum()
    }

    /// Returns room for a row of about `bytes` bytes in `bucket`. The error is the size of the block that
    /// the caller must supply first with [`Self::add_block`].
    #[inline]
    pub fn room(&mut self, bucket: usize, bytes: usize) -> Result<Room<'_>, usize> {
        let room = bytes + ROOM_A_ROW;
        let Self { buckets, max_bytes, grown, .. } = self;
        let bucket = &mut buckets[bucket];
        match bucket.open.has_room(room) {
            true => Ok(Room { bucket, max_bytes, grown }),
            false => Err(room),
        }
    }

    /// Gives `bucket` an empty block to fill.
    pub fn add_block(&mut self, bucket: usize, block: Block) -> Room<'_> {
        let Self { buckets, max_bytes, grown, .. } = self;
        let bucket = &mut buckets[bucket];
        let before = std::mem::replace(&mut bucket.open, block);
        if before.memory() > 0 {
            bucket.full.push_back(before);
        }
        Room { bucket, max_bytes, grown }
    }

    /// Returns an upper bound for the bytes of the fullest bucket.
    pub(super) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Computes the bound again, because it does not shrink by itself.
    pub(super) fn recompute_max_bytes(&mut self) {
        self.max_bytes = self.buckets.iter().map(|bucket| bucket.bytes).max().unwrap_or(0);
    }

    /// Takes the open block of `bucket` if it is empty. The block may have been supplied for a row that
    /// could not be written, or may have grown too large for it.
    pub fn take_empty(&mut self, bucket: usize) -> Option<Block> {
        let open = &mut self.buckets[bucket].open;
        let is_empty = open.rows().is_empty() && open.memory() > 0;
        is_empty.then(|| std::mem::take(open))
    }

    /// Sets the first position in the current split from which rows may still arrive although later rows have
    /// arrived. With `None`, all further rows come after those that have arrived.
    #[inline]
    pub fn set_pending(&mut self, first: Option<SplitOffset>) {
        self.pending = first;
    }

    /// Marks `row` as pending while the caller waits for memory. Returns the previous value, which the caller
    /// must restore afterwards.
    pub fn add_pending(&mut self, row: BlockRow) -> Option<SplitOffset> {
        let (row, before) = (row.start, self.pending);
        self.pending = Some(before.map_or(row, |before| before.min(row)));
        before
    }

    pub(super) fn pending(&self) -> Option<SplitOffset> {
        self.pending
    }

    /// Returns the memory by which blocks have grown since the last call.
    #[inline]
    pub fn take_growth(&mut self) -> usize {
        std::mem::take(&mut self.grown)
    }

    pub(super) fn bucket(&self, bucket: usize) -> &Bucket {
        &self.buckets[bucket]
    }

    /// Takes the first blocks of `bucket`, about `max` bytes, such that no earlier row than theirs is in
    /// another block or may still arrive.
    pub(super) fn take_in_order(&mut self, bucket: usize, max: usize) -> Vec<Block> {
        let blocks = self.buckets[bucket].blocks();
        let blocks = blocks.filter_map(|block| Some((ends(block)?, block.bytes())));
        let blocks: Vec<([SplitOffset; 2], usize)> = blocks.collect();
        let (mut last, mut taken, mut max) = (None, 0, max);
        for (place, ([_, end], bytes)) in blocks.iter().enumerate() {
            last = last.max(Some(*end));
            if self.pending.is_some() && last >= self.pending {
                break;
            }
            max = max.saturating_sub(*bytes);
            let next = blocks[place + 1..].iter().map(|([begin, _], _)| *begin).min();
            if next.is_none() || last < next {
                taken = place + 1;
                if max == 0 {
                    break;
                }
            }
        }
        (0..taken).filter_map(|_| self.take(bucket)).collect()
    }

    /// Takes the first block of `bucket`.
    pub(super) fn take(&mut self, bucket: usize) -> Option<Block> {
        let bucket = &mut self.buckets[bucket];
        let block = match bucket.full.pop_front() {
            Some(block) => block,
            None if bucket.rows > 0 => std::mem::take(&mut bucket.open),
            None => return None,
        };
        bucket.bytes -= block.bytes();
        bucket.rows -= block.rows().len();
        Some(block)
    }
}

/// Returns the first and the last row of a block by position, if it has rows.
fn ends(block: &Block) -> Option<[SplitOffset; 2]> {
    let starts = || block.rows().iter().map(|row| row.start);
    Some([starts().min()?, starts().max()?])
}

/// Room for one row in a bucket.
#[derive(Debug)]
pub struct Room<'s> {
    bucket: &'s mut Bucket,
    max_bytes: &'s mut usize,
    grown: &'s mut usize,
}

impl Room<'_> {
    /// Adds the row that `write` appends, or nothing if it fails.
    #[inline]
    pub fn push<E>(
        self,
        at: BlockRow,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { bucket, max_bytes, grown } = self;
        let (memory, before) = (bucket.open.memory(), bucket.open.bytes());
        let pushed = bucket.open.push(at, write);
        *grown += bucket.open.memory() - memory;
        pushed?;
        let written = bucket.open.bytes() - before;
        bucket.bytes += written;
        bucket.rows += 1;
        *max_bytes = bucket.bytes.max(*max_bytes);
        Ok(())
    }
}
