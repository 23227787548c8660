//! Bucket: gathers the rows of each node into payloads, within a memory budget.
//!
//! Bytes are kept in blocks of one size, so that memory is counted by the block and used again:
//! a fresh page costs more than the row that is copied to it. A bucket whose payload has reached
//! [`SEALED_BYTES`] seals it and begins another, so that a single leaf can keep several connections
//! busy. Who takes which payload when is decided here too, by [`Buckets::take`]: the fullest first.
//! What is left of many leaves at the end travels together ([`FEW_ROWS`]).

use crate::catalog::{NodeId, ROOT};
use crate::position::Position;

/// A payload of this many bytes takes no more rows.
pub const SEALED_BYTES: usize = 4 << 20;

/// Fewer rows than this are not worth a COPY of their own: the remainders of several leaves then
/// travel through the root, ordered by leaf. Measured over loopback with rows of 100 bytes
/// in 800 leaves: 50 rows a leaf are a sixth faster so, 100 are equal, 450 are slower.
pub const FEW_ROWS: usize = 100;

/// However few the rows, so many bytes are worth a COPY of their own.
const FEW_BYTES: usize = 64 << 10;

/// Remainders that travel together are no more than this many bytes.
const GATHERED_BYTES: usize = 1 << 20;

const SMALLEST_BLOCK: usize = 4 << 10;
const LARGEST_BLOCK: usize = 64 << 10;

/// Places for this many rows are made at once, or for an eighth more: twice as many would overstep
/// the budget where rows are short.
const FEWEST_PLACES: usize = 64;

/// Where a row of a payload stands, relative to its segment.
#[derive(Clone, Copy, Debug)]
struct RowAt {
    offset: u32,
    line: u32,
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
    nodes: Vec<NodeId>,
    blocks: Vec<Vec<u8>>,
    bytes: usize,
    rows: Vec<RowAt>,
    segments: Vec<Segment>,
}

impl Payload {
    fn of(node: NodeId) -> Self {
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

    fn is_small(&self, few_rows: usize) -> bool {
        self.rows.len() < few_rows && self.bytes < FEW_BYTES
    }

    /// Puts the rows of `other` behind those of this payload.
    fn extend(&mut self, other: Self) {
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

    fn memory(&self, block: usize) -> usize {
        self.blocks.len() * block + self.rows.capacity() * size_of::<RowAt>()
    }
}

/// The rows that are waiting to be sent, by node.
#[derive(Debug)]
pub struct Buckets {
    block: usize,
    budget: usize,
    /// Memory of all payloads that exist, those in flight included.
    used: usize,
    free: Vec<Vec<u8>>,
    open: Vec<Payload>,
    sealed: Vec<Payload>,
    /// How many connections are writing to each node.
    writers: Vec<u32>,
    /// Fewer rows than this travel with others.
    few_rows: usize,
}

impl Buckets {
    /// Buckets for `nodes` nodes in at most `budget` bytes.
    pub fn new(nodes: usize, budget: usize) -> Self {
        // A quarter of the budget may be lost in blocks that have only begun to fill.
        let block = (budget / 4 / nodes.max(1)).clamp(SMALLEST_BLOCK, LARGEST_BLOCK);
        let open = (0..nodes).map(Payload::of).collect();
        Self {
            block,
            budget,
            used: 0,
            free: Vec::new(),
            open,
            sealed: Vec::new(),
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
        let full = self.open.iter().filter(|payload| payload.free_places() < rows);
        let grown: usize = full.map(|payload| payload.rows.capacity() / 8).sum();
        let places = 2 * rows + begun * FEWEST_PLACES + grown;
        self.used + bytes + begun * self.block + places * size_of::<RowAt>() <= self.budget
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
            let before = payload.memory(self.block);
            if payload.segments.last().is_none_or(|segment| segment.start != start) {
                payload.segments.push(Segment { start, first: payload.rows.len() });
            }
            if payload.free_places() == 0 {
                payload.rows.reserve_exact(FEWEST_PLACES.max(payload.rows.len() / 8));
            }
            payload.rows.push(RowAt { offset, line });
            push(payload, &mut self.free, self.block, bytes);
            push(payload, &mut self.free, self.block, b"\n");
            self.used += payload.memory(self.block) - before;
            if payload.bytes >= SEALED_BYTES {
                self.sealed.push(std::mem::replace(payload, Payload::of(node)));
            }
        }
    }

    /// The fullest payload of at least `least` bytes. One node is given to two writers at once
    /// only if it is the only work left.
    pub fn take(&mut self, least: usize) -> Option<Payload> {
        let idle = |node: NodeId| self.writers[node] == 0;
        let sealed = self.sealed.iter().position(|payload| idle(payload.node()));
        let payload = if let Some(index) = sealed {
            self.sealed.swap_remove(index)
        } else if let Some(node) = self.fullest(least, idle) {
            if self.open[node].is_small(self.few_rows) {
                self.gather(node)
            } else {
                self.close(node)
            }
        } else if let Some(payload) = self.sealed.pop() {
            payload
        } else {
            let node = self.fullest(least, |_| true)?;
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
        self.used -= payload.memory(self.block);
        for mut block in payload.blocks.drain(..) {
            block.clear();
            self.free.push(block);
        }
    }

    fn fullest(&self, least: usize, allowed: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        let candidates = self
            .open
            .iter()
            .filter(|payload| payload.bytes >= least.max(1) && allowed(payload.node()));
        candidates.max_by_key(|payload| payload.bytes).map(Payload::node)
    }

    /// The small payloads of `node` and of other idle nodes, by way of the root; that of `node`
    /// alone if there is no other.
    fn gather(&mut self, node: NodeId) -> Payload {
        let mut gathered = self.close(node);
        for other in 0..self.open.len() {
            let small = &self.open[other];
            let fits = gathered.bytes + small.bytes <= GATHERED_BYTES;
            if fits && small.bytes > 0 && small.is_small(self.few_rows) && self.writers[other] == 0
            {
                let payload = self.close(other);
                self.used -= gathered.memory(self.block) + payload.memory(self.block);
                gathered.extend(payload);
                self.used += gathered.memory(self.block);
            }
        }
        gathered
    }

    fn close(&mut self, node: NodeId) -> Payload {
        std::mem::replace(&mut self.open[node], Payload::of(node))
    }
}

fn push(payload: &mut Payload, free: &mut Vec<Vec<u8>>, block: usize, mut bytes: &[u8]) {
    payload.bytes += bytes.len();
    while !bytes.is_empty() {
        if payload.blocks.last().is_none_or(|last| last.len() == block) {
            payload.blocks.push(free.pop().unwrap_or_else(|| Vec::with_capacity(block)));
        }
        if let Some(last) = payload.blocks.last_mut() {
            let (now, later) = bytes.split_at(bytes.len().min(block - last.len()));
            last.extend_from_slice(now);
            bytes = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(buckets.free.is_empty(), "the block is used again");
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
