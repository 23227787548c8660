//! Tests of the choice of payloads, and of their contents.

use super::*;
use crate::bucket::{BlockRow, MIN_COPY_ROWS};
use crate::catalog::ROOT;

/// A scheduler, and the shard of one thread.
struct TestBuckets {
    scheduler: Scheduler,
    shard: Shard,
    nodes: usize,
    split: u32,
}

const ANY: PayloadSize = PayloadSize { min: 0, max: SEALED_BYTES, together: 1 };

impl TestBuckets {
    fn new(nodes: usize, min_copy_rows: usize) -> Self {
        let shard = Shard::new(Scheduler::count(nodes));
        Self { scheduler: Scheduler::new(vec![true; nodes], min_copy_rows), shard, nodes, split: 0 }
    }

    fn push(&mut self, rows: &[(NodeId, &[u8])]) {
        for (line, (node, bytes)) in rows.iter().enumerate() {
            let bucket = Scheduler::choose_bucket(self.nodes, *node, Wire::Text);
            let room = match self.shard.room(bucket, bytes.len()) {
                Ok(room) => room,
                Err(bytes) => self.shard.add_block(bucket, Block::new(bytes)),
            };
            let at = BlockRow::new(self.split, 10 * line as u32, line as u32);
            let pushed = room.push(at, |block| written(block, &[*bytes, b"\n"].concat()));
            assert_eq!((pushed, self.shard.take_growth()), (Ok(()), 0));
        }
        self.split += 1;
    }

    fn take(&mut self, size: PayloadSize) -> Option<Payload> {
        self.scheduler.take(size, &mut [&mut self.shard])
    }

    fn all_nodes(&mut self) -> Vec<NodeId> {
        std::iter::from_fn(|| self.take(ANY)).map(|payload| payload.node()).collect()
    }
}

fn written(block: &mut Vec<u8>, row: &[u8]) -> Result<(), ()> {
    block.extend_from_slice(row);
    Ok(())
}

fn text(payload: &Payload) -> Vec<u8> {
    (0..payload.slices()).flat_map(|index| payload.slice(index)).copied().collect()
}

#[test]
fn gathers_rows_with_their_places() {
    let mut buckets = TestBuckets::new(2, 0);
    buckets.push(&[(0, b"a"), (1, b"b"), (0, b"c")]);
    let payload = buckets.take(ANY).expect("two rows");
    assert_eq!((payload.node(), payload.rows(), text(&payload)), (0, 2, b"a\nc\n".to_vec()));
    let places: Vec<_> =
        payload.in_order().map(|(at, _)| (at.start.split, at.start.offset)).collect();
    assert_eq!(places, [(0, 0), (0, 20)]);
}

#[test]
fn rows_of_two_threads_are_in_the_order_of_the_input() {
    let mut buckets = TestBuckets::new(1, 0);
    let mut other = TestBuckets::new(1, 0);
    buckets.push(&[(0, b"1"), (0, b"2")]);
    other.split = 1;
    other.push(&[(0, b"3"), (0, b"4")]);
    buckets.split = 2;
    buckets.push(&[(0, b"5")]);
    let mut shards = [&mut other.shard, &mut buckets.shard];
    let payload = buckets.scheduler.take(ANY, &mut shards).expect("five rows");
    assert_eq!(text(&payload), b"1\n2\n3\n4\n5\n");
    let rows: Vec<_> = payload.in_order().map(|(at, row)| (at.start.split, row[0])).collect();
    assert_eq!(rows, [(0, b'1'), (0, b'2'), (1, b'3'), (1, b'4'), (2, b'5')]);
}

#[test]
fn a_row_that_cannot_be_written_leaves_nothing_behind() {
    let mut shard = Shard::new(Scheduler::count(1));
    assert_eq!(shard.room(1, 9).err(), Some(265));
    let written = shard.add_block(1, Block::new(265)).push(BlockRow::new(0, 0, 0), |block| {
        block.push(b'x');
        Err("not a number")
    });
    assert_eq!((written, shard.bytes(), shard.take_growth()), (Err("not a number"), 0, 0));
    assert!(shard.room(1, 9).is_ok());
    let mut buckets = Scheduler::new(vec![true], 0);
    assert!(buckets.take(ANY, &mut [&mut shard]).is_none());
}

#[test]
fn one_node_has_one_writer_unless_nothing_else_is_left() {
    let mut buckets = TestBuckets::new(2, 0);
    buckets.push(&[(0, b"long"), (1, b"b")]);
    let bucket = Scheduler::choose_bucket(2, 0, Wire::Text);
    let take = |buckets: &mut TestBuckets| {
        buckets.scheduler.take_bucket(bucket, &mut [&mut buckets.shard])
    };
    let first = take(&mut buckets).expect("the longer");
    buckets.push(&[(0, b"long")]);
    assert!(first.node() == 0 && take(&mut buckets).is_none());
    assert_eq!(buckets.all_nodes(), [1, 0]);
    assert!(buckets.take(ANY).is_none());
    buckets.scheduler.release(&first);
    assert_eq!(buckets.scheduler.writers, [1, 1]);
}

#[test]
fn small_remainders_travel_together_through_the_root() {
    let mut buckets = TestBuckets::new(4, MIN_COPY_ROWS);
    buckets.push(&[(2, b"c"), (1, b"b"), (2, b"d"), (3, b"e")]);
    let payload = buckets.take(ANY).expect("remainders");
    assert_eq!((payload.node(), text(&payload)), (ROOT, b"c\nd\nb\ne\n".to_vec()));
    assert_eq!(payload.in_order().nth(2).map(|(at, _)| at.start.offset), Some(10));
    assert!(buckets.take(ANY).is_none());
    buckets.scheduler.release(&payload);
    assert_eq!(buckets.scheduler.writers, [0; 4]);
}

#[test]
fn few_nodes_of_many_travel_together() {
    let mut buckets = TestBuckets::new(1000, MIN_COPY_ROWS);
    let rows: Vec<_> = (0..1000).map(|node| (node, &b"x"[..])).collect();
    buckets.push(&rows);
    let counts = std::iter::from_fn(|| buckets.take(ANY)).map(|payload| payload.nodes().len());
    assert_eq!(counts.collect::<Vec<_>>(), [256, 256, 256, 232]);
}

#[test]
fn text_and_binary_do_not_travel_together() {
    let mut buckets = TestBuckets::new(2, MIN_COPY_ROWS);
    buckets.push(&[(0, b"a"), (1, b"b")]);
    let bucket = Scheduler::choose_bucket(2, 1, Wire::Binary);
    let room = buckets.shard.add_block(bucket, Block::new(100));
    assert_eq!(room.push(BlockRow::new(0, 5, 5), |block| written(block, b"x")), Ok(()));
    let wires = std::iter::from_fn(|| buckets.take(ANY)).map(|it| (it.wire(), it.rows()));
    let mut wires: Vec<_> = wires.collect();
    wires.sort_by_key(|(_, rows)| *rows);
    assert_eq!(wires, [(Wire::Binary, 1), (Wire::Text, 2)]);
}

#[test]
fn the_fullest_goes_first() {
    let mut buckets = TestBuckets::new(4, 0);
    buckets.push(&[(1, b"1"), (2, b"333"), (3, b"22")]);
    assert_eq!(buckets.all_nodes(), [2, 3, 1]);
    buckets.push(&[(0, b"")]);
    assert!(buckets.take(PayloadSize { min: 2, ..ANY }).is_none());
    assert!(buckets.take(PayloadSize { min: 1, ..ANY }).is_some());
}

#[test]
fn a_payload_takes_no_more_than_it_may() {
    let mut buckets = TestBuckets::new(1, 0);
    let row = vec![b'x'; SEALED_BYTES / 2];
    buckets.push(&[(0, &row), (0, &row), (0, b"y")]);
    assert_eq!(buckets.take(ANY).map(|payload| payload.rows()), Some(2));
    assert_eq!(buckets.take(ANY).map(|payload| payload.rows()), Some(1));
}

#[test]
fn each_row_that_is_left_behind_ends_one_range() {
    let mut shard = Shard::new(Scheduler::count(1));
    let mut buckets = Scheduler::new(vec![true], 0).claiming();
    for row in 0..1000 {
        let wire = if row % 100 == 50 { Wire::Text } else { Wire::Binary };
        let bucket = Scheduler::choose_bucket(1, 0, wire);
        let room = match shard.room(bucket, 1) {
            Ok(room) => room,
            Err(bytes) => shard.add_block(bucket, Block::new(bytes)),
        };
        let pushed = room.push(BlockRow::new(0, row, row), |block| written(block, b"x"));
        assert_eq!(pushed, Ok(()));
    }
    buckets.complete(0);
    let binary =
        buckets.take_bucket(Scheduler::choose_bucket(1, 0, Wire::Binary), &mut [&mut shard]);
    let binary = binary.expect("rows");
    let [claim] = binary.claims() else { panic!("one node") };
    let ends: Vec<_> =
        claim.ranges.iter().map(|span| (span.first.offset, span.last.offset)).collect();
    let between = |end: u32| (end - 98, end.min(999));
    assert_eq!(claim.upto, SplitOffset { split: 0, offset: 50 });
    assert_eq!(ends, (1..=10).map(|number| between(100 * number + 49)).collect::<Vec<_>>());
}
