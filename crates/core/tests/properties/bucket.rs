//! Whichever threads push rows, and in whatever order payloads are taken and given back: each row comes out
//! once, complete and with its own position, and all memory is given back.

use std::collections::BTreeMap;

use pgsluice_core::bucket::{
    BlockRow, Payload, PayloadSize, Pool, SEALED_BYTES, Scheduler, SendOrder, Shard, Wire,
};
use pgsluice_core::catalog::NodeId;

use crate::choices::Choices;

const THREADS: usize = 2;

/// The buckets with their shards, and the rows that they should hold.
struct Model {
    nodes: usize,
    scheduler: Scheduler,
    shards: [Shard; THREADS],
    pool: Pool,
    /// The waiting rows by the number with which their bytes begin.
    waiting: BTreeMap<u32, Waiting>,
    next: u32,
    split: u32,
    /// The payloads, and whether each has its nodes exclusively.
    in_flight: Vec<(Payload, bool)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Waiting {
    node: NodeId,
    wire: Wire,
    place: (u32, u32, u32),
    bytes: usize,
}

/// Checks the property.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let nodes = 1 + choices.below(4);
    let budget = choices.pick(&[1, 100_000, 1 << 20, 64 << 20]);
    let min_copy_rows = choices.pick(&[0, 3, 300]);
    let is_leaf = (0..nodes).map(|_| !choices.once_in(4)).collect();
    let mut model = Model {
        nodes,
        scheduler: Scheduler::new(is_leaf, min_copy_rows),
        shards: [(); THREADS].map(|()| Shard::new(Scheduler::count(nodes))),
        pool: Pool::new(budget, nodes * THREADS),
        waiting: BTreeMap::new(),
        next: 0,
        split: 0,
        in_flight: Vec::new(),
    };
    while choices.left() {
        match choices.below(9) {
            0..4 => model.push(&mut choices),
            4 => {
                let min = choices.pick(&[0, 1, 30, 6000]);
                let together = choices.pick(&[1, 2, 8]);
                model.take(min, together);
            }
            6 => model.take_first(&mut choices),
            5 => model.take_bucket(&mut choices),
            _ if model.in_flight.is_empty() => {}
            _ => {
                let index = choices.below(model.in_flight.len().min(256));
                model.give_back(index);
            }
        }
    }
    while model.take(0, 1) {}
    assert!(model.waiting.is_empty(), "{:?} never came out", model.waiting);
    while !model.in_flight.is_empty() {
        model.give_back(0);
    }
    assert!(model.shards.iter().all(|shard| shard.bytes() == 0) && model.pool.is_unused());
}

impl Model {
    /// Pushes a split of a few rows, some of them very long, on one thread.
    fn push(&mut self, choices: &mut Choices<'_>) {
        let thread = choices.below(THREADS);
        for _ in 0..choices.below(6) {
            let (node, offset, line) =
                (choices.below(self.nodes), choices.byte().into(), choices.byte().into());
            let wire = choices.pick(&[Wire::Text, Wire::Binary]);
            let padding = choices.pick(&[0, 0, 1, 2, 9, 9, 100, 4000, 4096, 70_000]);
            let padding = if choices.once_in(32) { SEALED_BYTES / 2 } else { padding };
            let mut row = format!("{};", self.next).into_bytes();
            row.resize(row.len() + padding, b'x');
            row.push(b'\n');
            let estimate = if choices.once_in(8) { 0 } else { row.len() };
            let fails = choices.once_in(16);
            let at = BlockRow::new(self.split, offset, line);
            let written = self.write((thread, node, wire), estimate, at, |block| {
                block.extend_from_slice(&row);
                if fails { Err(()) } else { Ok(()) }
            });
            assert_eq!(written.is_err(), fails);
            if !fails {
                let place = (self.split, offset, line);
                self.waiting.insert(self.next, Waiting { node, wire, place, bytes: row.len() });
                self.next += 1;
            }
        }
        self.split += 1;
    }

    fn write(
        &mut self,
        (thread, node, wire): (usize, NodeId, Wire),
        bytes: usize,
        at: BlockRow,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), ()>,
    ) -> Result<(), ()> {
        let bucket = Scheduler::choose_bucket(self.nodes, node, wire);
        let block = match self.shards[thread].room(bucket, bytes) {
            Ok(_) => None,
            Err(room) => Some(self.pool.take(room).unwrap_or_else(|| {
                // A thread without room waits until the others have sent their rows. Here it continues.
                let block = pgsluice_core::bucket::Block::new(room);
                self.pool.grow(block.memory());
                block
            })),
        };
        let shard = &mut self.shards[thread];
        let room = match block {
            Some(block) => shard.add_block(bucket, block),
            None => shard.room(bucket, bytes).expect("room"),
        };
        let pushed = room.push(at, write);
        self.pool.grow(shard.take_growth());
        if pushed.is_err()
            && let Some(block) = shard.take_empty(bucket)
        {
            self.pool.give_back(block);
        }
        pushed
    }

    fn take(&mut self, min: usize, together: usize) -> bool {
        let size = PayloadSize { min, max: SEALED_BYTES, together };
        let [one, other] = &mut self.shards;
        let Some(payload) = self.scheduler.take(size, &mut [one, other]) else {
            assert!(self.waiting.is_empty() || min > 0, "rows are left, and none is given out");
            return false;
        };
        assert!(payload.bytes() >= min.min(SEALED_BYTES));
        if payload.nodes().iter().any(|&node| self.is_written(node)) && min == 0 {
            let idle = self.waiting.values().find(|row| !self.is_written(row.node));
            assert_eq!(idle, None, "nodes {:?} got a second writer before", payload.nodes());
        }
        self.receive(payload, true);
        true
    }

    fn take_first(&mut self, choices: &mut Choices<'_>) {
        let max = choices.pick(&[1, 100, 10_000, usize::MAX]);
        let nodes = 2 * choices.pick(&[1, 2, self.nodes]);
        let before = self.waiting.len();
        let [one, other] = &mut self.shards;
        let together = choices.once_in(2);
        let payloads = self.scheduler.take_first(max, nodes, together, &mut [one, other]);
        let is_shared = choices.once_in(2);
        for mut payload in payloads {
            if is_shared {
                self.scheduler.share(&mut payload);
            }
            self.receive(payload, !is_shared);
        }
        assert!(before == 0 || self.waiting.len() < before, "nothing is taken of {before} rows");
        assert!(self.waiting.is_empty() || max < usize::MAX || nodes < 2 * self.nodes);
    }

    fn take_bucket(&mut self, choices: &mut Choices<'_>) {
        let node = choices.below(self.nodes);
        let wire = choices.pick(&[Wire::Text, Wire::Binary]);
        let [one, other] = &mut self.shards;
        let bucket = Scheduler::choose_bucket(self.nodes, node, wire);
        let Some(payload) = self.scheduler.take_bucket(bucket, &mut [one, other]) else { return };
        assert_eq!((payload.node(), payload.wire()), (node, wire));
        assert!(!self.is_written(node));
        self.receive(payload, true);
    }

    fn is_written(&self, node: NodeId) -> bool {
        self.in_flight
            .iter()
            .any(|(payload, is_alone)| *is_alone && payload.nodes().contains(&node))
    }

    /// Removes the rows of `payload` from the expected ones.
    fn receive(&mut self, mut payload: Payload, is_alone: bool) {
        payload.arrange(|_| &SendOrder::Input);
        let apart: usize = payload.apart().map(|(_, rows)| rows.len()).sum();
        assert_eq!(apart, payload.rows());
        let slices: Vec<u8> =
            (0..payload.slices()).flat_map(|index| payload.slice(index)).copied().collect();
        assert_eq!(slices.len(), payload.bytes());
        let rows: Vec<&[u8]> = payload.in_order().map(|(_, row)| row).collect();
        assert_eq!((rows.len(), rows.concat()), (payload.rows(), slices));
        let mut last: BTreeMap<NodeId, u32> = BTreeMap::new();
        for (at, row) in payload.in_order() {
            let digits = row.split(|&byte| byte == b';').next().expect("a number");
            let number = str::from_utf8(digits).expect("digits").parse().expect("a number");
            let row = Waiting {
                node: self.waiting.get(&number).expect("not given out yet").node,
                wire: payload.wire(),
                place: (at.start.split, at.start.offset, at.line),
                bytes: row.len(),
            };
            assert_eq!(self.waiting.remove(&number), Some(row));
            assert!(payload.nodes().contains(&row.node));
            let before = last.insert(row.node, number);
            assert!(before < Some(number), "row {number} after {before:?}");
        }
        self.in_flight.push((payload, is_alone));
    }

    fn give_back(&mut self, index: usize) {
        let (payload, _) = self.in_flight.swap_remove(index);
        self.scheduler.release(&payload);
        payload.into_blocks().into_iter().for_each(|block| self.pool.give_back(block));
    }
}
