//! Claim: which rows of a node are in the table once a payload is committed, in ranges of the input.
//!
//! A ledger keeps claims, so that a load that is begun again knows each row that is in. They never count
//! rows: the next run may cut its payloads in any other way. A claim is reckoned when its payload is
//! closed, from what is known of the node's other rows at that moment:
//!
//! ```text
//!     committed | on shards, or in payloads under way | not routed yet
//!      claimed  |        never in a range              | never in a range
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::block::{Block, RowAt};
use crate::catalog::NodeId;

/// A place in the input: a split by its number, and an offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark {
    /// The split. The split behind the last one stands for its end.
    pub split: u32,
    /// The offset in the split.
    pub offset: u32,
}

impl Mark {
    /// Where a split begins, which is where the one before it ends.
    pub fn start(split: u32) -> Self {
        Self { split, offset: 0 }
    }

    /// Where a row begins.
    pub(super) fn of(row: &RowAt) -> Self {
        Self { split: row.split, offset: row.offset }
    }
}

/// From the first byte of one row to that of another, both rows included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first row.
    pub first: Mark,
    /// The last row, which may be the first.
    pub last: Mark,
}

impl Span {
    fn of(row: &RowAt) -> Self {
        Self { first: Mark::of(row), last: Mark::of(row) }
    }
}

/// Which rows of a node are committed when its payload is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The node that the rows belong to.
    pub node: NodeId,
    /// All rows that begin before it are.
    pub upto: Mark,
    /// So are all that begin in one of these, in order.
    pub ranges: Vec<Span>,
    /// The rows of the payload that belong to the node.
    pub rows: usize,
    flight: u64,
}

/// What must be known for claims: what is routed, and what is under way.
#[derive(Debug, Default)]
pub(super) struct Reckoning {
    /// All rows of all splits before this one are on shards, or further on.
    frontier: u32,
    /// Splits after it of which that is so as well.
    beyond: BTreeSet<u32>,
    /// Payloads that are not known to be committed, by node.
    flights: BTreeMap<NodeId, Vec<Flight>>,
    next: u64,
}

/// A node's rows in a payload under way.
#[derive(Debug)]
struct Flight {
    number: u64,
    spans: Vec<Span>,
}

/// The rows of one split in one block.
struct ClaimRun<'p> {
    span: Span,
    rows: &'p [RowAt],
}

fn runs(block: &Block) -> impl Iterator<Item = ClaimRun<'_>> {
    block.rows().chunk_by(|one, next| one.split == next.split).filter_map(|rows| {
        let first = rows.iter().map(Mark::of).min()?;
        let last = rows.iter().map(Mark::of).max()?;
        Some(ClaimRun { span: Span { first, last }, rows })
    })
}

/// Returns the rows of the blocks that follow one another in a bucket, up to those that begin after
/// `last`. Those of the first split are always among them. As long as they are no more than `few`, each
/// has a span of its own. Where only the first and the last are known, no range of others can lie
/// between them.
pub(super) fn left_behind<'p>(
    blocks: impl Iterator<Item = &'p Block>,
    last: u32,
    mut few: usize,
) -> Vec<Span> {
    let mut end = None;
    let mut spans = Vec::new();
    for block in blocks {
        let Some(first) = block.rows().first() else { continue };
        if first.split > *end.get_or_insert(last.max(first.split)) {
            break;
        }
        for ClaimRun { span, rows } in runs(block) {
            match few.checked_sub(rows.len()) {
                Some(left) => {
                    spans.extend(rows.iter().map(Span::of));
                    few = left;
                }
                None => spans.push(span),
            }
        }
    }
    spans
}

impl Reckoning {
    /// Marks a split as complete: all of its rows are routed.
    pub(super) fn complete(&mut self, split: u32) {
        self.beyond.insert(split);
        while self.beyond.remove(&self.frontier) {
            self.frontier += 1;
        }
    }

    /// Returns what a payload of the rows of `node` in `blocks` claims. `others` are its rows that no
    /// payload has taken yet. `pending` says where rows of splits that are being routed may still come
    /// between the others.
    pub(super) fn claim(
        &mut self,
        node: NodeId,
        blocks: &[Block],
        mut others: Vec<Span>,
        pending: &[Mark],
    ) -> Claim {
        let runs: Vec<ClaimRun<'_>> = blocks.iter().flat_map(runs).collect();
        let flights = self.flights.entry(node).or_default();
        others.extend(flights.iter().flat_map(|flight| &flight.spans));
        let number = self.next;
        self.next += 1;
        flights.push(Flight { number, spans: runs.iter().map(|run| run.span).collect() });
        let last = runs.iter().map(|run| run.span.last.split).max().unwrap_or(0);
        others.extend(self.unrouted(last, pending));
        others.sort_unstable();
        let start = Mark::start(self.frontier);
        let upto = others.first().map_or(start, |other| other.first.min(start));
        Claim {
            node,
            upto,
            ranges: ranges(&runs, &others, upto),
            rows: runs.iter().map(|run| run.rows.len()).sum(),
            flight: number,
        }
    }

    /// Where rows may still come from, up to the split `last`: its end is unknown until all is routed.
    fn unrouted<'s>(&'s self, last: u32, pending: &'s [Mark]) -> impl Iterator<Item = Span> + 's {
        let incomplete = (self.frontier..=last).filter(|split| !self.beyond.contains(split));
        incomplete.map(move |split| {
            let end = Mark { split, offset: u32::MAX };
            let first = pending.iter().find(|mark| mark.split == split).copied().unwrap_or(end);
            Span { first, last: end }
        })
    }

    /// Marks the claim of a payload as known to be committed.
    pub(super) fn land(&mut self, claim: &Claim) {
        if let Some(flights) = self.flights.get_mut(&claim.node) {
            flights.retain(|flight| flight.number != claim.flight);
            if flights.is_empty() {
                self.flights.remove(&claim.node);
            }
        }
    }
}

/// The rows of `runs` from `upto` on, in ranges with none of `others` in them, which are sorted.
fn ranges(runs: &[ClaimRun<'_>], others: &[Span], upto: Mark) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for ClaimRun { span, rows } in runs.iter().filter(|run| run.span.last >= upto) {
        if is_mixed(*span, others) {
            spans.extend(rows.iter().map(Span::of));
        } else {
            spans.push(*span);
        }
    }
    spans.retain(|span| span.last >= upto);
    spans.sort_unstable();
    let mut ranges: Vec<Span> = Vec::new();
    let mut others = others.iter().peekable();
    // How far those of the others reach that begin before a span.
    let mut reach = None;
    for span in spans {
        while let Some(other) = others.next_if(|other| other.first < span.first) {
            reach = reach.max(Some(other.last));
        }
        match ranges.last_mut() {
            Some(range) if reach < Some(range.last) => range.last = range.last.max(span.last),
            _ => ranges.push(span),
        }
    }
    ranges
}

/// Whether any of `others`, which are sorted and each of one split, has rows within `span`.
fn is_mixed(span: Span, others: &[Span]) -> bool {
    let begin = others.partition_point(|other| other.first.split < span.first.split);
    let of_split = others[begin..].iter().take_while(|other| other.first <= span.last);
    of_split.into_iter().any(|other| other.last >= span.first)
}
