//! Bucket: gathers the rows of each node into payloads, within a memory budget.
//!
//! A bucket takes the rows of one node in one format. Each thread that routes has a [`Shelf`] with
//! its share of every bucket, and writes rows to it without waiting for the others; their memory
//! comes from one [`Pool`]. Who takes which payload when is decided by [`Buckets`]: the fullest first.
//! What is left of many leaves at the end travels together ([`FEW_ROWS`]).

mod part;
mod payload;
mod pool;
mod shelf;
mod sort;

use std::ops::DerefMut;

use crate::catalog::NodeId;
pub use part::{Part, RowAt};
pub use payload::Payload;
pub use pool::Pool;
pub use shelf::{Room, Shelf};
pub use sort::{Column, Order};

/// A payload takes parts until it has so many bytes, if it is not sorted.
pub const SEALED_BYTES: usize = 4 << 20;

/// Fewer rows than this are not worth a COPY of their own: the remainders of several leaves then
/// travel through the root, ordered by leaf. Measured with rows of 100 bytes in 800 leaves on two
/// levels, by the processor time of client and server: 50 rows a leaf take half of it so, 200 take
/// four fifths, from 400 on it is the same.
pub const FEW_ROWS: usize = 300;

/// However few the rows, so many bytes are worth a COPY of their own.
const FEW_BYTES: usize = 64 << 10;

/// Remainders that travel together are no more than this many bytes.
const GATHERED_BYTES: usize = 1 << 20;

/// Nor are they of more nodes than this: the server keeps a lock on each until they are committed,
/// and its table of locks has room for a few thousand.
const GATHERED_NODES: usize = 256;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// In the input's own format, as they stand there.
    Text,
    /// In COPY BINARY.
    Binary,
}

/// Which payload is sent when, and who is sending to which node.
#[derive(Debug)]
pub struct Buckets {
    nodes: usize,
    /// Buckets that are to be taken next, the fullest last. Ranked once for many payloads, so some
    /// may be empty by now, or too small.
    ranked: Vec<usize>,
    /// How many connections are writing to each node.
    writers: Vec<u32>,
    /// Fewer rows than this travel with others.
    few_rows: usize,
}

/// How large a payload must be, and may become, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Worth {
    /// With fewer it waits for more rows.
    pub least: usize,
    /// With so many it takes no more.
    pub most: usize,
}

impl Buckets {
    /// Buckets for `nodes` nodes. Remainders of fewer than `few_rows` rows travel together; with 0 each
    /// node has its own payloads.
    pub fn new(nodes: usize, few_rows: usize) -> Self {
        Self { nodes, ranked: Vec::new(), writers: vec![0; nodes], few_rows }
    }

    /// From now on remainders of fewer than `few_rows` rows travel together.
    pub fn gather_below(&mut self, few_rows: usize) {
        self.few_rows = few_rows;
    }

    /// The number of buckets of so many nodes.
    pub fn count(nodes: usize) -> usize {
        2 * nodes
    }

    /// The bucket for the rows of a node of `nodes` in one format.
    #[inline]
    pub fn of(nodes: usize, node: NodeId, wire: Wire) -> usize {
        match wire {
            Wire::Text => node,
            Wire::Binary => nodes + node,
        }
    }

    /// The fullest payload, if it is worth it. One node is given to two writers at once only if it is
    /// the only work left.
    pub fn take(
        &mut self,
        worth: Worth,
        shelves: &mut [impl DerefMut<Target = Shelf>],
    ) -> Option<Payload> {
        let bucket = match self.fullest(worth.least, true, shelves) {
            Some(bucket) if self.is_small(bucket, shelves) => {
                return Some(self.gather(bucket, shelves));
            }
            Some(bucket) => bucket,
            None => self.fullest(worth.least, false, shelves)?,
        };
        Some(self.close(bucket, worth.most, shelves))
    }

    /// What is in `bucket`, however small, if nobody writes to its node.
    pub fn take_bucket(
        &mut self,
        bucket: usize,
        shelves: &mut [impl DerefMut<Target = Shelf>],
    ) -> Option<Payload> {
        let has_rows = weight(bucket, shelves).rows > 0;
        (has_rows && self.is_idle(bucket)).then(|| self.close(bucket, SEALED_BYTES, shelves))
    }

    /// Notes that a payload was sent.
    pub fn release(&mut self, payload: &Payload) {
        payload.nodes().iter().for_each(|&node| self.writers[node] -= 1);
    }

    fn node(&self, bucket: usize) -> NodeId {
        bucket % self.nodes
    }

    fn wire(&self, bucket: usize) -> Wire {
        if bucket < self.nodes { Wire::Text } else { Wire::Binary }
    }

    fn is_idle(&self, bucket: usize) -> bool {
        self.writers[self.node(bucket)] == 0
    }

    /// A bucket of at least `least` bytes; of several one of the fullest. If `idle`, one whose node
    /// nobody writes to.
    fn fullest(
        &mut self,
        least: usize,
        idle: bool,
        shelves: &[impl DerefMut<Target = Shelf>],
    ) -> Option<usize> {
        self.next_ranked(least, idle, shelves).or_else(|| {
            self.rank(least, shelves);
            self.next_ranked(least, idle, shelves)
        })
    }

    fn next_ranked(
        &mut self,
        least: usize,
        idle: bool,
        shelves: &[impl DerefMut<Target = Shelf>],
    ) -> Option<usize> {
        while let Some(bucket) = self.ranked.pop() {
            if weight(bucket, shelves).is_worth(least) && (!idle || self.is_idle(bucket)) {
                return Some(bucket);
            }
        }
        None
    }

    fn rank(&mut self, least: usize, shelves: &[impl DerefMut<Target = Shelf>]) {
        let weights = (0..Self::count(self.nodes)).map(|bucket| (bucket, weight(bucket, shelves)));
        let mut full: Vec<(usize, Weight)> =
            weights.filter(|(_, weight)| weight.is_worth(least)).collect();
        full.sort_unstable_by_key(|(_, weight)| weight.bytes);
        self.ranked.extend(full.into_iter().map(|(bucket, _)| bucket));
    }

    /// Whether what is in `bucket` is not worth a COPY of its own.
    fn is_small(&self, bucket: usize, shelves: &[impl DerefMut<Target = Shelf>]) -> bool {
        let Weight { bytes, rows } = weight(bucket, shelves);
        rows < self.few_rows && bytes < FEW_BYTES
    }

    /// What is in `bucket` and in other small ones of idle nodes, by way of the root; that of `bucket`
    /// alone if there is no other.
    fn gather(&mut self, bucket: usize, shelves: &mut [impl DerefMut<Target = Shelf>]) -> Payload {
        let wire = self.wire(bucket);
        let first = self.close(bucket, usize::MAX, shelves);
        let mut bytes = first.bytes();
        let mut small = vec![first];
        for node in 0..self.nodes {
            let other = Self::of(self.nodes, node, wire);
            let weight = weight(other, shelves);
            if weight.rows == 0 || !self.is_small(other, shelves) || !self.is_idle(other) {
                continue;
            }
            bytes += weight.bytes;
            if bytes > GATHERED_BYTES || small.len() == GATHERED_NODES {
                break;
            }
            small.push(self.close(other, usize::MAX, shelves));
        }
        match small.len() {
            1 => small.remove(0),
            _ => Payload::joined(small, wire),
        }
    }

    /// The parts of `bucket` up to `most` bytes, the oldest first.
    fn close(
        &mut self,
        bucket: usize,
        most: usize,
        shelves: &mut [impl DerefMut<Target = Shelf>],
    ) -> Payload {
        let mut parts = Vec::new();
        let mut bytes = 0;
        while bytes < most {
            let oldest = shelves.iter_mut().filter_map(|shelf| {
                let part = shelf.pile(bucket).first()?;
                Some((part.rows().first().map(|row| row.split), shelf))
            });
            let Some((_, shelf)) = oldest.min_by_key(|(split, _)| *split) else { break };
            let Some(part) = shelf.take(bucket) else { break };
            bytes += part.bytes();
            parts.push(part);
        }
        let node = self.node(bucket);
        self.writers[node] += 1;
        Payload::new(vec![node], self.wire(bucket), parts)
    }
}

/// What is in a bucket, on all shelves.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    bytes: usize,
    rows: usize,
}

impl Weight {
    fn is_worth(self, least: usize) -> bool {
        self.rows > 0 && self.bytes >= least
    }
}

fn weight(bucket: usize, shelves: &[impl DerefMut<Target = Shelf>]) -> Weight {
    shelves.iter().fold(Weight::default(), |sum, shelf| {
        let pile = shelf.pile(bucket);
        Weight { bytes: sum.bytes + pile.bytes, rows: sum.rows + pile.rows }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::ROOT;

    /// Buckets, and the shelf of one thread.
    struct House {
        buckets: Buckets,
        shelf: Shelf,
        nodes: usize,
        split: u32,
    }

    const ANY: Worth = Worth { least: 0, most: SEALED_BYTES };

    impl House {
        fn new(nodes: usize, few_rows: usize) -> Self {
            let shelf = Shelf::new(Buckets::count(nodes));
            Self { buckets: Buckets::new(nodes, few_rows), shelf, nodes, split: 0 }
        }

        fn push(&mut self, rows: &[(NodeId, &[u8])]) {
            for (line, (node, bytes)) in rows.iter().enumerate() {
                let bucket = Buckets::of(self.nodes, *node, Wire::Text);
                let room = match self.shelf.room(bucket, bytes.len()) {
                    Ok(room) => room,
                    Err(bytes) => self.shelf.supply(bucket, Part::new(bytes)),
                };
                let at = RowAt::new(self.split, 10 * line as u32, line as u32);
                let pushed = room.push(at, |block| written(block, &[*bytes, b"\n"].concat()));
                assert_eq!((pushed, self.shelf.grown()), (Ok(()), 0));
            }
            self.split += 1;
        }

        fn take(&mut self, worth: Worth) -> Option<Payload> {
            self.buckets.take(worth, &mut [&mut self.shelf])
        }

        fn taken(&mut self) -> Vec<NodeId> {
            std::iter::from_fn(|| self.take(ANY)).map(|payload| payload.node()).collect()
        }
    }

    fn written(block: &mut Vec<u8>, row: &[u8]) -> Result<(), ()> {
        block.extend_from_slice(row);
        Ok(())
    }

    fn text(payload: &Payload) -> Vec<u8> {
        (0..payload.pieces()).flat_map(|index| payload.piece(index)).copied().collect()
    }

    #[test]
    fn gathers_rows_with_their_places() {
        let mut house = House::new(2, 0);
        house.push(&[(0, b"a"), (1, b"b"), (0, b"c")]);
        let payload = house.take(ANY).expect("two rows");
        assert_eq!((payload.node(), payload.rows(), text(&payload)), (0, 2, b"a\nc\n".to_vec()));
        let places: Vec<_> = payload.in_order().map(|(at, _)| (at.split, at.offset)).collect();
        assert_eq!(places, [(0, 0), (0, 20)]);
    }

    #[test]
    fn rows_of_two_threads_are_in_the_order_of_the_input() {
        let mut house = House::new(1, 0);
        let mut other = House::new(1, 0);
        house.push(&[(0, b"1"), (0, b"2")]);
        other.split = 1;
        other.push(&[(0, b"3"), (0, b"4")]);
        house.split = 2;
        house.push(&[(0, b"5")]);
        let mut shelves = [&mut other.shelf, &mut house.shelf];
        let payload = house.buckets.take(ANY, &mut shelves).expect("five rows");
        assert_eq!(text(&payload), b"1\n2\n3\n4\n5\n");
        let rows: Vec<_> = payload.in_order().map(|(at, row)| (at.split, row[0])).collect();
        assert_eq!(rows, [(0, b'1'), (0, b'2'), (1, b'3'), (1, b'4'), (2, b'5')]);
    }

    #[test]
    fn a_row_that_cannot_be_written_leaves_nothing_behind() {
        let mut shelf = Shelf::new(Buckets::count(1));
        assert_eq!(shelf.room(1, 9).err(), Some(265));
        let written = shelf.supply(1, Part::new(265)).push(RowAt::new(0, 0, 0), |block| {
            block.push(b'x');
            Err("not a number")
        });
        assert_eq!((written, shelf.bytes(), shelf.grown()), (Err("not a number"), 0, 0));
        assert!(shelf.room(1, 9).is_ok());
        let mut buckets = Buckets::new(1, 0);
        assert!(buckets.take(ANY, &mut [&mut shelf]).is_none());
    }

    #[test]
    fn one_node_has_one_writer_unless_nothing_else_is_left() {
        let mut house = House::new(2, 0);
        house.push(&[(0, b"long"), (1, b"b")]);
        let bucket = Buckets::of(2, 0, Wire::Text);
        let take = |house: &mut House| house.buckets.take_bucket(bucket, &mut [&mut house.shelf]);
        let first = take(&mut house).expect("the longer");
        house.push(&[(0, b"long")]);
        assert!(first.node() == 0 && take(&mut house).is_none());
        assert_eq!(house.taken(), [1, 0]);
        assert!(house.take(ANY).is_none());
        house.buckets.release(&first);
        assert_eq!(house.buckets.writers, [1, 1]);
    }

    #[test]
    fn small_remainders_travel_together_through_the_root() {
        let mut house = House::new(4, FEW_ROWS);
        house.push(&[(2, b"c"), (1, b"b"), (2, b"d"), (3, b"e")]);
        let payload = house.take(ANY).expect("remainders");
        assert_eq!((payload.node(), text(&payload)), (ROOT, b"c\nd\nb\ne\n".to_vec()));
        assert_eq!(payload.in_order().nth(2).map(|(at, _)| at.offset), Some(10));
        assert!(house.take(ANY).is_none());
        house.buckets.release(&payload);
        assert_eq!(house.buckets.writers, [0; 4]);
    }

    #[test]
    fn few_nodes_of_many_travel_together() {
        let mut house = House::new(1000, FEW_ROWS);
        let rows: Vec<_> = (0..1000).map(|node| (node, &b"x"[..])).collect();
        house.push(&rows);
        let taken = std::iter::from_fn(|| house.take(ANY)).map(|payload| payload.nodes().len());
        assert_eq!(taken.collect::<Vec<_>>(), [256, 256, 256, 232]);
    }

    #[test]
    fn text_and_binary_do_not_travel_together() {
        let mut house = House::new(2, FEW_ROWS);
        house.push(&[(0, b"a"), (1, b"b")]);
        let bucket = Buckets::of(2, 1, Wire::Binary);
        let room = house.shelf.supply(bucket, Part::new(100));
        assert_eq!(room.push(RowAt::new(0, 5, 5), |block| written(block, b"x")), Ok(()));
        let wires = std::iter::from_fn(|| house.take(ANY)).map(|it| (it.wire(), it.rows()));
        let mut wires: Vec<_> = wires.collect();
        wires.sort_by_key(|(_, rows)| *rows);
        assert_eq!(wires, [(Wire::Binary, 1), (Wire::Text, 2)]);
    }

    #[test]
    fn the_fullest_goes_first() {
        let mut house = House::new(4, 0);
        house.push(&[(1, b"1"), (2, b"333"), (3, b"22")]);
        assert_eq!(house.taken(), [2, 3, 1]);
        house.push(&[(0, b"")]);
        assert!(house.take(Worth { least: 2, ..ANY }).is_none());
        assert!(house.take(Worth { least: 1, ..ANY }).is_some());
    }

    #[test]
    fn a_payload_takes_no_more_than_it_may() {
        let mut house = House::new(1, 0);
        let row = vec![b'x'; SEALED_BYTES / 2];
        house.push(&[(0, &row), (0, &row), (0, b"y")]);
        assert_eq!(house.take(ANY).map(|payload| payload.rows()), Some(2));
        assert_eq!(house.take(ANY).map(|payload| payload.rows()), Some(1));
    }
}
