//! No step allocates memory for a row: once its buffers are warm, its allocations depend on the blocks that
//! it fills, not on the rows.

#[path = "../benches/stages/inputs.rs"]
mod inputs;

use allocation_counter::measure;
use inputs::Input;
use pgsluice_core::bucket::{BlockRow, Payload, PayloadSize, Pool, Scheduler, Shard, Wire};
use pgsluice_core::encode::{Encoder, NotEncodable};
use pgsluice_core::parse::{Fields, Parser};
use pgsluice_core::route::{Route, Router, Scratch};
use pgsluice_core::split::{Row, Splitter};

/// All steps of one thread, with their buffers.
struct Flow {
    input: Input,
    parser: Parser,
    router: Router,
    encoder: Encoder,
    rows: Vec<Row>,
    fields: Fields,
    scratch: Scratch,
    nodes: usize,
    shard: Shard,
    pool: Pool,
    scheduler: Scheduler,
    splits: u32,
}

impl Flow {
    fn new(input: Input) -> Self {
        let tree = input.tree();
        let all: Vec<usize> = (0..input.columns.len()).collect();
        let nodes = tree.nodes.len();
        Self {
            parser: Parser::new(&input.format, all.clone()),
            router: Router::over(tree, all),
            encoder: Encoder::new(input.codecs.clone()),
            rows: Vec::new(),
            fields: Fields::default(),
            scratch: Scratch::default(),
            nodes,
            shard: Shard::new(Scheduler::count(nodes)),
            pool: Pool::new(64 << 20, nodes),
            scheduler: Scheduler::new(vec![true; nodes], 0).claiming(),
            splits: 0,
            input,
        }
    }

    /// Runs all steps from the bytes to the buckets. Returns the number of rows.
    fn split(&mut self) -> u64 {
        self.rows.clear();
        let scan = Splitter::new(&self.input.format).scan(&self.input.bytes, true, &mut self.rows);
        assert!(scan.is_ok());
        for row in &self.rows {
            let at = BlockRow::new(self.splits, row.start, row.line);
            let bytes = row.slice(&self.input.bytes);
            self.parser.parse(bytes, &mut self.fields);
            let route = self.router.route(bytes, &self.fields, &mut self.scratch);
            let Route::Leaf(leaf) = route else { panic!("{route:?}") };
            let bucket = Scheduler::choose_bucket(self.nodes, leaf, Wire::Binary);
            let room = match self.shard.room(bucket, self.encoder.room_for(bytes.len())) {
                Ok(room) => room,
                Err(bytes) => {
                    self.shard.add_block(bucket, self.pool.take(bytes).expect("within the budget"))
                }
            };
            let pushed: Result<(), NotEncodable> =
                room.push(at, |block| self.encoder.encode(bytes, &self.fields, block));
            assert_eq!((pushed, self.shard.take_growth()), (Ok(()), 0));
        }
        self.splits += 1;
        self.rows.len() as u64
    }

    /// Takes all payloads as they would be sent, and gives them back. Returns the numbers of payloads and of
    /// blocks.
    fn send(&mut self) -> (u64, u64) {
        let (mut payloads, mut blocks) = (0, 0);
        while let Some(payload) = self.take() {
            assert!(
                (0..payload.slices()).map(|slice| payload.slice(slice).len()).sum::<usize>() > 0
            );
            self.scheduler.release(&payload);
            payloads += 1;
            for block in payload.into_blocks() {
                blocks += 1;
                self.pool.give_back(block);
            }
        }
        (payloads, blocks)
    }

    fn take(&mut self) -> Option<Payload> {
        self.scheduler
            .take(PayloadSize { min: 0, max: 1 << 20, together: 1 }, &mut [&mut self.shard])
    }
}

#[test]
fn no_row_is_allocated_for() {
    for input in [inputs::lineitem(), inputs::accounts(), inputs::uuids()] {
        let name = input.name;
        let mut flow = Flow::new(input);
        for _ in 0..3 {
            flow.split();
            flow.scheduler.complete(flow.splits - 1);
            flow.send();
        }
        let (mut rows, mut payloads, mut blocks) = (0, 0, 0);
        let filled = measure(|| rows = flow.split());
        flow.scheduler.complete(flow.splits - 1);
        let sent = measure(|| (payloads, blocks) = flow.send());
        assert_eq!(rows, flow.input.rows().len() as u64, "{name}");
        assert_eq!(filled.count_total, 0, "{name}: {filled:?} for {rows} rows");
        // Lists of a payload's blocks, slices and claims, and of future payloads.
        let max = 8 * (payloads + blocks);
        assert!(
            sent.count_total <= max,
            "{name}: {sent:?} for {payloads} payloads, {blocks} blocks"
        );
        assert!(payloads + blocks < rows / 2, "{name}");
    }
}
