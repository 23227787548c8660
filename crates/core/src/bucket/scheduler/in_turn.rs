//! Rows that are sent in the order of the input.

use proptest::prelude::*;

use super::*;
use crate::bucket::RowAt;

const ANY: Worth = Worth { least: 0, most: 1, together: 1 };

/// A scheduler of one node, and the shard of one thread.
struct House {
    scheduler: Scheduler,
    shard: Shard,
}

impl House {
    fn new() -> Self {
        let shard = Shard::new(Scheduler::count(1));
        Self { scheduler: Scheduler::new(vec![true], 0).claiming(), shard }
    }

    /// Adds a row to the bucket of those that go in turn, in a block of its own.
    fn push(&mut self, split: u32, offset: u32) {
        let bucket = Scheduler::in_turn(1, 0);
        let room = match self.shard.room(bucket, 24) {
            Ok(room) => room,
            Err(bytes) => self.shard.add_block(bucket, Block::new(bytes)),
        };
        let pushed = room.push(RowAt::new(split, offset, 0), |block| {
            block.extend_from_slice(&[b'x'; 24]);
            Ok::<(), ()>(())
        });
        assert_eq!(pushed, Ok(()));
    }

    fn take(&mut self) -> Option<Payload> {
        self.scheduler.take_in_turn(ANY, &mut [&mut self.shard])
    }
}

fn places(payload: &Payload) -> Vec<(u32, u32)> {
    payload.in_order().map(|(at, _)| (at.split, at.offset)).collect()
}

#[test]
fn they_are_sent_row_by_row_in_the_order_of_the_input() {
    let mut house = House::new();
    for (split, offset) in [(0, 10), (0, 30), (0, 20), (1, 0)] {
        house.push(split, offset);
    }
    let payload =
        house.scheduler.take_in_turn(Worth { most: 1000, ..ANY }, &mut [&mut house.shard]);
    let payload = payload.expect("rows");
    assert!(payload.is_in_turn() && payload.wire() == Wire::Text);
    assert_eq!(places(&payload), [(0, 10), (0, 20), (0, 30), (1, 0)]);
}

#[test]
fn no_row_is_sent_before_one_that_is_on_its_way() {
    let mut house = House::new();
    house.push(0, 10);
    let first = house.take().expect("a row");
    house.push(1, 50);
    assert!(house.take().is_none(), "another payload of the node is under way");
    house.scheduler.release(&first);
    house.shard.expect(Some(Mark { split: 1, offset: 40 }));
    assert!(house.take().is_none(), "an earlier row may still come");
    house.shard.expect(None);
    assert_eq!(house.take().map(|payload| places(&payload)), Some(vec![(1, 50)]));
}

#[test]
fn the_others_are_not_taken_with_them() {
    let mut house = House::new();
    house.push(0, 0);
    let others = House::new().scheduler.take(ANY, &mut [&mut house.shard]);
    assert!(others.is_none());
    assert!(house.scheduler.take(ANY, &mut [&mut house.shard]).is_none());
    let first = house.scheduler.take_first((1, 9), true, &mut [&mut house.shard]);
    assert_eq!(first.iter().map(places).collect::<Vec<_>>(), [[(0, 0)]]);
}

proptest! {
    /// Some rows of a split come late, as those do that the server is asked about.
    #[test]
    fn payloads_follow_each_other_as_their_rows_do(
        splits in proptest::collection::vec(proptest::collection::vec(any::<bool>(), 0..9), 0..9),
        takes in proptest::collection::vec(any::<bool>(), 200),
    ) {
        let mut house = House::new();
        let (mut takes, mut sent) = (takes.into_iter(), Vec::new());
        let mut maybe_take = |house: &mut House| {
            if takes.next() == Some(true)
                && let Some(payload) = house.take()
            {
                sent.extend(places(&payload));
                house.scheduler.release(&payload);
            }
        };
        for (split, late) in (0..).zip(&splits) {
            let mark = |place: usize| Mark { split, offset: place as u32 };
            let first_late = |from: usize| {
                let late = late.iter().enumerate().skip(from).find(|(_, late)| **late);
                late.map(|(place, _)| mark(place))
            };
            for place in (0..late.len()).filter(|place| !late[*place]) {
                house.shard.expect(first_late(0).filter(|first| *first < mark(place)));
                house.push(split, place as u32);
                maybe_take(&mut house);
            }
            for place in (0..late.len()).filter(|place| late[*place]) {
                house.shard.expect(first_late(place));
                house.push(split, place as u32);
                maybe_take(&mut house);
            }
            house.shard.expect(None);
            house.scheduler.complete(split);
        }
        while let Some(payload) = house.take() {
            sent.extend(places(&payload));
            house.scheduler.release(&payload);
        }
        prop_assert!(sent.is_sorted(), "{:?}", sent);
        prop_assert_eq!(sent.len(), splits.iter().map(Vec::len).sum::<usize>());
    }
}
