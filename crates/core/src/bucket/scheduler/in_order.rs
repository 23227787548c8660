//! Payloads in the order of the input.

use std::ops::DerefMut;

use super::{PayloadSize, Scheduler, weight};
use crate::bucket::Wire;
use crate::bucket::payload::Payload;
use crate::bucket::shard::Shard;
use crate::catalog::NodeId;

impl Scheduler {
    /// Takes the next rows of the fullest idle node, if they are enough for a payload.
    pub(super) fn take_in_order(
        &mut self,
        size: PayloadSize,
        shards: &mut [impl DerefMut<Target = Shard>],
    ) -> Option<Payload> {
        let idle = (0..self.nodes).filter(|node| self.is_idle(*node));
        let weights = idle.map(|node| (weight(node, shards), node));
        let large_enough = weights.filter(|(weight, _)| weight.is_at_least(size.min));
        let mut full: Vec<(usize, NodeId)> =
            large_enough.map(|(weight, node)| (weight.bytes, node)).collect();
        full.sort_unstable();
        let mut fullest = full.into_iter().rev();
        fullest.find_map(|(_, node)| self.close_in_order(node, size.max, shards))
    }

    /// Takes the next rows of `node`; `None` if an earlier row may still arrive.
    pub(super) fn close_in_order(
        &mut self,
        node: NodeId,
        max: usize,
        shards: &mut [impl DerefMut<Target = Shard>],
    ) -> Option<Payload> {
        let [shard] = shards else { return None };
        let blocks = shard.take_in_order(Self::choose_bucket(self.nodes, node, Wire::Text), max);
        if blocks.is_empty() {
            return None;
        }
        self.writers[node] += 1;
        let claim = self.claim(node, &blocks, shards);
        Some(Payload::new(node, Wire::Text, blocks).claiming(claim).sort_by_place())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bucket::{Block, BlockRow, SplitOffset};

    const ANY: PayloadSize = PayloadSize { min: 0, max: 1, together: 1 };

    /// A scheduler of one node, and the shard of one thread.
    struct TestBuckets {
        scheduler: Scheduler,
        shard: Shard,
    }

    impl TestBuckets {
        fn new() -> Self {
            let shard = Shard::new(Scheduler::count(1));
            Self { scheduler: Scheduler::new(vec![true], 0).claiming().in_order(), shard }
        }

        /// Adds a row in a block of its own.
        fn push(&mut self, split: u32, offset: u32) {
            let bucket = Scheduler::choose_bucket(1, 0, Wire::Text);
            let room = match self.shard.room(bucket, 24) {
                Ok(room) => room,
                Err(bytes) => self.shard.add_block(bucket, Block::new(bytes)),
            };
            let pushed = room.push(BlockRow::new(split, offset, 0), |block| {
                block.extend_from_slice(&[b'x'; 24]);
                Ok::<(), ()>(())
            });
            assert_eq!(pushed, Ok(()));
        }

        fn take(&mut self) -> Option<Payload> {
            self.scheduler.take(ANY, &mut [&mut self.shard])
        }
    }

    fn places(payload: &Payload) -> Vec<(u32, u32)> {
        payload.in_order().map(|(at, _)| (at.start.split, at.start.offset)).collect()
    }

    #[test]
    fn they_are_sent_row_by_row_in_the_order_of_the_input() {
        let mut buckets = TestBuckets::new();
        for (split, offset) in [(0, 10), (0, 30), (0, 20), (1, 0)] {
            buckets.push(split, offset);
        }
        let payload =
            buckets.scheduler.take(PayloadSize { max: 1000, ..ANY }, &mut [&mut buckets.shard]);
        let payload = payload.expect("rows");
        assert_eq!(payload.wire(), Wire::Text);
        assert_eq!(places(&payload), [(0, 10), (0, 20), (0, 30), (1, 0)]);
    }

    #[test]
    fn no_row_is_sent_before_one_that_is_on_its_way() {
        let mut buckets = TestBuckets::new();
        buckets.push(0, 10);
        let first = buckets.take().expect("a row");
        buckets.push(1, 50);
        assert!(buckets.take().is_none(), "another payload of the node is under way");
        buckets.scheduler.release(&first);
        buckets.shard.set_pending(Some(SplitOffset { split: 1, offset: 40 }));
        assert!(buckets.take().is_none(), "an earlier row may still come");
        buckets.shard.set_pending(None);
        assert_eq!(buckets.take().map(|payload| places(&payload)), Some(vec![(1, 50)]));
    }

    #[test]
    fn no_row_is_sent_beside_the_first_transaction() {
        let mut buckets = TestBuckets::new();
        buckets.push(0, 0);
        buckets.push(0, 50);
        let mut first = buckets.scheduler.take_first(1, 9, true, &mut [&mut buckets.shard]);
        assert_eq!(first.iter().map(places).collect::<Vec<_>>(), [[(0, 0)]]);
        buckets.scheduler.share(&mut first[0]);
        assert!(buckets.take().is_none());
        buckets.scheduler.release(&first[0]);
        assert_eq!(buckets.take().map(|payload| places(&payload)), Some(vec![(0, 50)]));
    }

    #[test]
    fn the_fullest_node_is_first() {
        let mut shard = Shard::new(Scheduler::count(3));
        let mut scheduler = Scheduler::new(vec![true; 3], 100).in_order();
        for (node, rows) in [(0, 1), (1, 3), (2, 2)] {
            for row in 0..rows {
                let bucket = Scheduler::choose_bucket(3, node, Wire::Text);
                let room = shard.add_block(bucket, Block::new(100));
                let pushed = room.push(BlockRow::new(0, row, 0), |data| {
                    data.extend_from_slice(b"row");
                    Ok::<(), ()>(())
                });
                assert_eq!(pushed, Ok(()));
            }
        }
        let mut next = || scheduler.take(ANY, &mut [&mut shard]).map(|payload| payload.node());
        assert_eq!([next(), next(), next(), next()], [Some(1), Some(2), Some(0), None]);
    }

    proptest! {
        /// Delivers some rows of a split late, like rows that the server is asked about.
        #[test]
        fn payloads_follow_each_other_as_their_rows_do(
            splits in proptest::collection::vec(proptest::collection::vec(any::<bool>(), 0..9), 0..9),
            takes in proptest::collection::vec(any::<bool>(), 200),
        ) {
            let mut buckets = TestBuckets::new();
            let (mut takes, mut sent) = (takes.into_iter(), Vec::new());
            let mut maybe_take = |buckets: &mut TestBuckets| {
                if takes.next() == Some(true)
                    && let Some(payload) = buckets.take()
                {
                    sent.extend(places(&payload));
                    buckets.scheduler.release(&payload);
                }
            };
            for (split, late) in (0..).zip(&splits) {
                let at = |place: usize| SplitOffset { split, offset: place as u32 };
                let first_late = |from: usize| {
                    let late = late.iter().enumerate().skip(from).find(|(_, late)| **late);
                    late.map(|(place, _)| at(place))
                };
                for place in (0..late.len()).filter(|place| !late[*place]) {
                    buckets.shard.set_pending(first_late(0).filter(|first| *first < at(place)));
                    buckets.push(split, place as u32);
                    maybe_take(&mut buckets);
                }
                for place in (0..late.len()).filter(|place| late[*place]) {
                    buckets.shard.set_pending(first_late(place));
                    buckets.push(split, place as u32);
                    maybe_take(&mut buckets);
                }
                buckets.shard.set_pending(None);
                buckets.scheduler.complete(split);
            }
            while let Some(payload) = buckets.take() {
                sent.extend(places(&payload));
                buckets.scheduler.release(&payload);
            }
            prop_assert!(sent.is_sorted(), "{:?}", sent);
            prop_assert_eq!(sent.len(), splits.iter().map(Vec::len).sum::<usize>());
        }
    }
}
