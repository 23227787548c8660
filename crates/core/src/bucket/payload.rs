//! Payload: the rows of one COPY, in slices that are sent one after the other, and where each row
//! stands in the input.

use super::Wire;
use super::block::{Block, RowAt};
use super::claim::Claim;
use crate::catalog::{NodeId, ROOT};

/// What COPY BINARY begins with: `BinarySignature`, no flags, no extension
/// (`src/backend/commands/copyfromparse.c`, PostgreSQL 13 to 18).
const BINARY_HEADER: &[u8] = b"PGCOPY\n\xFF\r\n\0\0\0\0\0\0\0\0\0";

/// What ends it: a row of -1 fields.
const BINARY_TRAILER: &[u8] = &(-1_i16).to_be_bytes();

/// Rows of a block that are sent one behind the other: where they lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub(super) block: u32,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// The rows of one COPY into one node.
///
/// In text every row is followed by one newline, whatever ended it in the input.
#[derive(Debug)]
pub struct Payload {
    nodes: Vec<NodeId>,
    /// How many of the rows belong to each of them.
    shares: Vec<usize>,
    wire: Wire,
    pub(super) blocks: Vec<Block>,
    pub(super) slices: Vec<Slice>,
    pub(super) is_sorted: bool,
    bytes: usize,
    rows: usize,
    claims: Vec<Claim>,
}

impl Payload {
    /// Makes a payload of the rows of `blocks` in the order of their splits. Within one split they
    /// stand as they were added.
    pub(super) fn new(nodes: Vec<NodeId>, wire: Wire, blocks: Vec<Block>) -> Self {
        let bytes = blocks.iter().map(Block::bytes).sum();
        let rows = blocks.iter().map(|block| block.rows().len()).sum();
        let mut payload = Self {
            shares: vec![rows; nodes.len().min(1)],
            nodes,
            wire,
            blocks,
            slices: Vec::new(),
            is_sorted: false,
            bytes,
            rows,
            claims: Vec::new(),
        };
        let mut slices = payload.slices_by_split();
        slices.sort_by_key(|(split, _)| *split);
        payload.slices.extend(slices.into_iter().map(|(_, slice)| slice));
        payload
    }

    /// The same with what it claims.
    pub(super) fn claiming(mut self, claim: Option<Claim>) -> Self {
        self.claims.extend(claim);
        self
    }

    /// The rows of several payloads, one after the other.
    pub(super) fn joined(payloads: Vec<Self>, wire: Wire) -> Self {
        let mut joined = Self::new(Vec::new(), wire, Vec::new());
        for payload in payloads {
            let before = joined.blocks.len() as u32;
            let slices = payload.slices.iter().map(|at| Slice { block: before + at.block, ..*at });
            joined.slices.extend(slices);
            joined.nodes.extend(payload.nodes);
            joined.shares.extend(payload.shares);
            joined.blocks.extend(payload.blocks);
            joined.bytes += payload.bytes;
            joined.rows += payload.rows;
            joined.claims.extend(payload.claims);
        }
        joined
    }

    /// The rows of each block that are of one split, which follow one another there.
    fn slices_by_split(&self) -> Vec<(u32, Slice)> {
        let mut slices = Vec::new();
        for (block, rows) in self.blocks.iter().enumerate() {
            let mut start = 0;
            for run in rows.rows().chunk_by(|one, next| one.split == next.split) {
                let Some(last) = run.last() else { continue };
                slices.push((last.split, Slice { block: block as u32, start, end: last.end }));
                start = last.end;
            }
        }
        slices
    }

    /// The nodes that the rows belong to; more than one only where small remainders travel
    /// together.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// The number of rows of each of the nodes.
    pub fn rows_by_node(&self) -> impl Iterator<Item = (NodeId, usize)> {
        self.nodes.iter().copied().zip(self.shares.iter().copied())
    }

    /// Returns the rows of each node that are in once the payload is committed, if
    /// [`super::Scheduler::claiming`].
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// The node that the rows are sent to: their own, or the root for those of several.
    pub fn node(&self) -> NodeId {
        match self.nodes[..] {
            [node] => node,
            _ => ROOT,
        }
    }

    /// Whether the rows stand in the order of an index, and no longer in that of the input.
    pub fn is_sorted(&self) -> bool {
        self.is_sorted
    }

    /// How the rows are written.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// The number of bytes of all rows.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns what is sent before the rows.
    pub fn header(&self) -> &'static [u8] {
        match self.wire {
            Wire::Text => b"",
            Wire::Binary => BINARY_HEADER,
        }
    }

    /// Returns what is sent behind the rows.
    pub fn trailer(&self) -> &'static [u8] {
        match self.wire {
            Wire::Text => b"",
            Wire::Binary => BINARY_TRAILER,
        }
    }

    /// The number of slices.
    pub fn slices(&self) -> usize {
        self.slices.len()
    }

    /// The bytes of slice `index`: whole rows, to be sent in the order of the slices.
    #[inline]
    pub fn slice(&self, index: usize) -> &[u8] {
        let Slice { block, start, end } = self.slices[index];
        self.blocks[block as usize].of(start, end)
    }

    /// The rows as they are sent: where each stands in the input, and its bytes.
    pub fn in_order(&self) -> impl Iterator<Item = (RowAt, &[u8])> {
        self.slices.iter().flat_map(|slice| {
            let block = &self.blocks[slice.block as usize];
            let rows = block.rows_in(slice.start, slice.end);
            rows.map(|(at, start, end)| (at, block.of(start, end)))
        })
    }

    /// Its blocks, to be used again.
    pub fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }
}
