//! Whatever is appended, taken and given back in whatever order: each row comes out once, whole and
//! with its own position, and all memory is given back.

use std::collections::BTreeMap;

use pgsluice_core::bucket::{Buckets, Payload, SEALED_BYTES};
use pgsluice_core::catalog::NodeId;
use pgsluice_core::position::Position;

use crate::choices::Choices;

/// What the buckets should hold, row by row.
struct Ledger {
    /// By the row's number, which its bytes begin with.
    waiting: BTreeMap<usize, (NodeId, Position, usize)>,
    next: usize,
    appended: usize,
    in_flight: Vec<Payload>,
}

/// The property.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let nodes = 1 + choices.below(4);
    let budget = choices.pick(&[1, 100_000, 1 << 20, 64 << 20]);
    let mut buckets = Buckets::new(nodes, budget);
    let mut ledger =
        Ledger { waiting: BTreeMap::new(), next: 0, appended: 0, in_flight: Vec::new() };
    while choices.left() {
        match choices.below(8) {
            0..4 => append(&mut choices, &mut buckets, &mut ledger, nodes),
            4 => {
                let least = choices.pick(&[1, 1, 30, 6000]);
                ledger.take(&mut buckets, least);
            }
            5 => {
                let node = choices.below(nodes);
                ledger.take_node(&mut buckets, node);
            }
            _ if ledger.in_flight.is_empty() => {}
            _ => {
                let index = choices.below(ledger.in_flight.len().min(256));
                buckets.recycle(ledger.in_flight.swap_remove(index));
            }
        }
        let nothing = ledger.waiting.is_empty() && ledger.in_flight.is_empty();
        assert_eq!(buckets.is_empty(), nothing);
    }
    while ledger.take(&mut buckets, 1) {}
    assert!(ledger.waiting.is_empty(), "{:?} never came out", ledger.waiting);
    ledger.in_flight.drain(..).for_each(|payload| buckets.recycle(payload));
    assert!(buckets.is_empty() && buckets.has_room(budget, 0));
}

/// One split of a few rows, some of them very long.
fn append(choices: &mut Choices<'_>, buckets: &mut Buckets, ledger: &mut Ledger, nodes: usize) {
    let [source, offset, line] = [(); 3].map(|()| choices.below(3));
    let start = Position { source: source as u32, offset: offset as u64, line: 1 + line as u64 };
    let mut rows: Vec<(NodeId, u32, u32, Vec<u8>)> = Vec::new();
    for _ in 0..choices.below(6) {
        let (node, offset, line) = (choices.below(nodes), choices.byte(), choices.byte());
        let padding = choices.pick(&[0, 0, 1, 2, 9, 9, 100, 4000, 4096, 70_000]);
        let padding = if choices.once_in(32) { SEALED_BYTES / 2 } else { padding };
        let mut bytes = format!("{};", ledger.next).into_bytes();
        bytes.resize(bytes.len() + padding, b'x');
        let Position { source, offset: from, line: first } = start;
        let position =
            Position { source, offset: from + u64::from(offset), line: first + u64::from(line) };
        ledger.waiting.insert(ledger.next, (node, position, bytes.len()));
        ledger.next += 1;
        rows.push((node, offset.into(), line.into(), bytes));
    }
    let bytes: usize = rows.iter().map(|(.., bytes)| bytes.len() + 1).sum();
    let room = buckets.has_room(bytes, rows.len());
    buckets.append(
        start,
        rows.iter().map(|(node, offset, line, bytes)| (*node, *offset, *line, bytes.as_slice())),
    );
    ledger.appended += bytes;
    // A payload that is sealed may leave a part of its last block unused.
    let sealed = ledger.appended >= SEALED_BYTES;
    assert!(!room || sealed || buckets.has_room(0, 0), "no room for {bytes} bytes");
}

impl Ledger {
    fn take(&mut self, buckets: &mut Buckets, least: usize) -> bool {
        let Some(payload) = buckets.take(least) else {
            assert!(self.waiting.is_empty() || least > 1, "rows are left, and none is given out");
            return false;
        };
        assert!(payload.bytes() >= least.min(SEALED_BYTES));
        if payload.nodes().iter().any(|&node| self.is_written(node)) && least == 1 {
            let idle = self.waiting.values().find(|(node, ..)| !self.is_written(*node));
            assert_eq!(idle, None, "nodes {:?} got a second writer before", payload.nodes());
        }
        self.receive(payload);
        true
    }

    fn take_node(&mut self, buckets: &mut Buckets, node: NodeId) {
        let Some(payload) = buckets.take_node(node) else { return };
        assert_eq!(payload.node(), node);
        assert!(!self.is_written(node));
        self.receive(payload);
    }

    fn is_written(&self, node: NodeId) -> bool {
        self.in_flight.iter().any(|payload| payload.nodes().contains(&node))
    }

    /// Strikes the rows of `payload` out.
    fn receive(&mut self, payload: Payload) {
        let bytes = payload.blocks().concat();
        assert_eq!(bytes.len(), payload.bytes());
        let body = bytes.strip_suffix(b"\n").expect("every row ends by a newline");
        let mut before = BTreeMap::new();
        let mut rows = 0;
        for (index, row) in body.split(|&byte| byte == b'\n').enumerate() {
            let digits = row.split(|&byte| byte == b';').next().expect("a number");
            let number = str::from_utf8(digits).expect("digits").parse().expect("a number");
            let (node, position, length) = self.waiting.remove(&number).expect("not given out yet");
            assert!(payload.nodes().contains(&node));
            assert_eq!(payload.position(index), Some(position));
            assert_eq!(row.len(), length);
            let before = before.insert(node, number);
            assert!(before < Some(number), "row {number} after {before:?}");
            rows = index + 1;
        }
        assert_eq!((payload.rows(), payload.position(rows)), (rows, None));
        self.in_flight.push(payload);
    }
}
