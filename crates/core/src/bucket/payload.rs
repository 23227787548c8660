//! Payload: the bytes of one COPY, in blocks, and where each of its rows stands in the input.

use crate::catalog::{NodeId, ROOT};
use crate::position::Position;

/// However few the rows, so many bytes are worth a COPY of their own.
const FEW_BYTES: usize = 64 << 10;

/// Places for this many rows are made at once, or for an eighth more: twice as many would overstep
/// the budget where rows are short.
const FEWEST_PLACES: usize = 64;

/// Memory for rows, in blocks of one size.
#[derive(Debug)]
pub(super) struct Blocks {
    /// The bytes of each.
    pub(super) size: usize,
    /// Empty ones, to be used again.
    pub(super) free: Vec<Vec<u8>>,
}

impl Blocks {
    fn take(&mut self) -> Vec<u8> {
        self.free.pop().unwrap_or_else(|| Vec::with_capacity(self.size))
    }

    pub(super) fn give_back(&mut self, mut block: Vec<u8>) {
        block.clear();
        self.free.push(block);
    }
}

/// Where a row of a payload stands, relative to its segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowAt {
    pub(super) offset: u32,
    pub(super) line: u32,
}

/// Rows of a payload that come from one split: the split's position and the first row's index.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: Position,
    first: usize,
}

/// The bytes of one COPY into one node, with the positions of the rows that it covers.
///
/// Every row is followed by one newline, whatever ended it in the input.
#[derive(Debug)]
pub struct Payload {
    pub(super) nodes: Vec<NodeId>,
    pub(super) blocks: Vec<Vec<u8>>,
    pub(super) bytes: usize,
    rows: Vec<RowAt>,
    segments: Vec<Segment>,
}

impl Payload {
    /// An empty one.
    pub(super) fn of(node: NodeId) -> Self {
        Self {
            nodes: vec![node],
            blocks: Vec::new(),
            bytes: 0,
            rows: Vec::new(),
            segments: Vec::new(),
        }
    }

    /// The nodes that the rows belong to; more than one only where small remainders travel
    /// together.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// The node that the rows are sent to: their own, or the root for those of several.
    pub fn node(&self) -> NodeId {
        match self.nodes[..] {
            [node] => node,
            _ => ROOT,
        }
    }

    /// The bytes in order; a row may begin in one block and end in the next.
    pub fn blocks(&self) -> &[Vec<u8>] {
        &self.blocks
    }

    /// The number of bytes in all blocks.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The position of row `index`, counted from 0.
    pub fn position(&self, index: usize) -> Option<Position> {
        let row = self.rows.get(index)?;
        let after = self.segments.partition_point(|segment| segment.first <= index);
        let Position { source, offset, line } = self.segments[after.checked_sub(1)?].start;
        let (offset, line) = (offset + u64::from(row.offset), line + u64::from(row.line));
        Some(Position { source, offset, line })
    }

    /// Whether it is not worth a COPY of its own.
    pub(super) fn is_small(&self, few_rows: usize) -> bool {
        self.rows.len() < few_rows && self.bytes < FEW_BYTES
    }

    /// Adds a row of the split that begins at `start`.
    pub(super) fn push(&mut self, start: Position, at: RowAt, bytes: &[u8], blocks: &mut Blocks) {
        if self.segments.last().is_none_or(|segment| segment.start != start) {
            self.segments.push(Segment { start, first: self.rows.len() });
        }
        if self.free_places() == 0 {
            self.rows.reserve_exact(FEWEST_PLACES.max(self.rows.len() / 8));
        }
        self.rows.push(at);
        self.write(bytes, blocks);
        self.write(b"\n", blocks);
    }

    fn write(&mut self, mut bytes: &[u8], blocks: &mut Blocks) {
        self.bytes += bytes.len();
        while !bytes.is_empty() {
            if self.blocks.last().is_none_or(|last| last.len() == blocks.size) {
                self.blocks.push(blocks.take());
            }
            if let Some(last) = self.blocks.last_mut() {
                let (now, later) = bytes.split_at(bytes.len().min(blocks.size - last.len()));
                last.extend_from_slice(now);
                bytes = later;
            }
        }
    }

    /// Puts the rows of `other` behind those of this payload.
    pub(super) fn extend(&mut self, other: Self) {
        let first = self.rows.len();
        self.nodes.extend(other.nodes);
        self.blocks.extend(other.blocks);
        self.bytes += other.bytes;
        self.rows.extend(other.rows);
        let segments = other.segments.into_iter();
        self.segments.extend(segments.map(|at| Segment { first: first + at.first, ..at }));
    }

    fn free_places(&self) -> usize {
        self.rows.capacity() - self.rows.len()
    }

    /// The memory that it holds.
    pub(super) fn memory(&self, blocks: &Blocks) -> usize {
        self.blocks.len() * blocks.size + self.rows.capacity() * size_of::<RowAt>()
    }

    /// The memory that it holds at most for places beyond those needed, once it has `rows` more.
    pub(super) fn spare(&self, rows: usize) -> usize {
        let grown = if self.free_places() < rows { self.rows.capacity() / 8 } else { 0 };
        grown * size_of::<RowAt>()
    }
}

/// The memory at most of `rows` rows of `bytes` bytes in all that begin `begun` payloads.
pub(super) fn fresh(rows: usize, bytes: usize, begun: usize, blocks: &Blocks) -> usize {
    let places = 2 * rows + begun * FEWEST_PLACES;
    bytes + begun * blocks.size + places * size_of::<RowAt>()
}
