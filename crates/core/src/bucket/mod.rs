//! Bucket: gathers the rows of each node into payloads, within a memory budget.
//!
//! Bytes are kept in blocks of one size, so that memory is counted by the block and used again:
//! a fresh page costs more than the row that is copied to it. A bucket whose payload has reached
//! [`SEALED_BYTES`] seals it and begins another, so that a single leaf can keep several connections
//! busy. Who takes which payload when is decided here too, by [`Buckets::take`]: the fullest first.
//! What is left of many leaves at the end travels together ([`FEW_ROWS`]).

mod payload;

use crate::catalog::NodeId;
use crate::position::Position;
pub use payload::Payload;
use payload::{Blocks, RowAt, fresh};

/// A payload of this many bytes takes no more rows.
pub const SEALED_BYTES: usize = 4 << 20;

/// Fewer rows than this are not worth a COPY of their own: the remainders of several leaves then
/// travel through the root, ordered by leaf. Measured with rows of 100 bytes in 800 leaves on two
/// levels, by the processor time of client and server: 50 rows a leaf take half of it so, 200 take
/// four fifths, from 400 on it is the same.
pub const FEW_ROWS: usize = 300;

/// Remainders that travel together are no more than this many bytes.
const GATHERED_BYTES: usize = 1 << 20;

/// Nor are they of more nodes than this: the server keeps a lock on each until they are committed,
/// and its table of locks has room for a few thousand.
const GATHERED_NODES: usize = 256;

const SMALLEST_BLOCK: usize = 4 << 10;
const LARGEST_BLOCK: usize = 64 << 10;

/// The rows that are waiting to be sent, by node.
#[derive(Debug)]
pub struct Buckets {
    blocks: Blocks,
    budget: usize,
    /// Memory of all payloads that exist, those in flight included.
    used: usize,
    open: Vec<Payload>,
    sealed: Vec<Payload>,
    /// Nodes whose open payloads are to be taken next, the fullest last. Ranked once for many
    /// payloads, so some may be empty by now, or too small.
    ranked: Vec<NodeId>,
    /// How many connections are writing to each node.
    writers: Vec<u32>,
    /// Fewer rows than this travel with others.
    few_rows: usize,
}

impl Buckets {
    /// Buckets for `nodes` nodes in at most `budget` bytes.
    pub fn new(nodes: usize, budget: usize) -> Self {
        // A quarter of the budget may be lost in blocks that have only begun to fill.
        let size = (budget / 4 / nodes.max(1)).clamp(SMALLEST_BLOCK, LARGEST_BLOCK);
        let open = (0..nodes).map(Payload::of).collect();
        Self {
            blocks: Blocks { size, free: Vec::new() },
            budget,
            used: 0,
            open,
            sealed: Vec::new(),
            ranked: Vec::new(),
            writers: vec![0; nodes],
            few_rows: FEW_ROWS,
        }
    }

    /// The same with another threshold than [`FEW_ROWS`]; with 0 each leaf has its own payloads.
    #[must_use]
    pub fn with_few_rows(self, few_rows: usize) -> Self {
        Self { few_rows, ..self }
    }

    /// Whether `rows` more rows of `bytes` bytes in all fit into the budget, wherever they go.
    pub fn has_room(&self, bytes: usize, rows: usize) -> bool {
        let begun = rows.min(self.open.len());
        let spare: usize = self.open.iter().map(|payload| payload.spare(rows)).sum();
        self.used + fresh(rows, bytes, begun, &self.blocks) + spare <= self.budget
    }

    /// Whether no payload exists, neither waiting nor in flight.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Adds rows of one split that begins at `start`: for each its node, its offset and line
    /// relative to the split, and its bytes without a line end.
    pub fn append<'r>(
        &mut self,
        start: Position,
        rows: impl Iterator<Item = (NodeId, u32, u32, &'r [u8])>,
    ) {
        for (node, offset, line, bytes) in rows {
            let payload = &mut self.open[node];
            let before = payload.memory(&self.blocks);
            payload.push(start, RowAt { offset, line }, bytes, &mut self.blocks);
            self.used += payload.memory(&self.blocks) - before;
            if payload.bytes >= SEALED_BYTES {
                self.sealed.push(std::mem::replace(payload, Payload::of(node)));
            }
        }
    }

    /// The fullest payload of at least `least` bytes. One node is given to two writers at once
    /// only if it is the only work left.
    pub fn take(&mut self, least: usize) -> Option<Payload> {
        let sealed = self.sealed.iter().position(|payload| self.writers[payload.node()] == 0);
        let payload = if let Some(index) = sealed {
            self.sealed.swap_remove(index)
        } else if let Some(node) = self.fullest(least, true) {
            if self.open[node].is_small(self.few_rows) {
                self.gather(node)
            } else {
                self.close(node)
            }
        } else if let Some(payload) = self.sealed.pop() {
            payload
        } else {
            let node = self.fullest(least, false)?;
            self.close(node)
        };
        payload.nodes.iter().for_each(|&node| self.writers[node] += 1);
        Some(payload)
    }

    /// The open payload of `node`, however small, if there is one and nobody writes to the node.
    pub fn take_node(&mut self, node: NodeId) -> Option<Payload> {
        (self.open[node].bytes > 0 && self.writers[node] == 0).then(|| {
            self.writers[node] += 1;
            self.close(node)
        })
    }

    /// Takes back the memory of a payload that was sent.
    pub fn recycle(&mut self, mut payload: Payload) {
        payload.nodes.iter().for_each(|&node| self.writers[node] -= 1);
        self.used -= payload.memory(&self.blocks);
        payload.blocks.drain(..).for_each(|block| self.blocks.give_back(block));
    }

    /// A node whose open payload has at least `least` bytes; of several one of the fullest. If
    /// `idle`, one that nobody writes to.
    fn fullest(&mut self, least: usize, idle: bool) -> Option<NodeId> {
        self.next_ranked(least, idle).or_else(|| {
            self.rank(least);
            self.next_ranked(least, idle)
        })
    }

    fn next_ranked(&mut self, least: usize, idle: bool) -> Option<NodeId> {
        while let Some(node) = self.ranked.pop() {
            if self.open[node].bytes >= least.max(1) && (!idle || self.writers[node] == 0) {
                return Some(node);
            }
        }
        None
    }

    fn rank(&mut self, least: usize) {
        let full = |node: &NodeId| self.open[*node].bytes >= least.max(1);
        self.ranked.extend((0..self.open.len()).filter(full));
        self.ranked.sort_unstable_by_key(|&node| self.open[node].bytes);
    }

    /// The small payloads of `node` and of other idle nodes, by way of the root; that of `node`
    /// alone if there is no other.
    fn gather(&mut self, node: NodeId) -> Payload {
        let mut gathered = self.close(node);
        for other in 0..self.open.len() {
            let small = &self.open[other];
            if small.bytes == 0 || !small.is_small(self.few_rows) || self.writers[other] > 0 {
                continue;
            }
            let fits = gathered.bytes + small.bytes <= GATHERED_BYTES;
            if !fits || gathered.nodes.len() == GATHERED_NODES {
                break;
            }
            let payload = self.close(other);
            self.used -= gathered.memory(&self.blocks) + payload.memory(&self.blocks);
            gathered.extend(payload);
            self.used += gathered.memory(&self.blocks);
        }
        gathered
    }

    fn close(&mut self, node: NodeId) -> Payload {
        std::mem::replace(&mut self.open[node], Payload::of(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::ROOT;

    const START: Position = Position { source: 3, offset: 1000, line: 10 };

    fn append(buckets: &mut Buckets, rows: &[(NodeId, u32, u32, &[u8])]) {
        buckets.append(START, rows.iter().copied());
    }

    fn text(payload: &Payload) -> Vec<u8> {
        payload.blocks().concat()
    }

    #[test]
    fn gathers_rows_with_their_positions() {
        let mut buckets = Buckets::new(2, 1 << 20);
        append(&mut buckets, &[(0, 0, 0, b"a"), (1, 2, 1, b"b"), (0, 4, 3, b"c")]);
        let payload = buckets.take_node(0).expect("two rows");
        assert_eq!((payload.node(), payload.rows(), text(&payload)), (0, 2, b"a\nc\n".to_vec()));
        let position = Position { source: 3, offset: 1004, line: 13 };
        assert_eq!((payload.position(1), payload.position(2)), (Some(position), None));
    }

    #[test]
    fn a_row_may_span_blocks() {
        let mut buckets = Buckets::new(1, 1);
        let long = vec![b'x'; 3 * SMALLEST_BLOCK];
        append(&mut buckets, &[(0, 0, 0, &long)]);
        let payload = buckets.take(1).expect("a row");
        assert_eq!(payload.blocks().len(), 4);
        assert_eq!(text(&payload), [&long[..], b"\n"].concat());
    }

    #[test]
    fn one_node_has_one_writer_unless_nothing_else_is_left() {
        let mut buckets = Buckets::new(2, 1 << 20);
        append(&mut buckets, &[(0, 0, 0, b"long"), (1, 5, 1, b"b")]);
        let first = buckets.take_node(0).expect("the longer");
        append(&mut buckets, &[(0, 7, 2, b"long")]);
        assert_eq!(first.node(), 0);
        assert_eq!(buckets.take(1).map(|payload| payload.node()), Some(1));
        assert_eq!(buckets.take(1).map(|payload| payload.node()), Some(0));
        assert!(buckets.take(1).is_none());
    }

    #[test]
    fn memory_is_given_back() {
        let mut buckets = Buckets::new(1, 1 << 20);
        append(&mut buckets, &[(0, 0, 0, b"a")]);
        assert!(!buckets.has_room((1 << 20) - LARGEST_BLOCK, 0) && !buckets.is_empty());
        let payload = buckets.take(1).expect("a row");
        buckets.recycle(payload);
        assert!(buckets.has_room((1 << 20) - LARGEST_BLOCK, 0) && buckets.is_empty());
        append(&mut buckets, &[(0, 0, 0, b"a")]);
        assert!(buckets.blocks.free.is_empty(), "the block is used again");
    }

    #[test]
    fn small_remainders_travel_together_through_the_root() {
        let mut buckets = Buckets::new(4, 1 << 20);
        append(&mut buckets, &[(2, 0, 0, b"c"), (1, 2, 1, b"b"), (2, 4, 2, b"d"), (3, 6, 3, b"e")]);
        let payload = buckets.take(1).expect("remainders");
        assert_eq!((payload.node(), text(&payload)), (ROOT, b"c\nd\nb\ne\n".to_vec()));
        assert_eq!(payload.position(2).map(|position| position.offset), Some(1002));
        assert!(buckets.take(1).is_none());
        buckets.recycle(payload);
        assert!(buckets.is_empty());
    }

    #[test]
    fn few_nodes_of_many_travel_together() {
        let mut buckets = Buckets::new(1000, 64 << 20);
        let rows = (0..1000).map(|node| (node, 0, 0, &b"x"[..]));
        buckets.append(START, rows);
        let taken = std::iter::from_fn(|| buckets.take(1)).map(|payload| payload.nodes().len());
        assert_eq!(taken.collect::<Vec<_>>(), [256, 256, 256, 232]);
    }

    #[test]
    fn the_fullest_goes_first() {
        let mut buckets = Buckets::new(4, 1 << 20).with_few_rows(0);
        append(&mut buckets, &[(1, 0, 0, b"1"), (2, 0, 0, b"333"), (3, 0, 0, b"22")]);
        let taken = std::iter::from_fn(|| buckets.take(1)).map(|payload| payload.node());
        assert_eq!(taken.collect::<Vec<_>>(), [2, 3, 1]);
        append(&mut buckets, &[(0, 0, 0, b"")]);
        assert!(buckets.take(2).is_none() && buckets.take(1).is_some());
    }

    #[test]
    fn the_places_of_short_rows_fit_into_the_budget() {
        for nodes in [1, 8] {
            let mut buckets = Buckets::new(nodes, 8 << 20);
            while buckets.has_room(2000, 1000) {
                let rows = (0..1000).map(|row| (row % nodes, row as u32, 0, &b"x"[..]));
                buckets.append(START, rows);
                assert!(buckets.used <= buckets.budget, "{} bytes", buckets.used);
            }
            assert!(buckets.used > buckets.budget / 2, "only {} bytes", buckets.used);
        }
    }

    #[test]
    fn a_full_payload_is_sealed() {
        let mut buckets = Buckets::new(1, 64 << 20);
        let row = vec![b'x'; SEALED_BYTES / 2];
        append(&mut buckets, &[(0, 0, 0, &row), (0, 0, 0, &row), (0, 0, 0, b"y")]);
        assert_eq!(buckets.take(1).map(|payload| payload.rows()), Some(2));
        assert_eq!(buckets.take(1).map(|payload| payload.rows()), Some(1));
    }
}
