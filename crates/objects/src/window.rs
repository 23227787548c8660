//! A window that moves over a range of an object: the next blocks are requested before they are needed.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::Result;
use crate::failure::{Cause, Failure};
use crate::object::Object;
use crate::runtime::Pending;

/// Requests the blocks of a range in order.
#[derive(Debug)]
pub(crate) struct Window {
    object: Object,
    range: Range<u64>,
    /// The size of the next block, which grows up to `max`: a reader that needs only the beginning should
    /// not request much.
    block: u64,
    max: u64,
    /// The number of blocks that are on their way, which grows up to `deepest` with each block that is read.
    depth: usize,
    deepest: usize,
    /// The place of the next block.
    next: u64,
    blocks: VecDeque<WindowBlock>,
}

#[derive(Debug)]
struct WindowBlock {
    range: Range<u64>,
    state: BlockState,
}

#[derive(Debug)]
enum BlockState {
    Requested(Option<Pending<Bytes>>),
    Here(Bytes),
}

impl Window {
    /// Creates a window over `range` with blocks of `first` bytes to begin with and of `max` bytes later, which
    /// end at multiples of these after its beginning.
    /// `depth` blocks are on their way at the same time, later up to `deepest`.
    pub(crate) fn new(
        object: &Object,
        range: Range<u64>,
        [first, max]: [u64; 2],
        [depth, deepest]: [usize; 2],
    ) -> Self {
        let next = range.start;
        Self {
            object: object.clone(),
            range,
            block: first,
            max,
            depth,
            deepest,
            next,
            blocks: VecDeque::new(),
        }
    }

    /// Requests the first blocks.
    pub(crate) fn begin(&mut self) {
        self.request(self.next);
    }

    /// Returns the bytes of a block from `at` on: at least one, or none at the end of the range.
    pub(crate) fn some_at(&mut self, at: u64) -> Result<Bytes> {
        if at >= self.range.end {
            return Ok(Bytes::new());
        }
        while self.blocks.front().is_some_and(|block| block.range.end <= at) {
            self.blocks.pop_front();
            self.depth = (self.depth * 2).min(self.deepest);
        }
        let first = self.blocks.front().map_or(self.next, |block| block.range.start);
        if at < first || self.blocks.is_empty() && at > self.next {
            self.blocks.clear();
            self.next = at;
        }
        self.request(at);
        let lost = || Failure::new(Cause::Other, "the request ended unexpectedly");
        let WindowBlock { range, state } = self.blocks.front_mut().ok_or_else(lost)?;
        if let BlockState::Requested(pending) = state {
            let bytes = pending.take().ok_or_else(lost)?.wait()?;
            if range.start == 0 {
                self.object.cache_first_block(&bytes);
            }
            *state = BlockState::Here(bytes);
        }
        match state {
            BlockState::Here(bytes) => Ok(bytes.slice((at - range.start) as usize..)),
            BlockState::Requested(_) => Err(lost()),
        }
    }

    /// Returns `length` bytes from `at` on.
    pub(crate) fn all_at(&mut self, at: u64, length: usize) -> Result<Bytes> {
        let first = self.some_at(at)?;
        if first.len() >= length {
            return Ok(first.slice(..length));
        }
        let mut bytes = BytesMut::with_capacity(length);
        bytes.extend_from_slice(&first);
        while bytes.len() < length {
            let part = self.some_at(at + bytes.len() as u64)?;
            if part.is_empty() {
                return Err(Failure::new(Cause::Other, "a part of it lies beyond its end"));
            }
            bytes.extend_from_slice(&part[..part.len().min(length - bytes.len())]);
        }
        Ok(bytes.freeze())
    }

    /// Requests blocks until the block with the byte at `at` and those ahead of it are on their way.
    fn request(&mut self, at: u64) {
        while self.next < self.range.end && (self.blocks.len() < self.depth || self.next <= at) {
            // Stores keep objects in parts of such sizes. A range that crosses their limits costs more. Pieces of an
            // object are aligned to their own beginning: most have few blocks, and another one is a round trip.
            let from_start = (self.next - self.range.start + self.block) / self.block * self.block;
            let range = self.next..(self.range.start + from_start).min(self.range.end);
            self.next = range.end;
            self.block = (self.block * 2).min(self.max);
            let state = BlockState::Requested(Some(self.object.begin(range.clone())));
            self.blocks.push_back(WindowBlock { range, state });
        }
    }
}
