//! Rows are routed by any thread, asked about, taken, committed or lost in any order: the claims of committed
//! payloads cover all committed rows, and no other row. So a load may die at any moment, and the next one
//! knows each committed row.

use std::collections::{BTreeMap, BTreeSet};

use pgsluice_core::bucket::{
    Block, BlockRow, Claim, Payload, PayloadSize, Scheduler, Shard, SplitOffset, Wire,
};
use pgsluice_core::catalog::NodeId;

use crate::choices::Choices;

const THREADS: usize = 3;

/// A size for a few rows, so that buckets have many blocks.
const BLOCK: usize = 300;

/// A load and its expected state.
struct Model {
    nodes: usize,
    scheduler: Scheduler,
    shards: [Shard; THREADS],
    threads: [Option<Routing>; THREADS],
    splits: u32,
    /// The node of every row that was read.
    rows: BTreeMap<SplitOffset, NodeId>,
    committed: BTreeSet<SplitOffset>,
    claims: Vec<Claim>,
    in_flight: Vec<Payload>,
}

/// A split on a thread: its current rows, and the rows that wait for the next pass.
struct Routing {
    split: u32,
    rows: Vec<SplitOffset>,
    next: usize,
    waiting: Vec<SplitOffset>,
}

impl Routing {
    /// Returns the first row that waits or is still to come.
    fn pending(&self, asks: bool) -> Option<SplitOffset> {
        let again = self.rows.get(self.next).filter(|_| asks);
        self.waiting.first().into_iter().chain(again).min().copied()
    }
}

/// Checks the property.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let nodes = 1 + choices.below(4);
    let min_copy_rows = choices.pick(&[0, 0, 3, 300]);
    let mut model = Model {
        nodes,
        scheduler: Scheduler::new(vec![true; nodes], min_copy_rows).claiming(),
        shards: [(); THREADS].map(|()| Shard::new(Scheduler::count(nodes))),
        threads: [const { None }; THREADS],
        splits: 0,
        rows: BTreeMap::new(),
        committed: BTreeSet::new(),
        claims: Vec::new(),
        in_flight: Vec::new(),
    };
    let mut asked = [false; THREADS];
    while choices.left() {
        match choices.below(8) {
            0..5 => {
                let thread = choices.below(THREADS);
                model.route(thread, &mut asked[thread], &mut choices);
            }
            5 => {
                let max = choices.pick(&[1, 100, 1000, usize::MAX]);
                model.take(PayloadSize {
                    min: choices.pick(&[0, 40]),
                    max,
                    together: choices.pick(&[1, 8]),
                });
            }
            6 => model.take_bucket(&mut choices),
            _ if model.in_flight.is_empty() => {}
            _ => {
                let index = choices.below(model.in_flight.len().min(256));
                model.commit(index);
            }
        }
    }
    model.finish(&mut asked);
}

impl Model {
    /// Routes a few rows of a thread's split, starting a new one if necessary.
    fn route(&mut self, thread: usize, asks: &mut bool, choices: &mut Choices<'_>) {
        let Some(mut routing) = self.threads[thread].take() else {
            *asks = false;
            self.threads[thread] = Some(self.begin(choices));
            self.check();
            return;
        };
        for _ in 0..=choices.below(6) {
            let Some(&row) = routing.rows.get(routing.next) else { break };
            routing.next += 1;
            if choices.once_in(if *asks { 8 } else { 5 }) {
                routing.waiting.push(row);
                continue;
            }
            let wire = choices.pick(&[Wire::Binary, Wire::Binary, Wire::Binary, Wire::Text]);
            self.shards[thread].set_pending(routing.pending(*asks));
            self.push(thread, row, wire, choices);
        }
        if routing.next < routing.rows.len() {
            self.threads[thread] = Some(routing);
        } else if routing.waiting.is_empty() {
            self.scheduler.complete(routing.split);
        } else {
            let Routing { split, waiting, .. } = routing;
            let (rows, waiting) = (waiting, Vec::new());
            self.threads[thread] = Some(Routing { split, rows, next: 0, waiting });
            *asks = true;
        }
    }

    /// Begins the next split of the input, perhaps without rows.
    fn begin(&mut self, choices: &mut Choices<'_>) -> Routing {
        let split = self.splits;
        self.splits += 1;
        let mut offset = 0;
        let mut rows = Vec::new();
        for _ in 0..choices.below(12) {
            let row = SplitOffset { split, offset };
            self.rows.insert(row, choices.below(self.nodes));
            rows.push(row);
            offset += 1 + choices.below(2) as u32;
        }
        Routing { split, rows, next: 0, waiting: Vec::new() }
    }

    fn push(&mut self, thread: usize, row: SplitOffset, wire: Wire, choices: &mut Choices<'_>) {
        let bucket = Scheduler::choose_bucket(self.nodes, self.rows[&row], wire);
        let at = BlockRow::new(row.split, row.offset, 0);
        if let Err(bytes) = self.shards[thread].room(bucket, 8) {
            let pending = self.shards[thread].add_pending(at);
            // While it waits for room, other threads take the existing rows and commit them.
            while choices.once_in(3) {
                if self.take(PayloadSize { min: 0, max: usize::MAX, together: 1 }) {
                    self.commit(self.in_flight.len() - 1);
                }
            }
            self.shards[thread].set_pending(pending);
            let _ = self.shards[thread].add_block(bucket, Block::new(BLOCK.max(bytes)));
        }
        let room = self.shards[thread].room(bucket, 8).expect("room");
        let pushed = room.push(at, |block| {
            block.extend_from_slice(b"12345678");
            Ok::<(), ()>(())
        });
        assert_eq!(pushed, Ok(()));
    }

    fn take(&mut self, size: PayloadSize) -> bool {
        let [one, two, three] = &mut self.shards;
        let payload = self.scheduler.take(size, &mut [one, two, three]);
        let taken = payload.is_some();
        self.in_flight.extend(payload);
        taken
    }

    fn take_bucket(&mut self, choices: &mut Choices<'_>) {
        let node = choices.below(self.nodes);
        let wire = choices.pick(&[Wire::Text, Wire::Binary]);
        let bucket = Scheduler::choose_bucket(self.nodes, node, wire);
        let [one, two, three] = &mut self.shards;
        self.in_flight.extend(self.scheduler.take_bucket(bucket, &mut [one, two, three]));
    }

    fn commit(&mut self, index: usize) {
        let payload = self.in_flight.swap_remove(index);
        let claims = payload.claims();
        assert_eq!(claims.iter().map(|claim| claim.rows).sum::<usize>(), payload.rows());
        assert_eq!(claims.iter().map(|claim| claim.node).collect::<Vec<_>>(), payload.nodes());
        for (at, _) in payload.in_order() {
            let row = at.start;
            assert!(self.committed.insert(row), "{row:?} is in twice");
            assert!(claims.iter().any(|claim| self.is_in(claim, row)), "{row:?}: {claims:?}");
        }
        for Claim { ranges, upto, .. } in claims {
            assert!(ranges.iter().all(|range| *upto <= range.last), "{upto:?} {ranges:?}");
            assert!(ranges.is_sorted_by(|one, next| one.last < next.first), "{ranges:?}");
        }
        self.claims.extend_from_slice(claims);
        self.scheduler.release(&payload);
        self.check();
    }

    fn is_in(&self, claim: &Claim, row: SplitOffset) -> bool {
        let within = claim.ranges.iter().any(|range| (range.first..=range.last).contains(&row));
        self.rows[&row] == claim.node && (row < claim.upto || within)
    }

    /// Checks that no claim covers a row that is not committed.
    fn check(&self) {
        for row in self.rows.keys().filter(|row| !self.committed.contains(row)) {
            let claim = self.claims.iter().find(|claim| self.is_in(claim, *row));
            assert_eq!(claim, None, "{row:?} is not in");
        }
    }

    /// Routes and sends everything. The last payload of a node claims all its rows.
    fn finish(&mut self, asked: &mut [bool; THREADS]) {
        let mut choices = Choices::new(&[]);
        for (thread, asks) in asked.iter_mut().enumerate() {
            while self.threads[thread].is_some() {
                self.route(thread, asks, &mut choices);
            }
        }
        while !self.in_flight.is_empty() {
            self.commit(0);
        }
        let mut left: BTreeSet<NodeId> = BTreeSet::new();
        while self.take(PayloadSize { min: 0, max: usize::MAX, together: 1 }) {
            left.extend(self.in_flight[0].nodes());
            self.commit(0);
        }
        for node in left {
            let last = self.claims.iter().rfind(|claim| claim.node == node).expect("a claim");
            assert_eq!(
                (last.upto, &last.ranges[..]),
                (SplitOffset::start_of(self.splits), &[][..])
            );
        }
        assert_eq!(self.committed.len(), self.rows.len());
    }
}
