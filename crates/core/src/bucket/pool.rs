//! Pool: the memory of all blocks, within a budget.

use super::block::Block;

const SMALLEST_BLOCK: usize = 4 << 10;
const LARGEST_BLOCK: usize = 64 << 10;

/// A pool of reusable blocks that counts the memory in use.
#[derive(Debug)]
pub struct Pool {
    budget: usize,
    used: usize,
    /// Size of each block in bytes, except for blocks of longer rows.
    size: usize,
    free: Vec<Block>,
}

impl Pool {
    /// Creates a pool of `budget` bytes for `buckets` buckets that are filled at the same time.
    pub fn new(budget: usize, buckets: usize) -> Self {
        // Blocks that have only begun to fill may waste a quarter of the budget.
        let size = (budget / 4 / buckets.max(1)).clamp(SMALLEST_BLOCK, LARGEST_BLOCK);
        Self { budget, used: 0, size, free: Vec::new() }
    }

    /// Creates a pool without a budget, with blocks for a few rows each.
    pub fn unbounded() -> Self {
        Self { budget: usize::MAX, used: 0, size: SMALLEST_BLOCK, free: Vec::new() }
    }

    /// Returns an empty block for rows of `bytes` bytes; `None` while the budget is exhausted. If no block is in
    /// use, it always returns one, however long the row.
    pub fn take(&mut self, bytes: usize) -> Option<Block> {
        let size = self.size.max(bytes);
        let memory = Block::memory_for(size);
        if self.used > 0 && self.used + memory > self.budget {
            return None;
        }
        let block = self.free.pop_if(|_| size == self.size).unwrap_or_else(|| Block::new(size));
        self.used += block.memory();
        Some(block)
    }

    /// Counts memory by which a block has grown, or that is needed to send a block.
    pub fn grow(&mut self, bytes: usize) {
        self.used += bytes;
    }

    /// Releases memory that [`Self::grow`] counted.
    pub fn shrink(&mut self, bytes: usize) {
        self.used -= bytes;
    }

    /// Takes back a block, for reuse.
    pub fn give_back(&mut self, mut block: Block) {
        self.used -= block.memory();
        // A block that has grown for a long row is not kept.
        if block.memory() <= Block::memory_for(self.size) {
            block.clear();
            self.free.push(block);
        }
    }

    /// Whether enough memory is free for a waiting thread to continue.
    pub fn is_roomy(&self) -> bool {
        self.used <= self.budget / 16 * 15
    }

    /// Whether no block is in use.
    pub fn is_unused(&self) -> bool {
        self.used == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_used_again_within_the_budget() {
        let mut pool = Pool::new(64 << 20, 1);
        let mut blocks: Vec<Block> = std::iter::from_fn(|| pool.take(1)).collect();
        let count = (64 << 20) / Block::memory_for(LARGEST_BLOCK);
        assert_eq!(blocks.len(), count);
        assert!(!pool.is_roomy());
        blocks.drain(..).for_each(|block| pool.give_back(block));
        assert!(pool.is_unused() && pool.is_roomy());
        assert!(pool.take(1).is_some() && pool.free.len() == count - 1);
    }

    #[test]
    fn a_row_longer_than_the_budget_has_room_when_nothing_else_is_there() {
        let mut pool = Pool::new(1 << 20, 1);
        let small = pool.take(1).expect("room");
        assert!(pool.take(8 << 20).is_none());
        pool.give_back(small);
        let block = pool.take(8 << 20).expect("nothing else is there");
        assert!(pool.take(1).is_none());
        pool.give_back(block);
        assert_eq!((pool.is_unused(), pool.free.len()), (true, 1));
    }
}
