//! Claims: the rows of a node that are in the table once a payload is committed, as ranges of the input.
//!
//! A ledger stores claims, so that a restarted load knows each row that is in the table. Claims never count
//! rows, because the next run may cut its payloads differently. A claim is computed when its payload is closed,
//! from what is known about the node's other rows at that moment:
//!
//! ```text
//!     committed | on shards, or in payloads under way | not routed yet
//!      claimed  |        never in a range              | never in a range
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::block::{Block, BlockRow, SplitOffset};
use crate::catalog::NodeId;

/// A range of the input from one row to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Start of the first row.
    pub first: SplitOffset,
    /// Start of the last row, which may be the first.
    pub last: SplitOffset,
}

impl Span {
    fn from_row(row: &BlockRow) -> Self {
        Self { first: row.start, last: row.start }
    }
}

/// The rows of a node that are committed when its payload is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The node that the rows belong to.
    pub node: NodeId,
    /// Offset before which all rows of the node are committed.
    pub upto: SplitOffset,
    /// Ranges, in ascending order, in which all rows of the node are committed too.
    pub ranges: Vec<Span>,
    /// Number of the node's rows in the payload.
    pub rows: usize,
    flight: u64,
}

/// The state that claims are computed from: which splits are routed, and which payloads are in flight.
#[derive(Debug, Default)]
pub(super) struct ClaimState {
    /// The first split that is not complete: all rows of earlier splits are on shards or have been taken from
    /// there.
    frontier: u32,
    /// Complete splits after the frontier.
    beyond: BTreeSet<u32>,
    /// Payloads that are not known to be committed, by node.
    flights: BTreeMap<NodeId, Vec<Flight>>,
    next: u64,
}

/// A node's rows in a payload in flight.
#[derive(Debug)]
struct Flight {
    number: u64,
    spans: Vec<Span>,
}

/// Rows of one split in one block.
struct ClaimRun<'p> {
    span: Span,
    rows: &'p [BlockRow],
}

fn runs(block: &Block) -> impl Iterator<Item = ClaimRun<'_>> {
    block.rows().chunk_by(|one, next| one.start.split == next.start.split).filter_map(|rows| {
        let first = rows.iter().map(|row| row.start).min()?;
        let last = rows.iter().map(|row| row.start).max()?;
        Some(ClaimRun { span: Span { first, last }, rows })
    })
}

/// Returns spans of the rows in a bucket's blocks, up to the first block that begins after split `last`. The
/// rows of the first block's split are always included. Up to `few` rows get a span each; beyond that, a whole
/// run gets one span. Then no range of a claim can lie between the first and the last row of the run.
pub(super) fn left_behind<'p>(
    blocks: impl Iterator<Item = &'p Block>,
    last: u32,
    mut few: usize,
) -> Vec<Span> {
    let mut end = None;
    let mut spans = Vec::new();
    for block in blocks {
        let Some(first) = block.rows().first() else { continue };
        let split = first.start.split;
        if split > *end.get_or_insert(last.max(split)) {
            break;
        }
        for ClaimRun { span, rows } in runs(block) {
            match few.checked_sub(rows.len()) {
                Some(left) => {
                    spans.extend(rows.iter().map(Span::from_row));
                    few = left;
                }
                None => spans.push(span),
            }
        }
    }
    spans
}

impl ClaimState {
    /// Marks a split as complete: all of its rows are routed.
    pub(super) fn complete(&mut self, split: u32) {
        self.beyond.insert(split);
        while self.beyond.remove(&self.frontier) {
            self.frontier += 1;
        }
    }

    /// Returns the claim of a payload that consists of the rows of `node` in `blocks`. `others` are the node's
    /// rows that no payload has taken yet. `pending` are the offsets from which on rows of splits that are being
    /// routed may still arrive.
    pub(super) fn claim(
        &mut self,
        node: NodeId,
        blocks: &[Block],
        mut others: Vec<Span>,
        pending: &[SplitOffset],
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
        let start = SplitOffset::start_of(self.frontier);
        let upto = others.first().map_or(start, |other| other.first.min(start));
        Claim {
            node,
            upto,
            ranges: ranges(&runs, &others, upto),
            rows: runs.iter().map(|run| run.rows.len()).sum(),
            flight: number,
        }
    }

    /// Returns the spans from which rows may still arrive, up to the split `last`. The end of a split is unknown
    /// until all of it is routed.
    fn unrouted<'s>(
        &'s self,
        last: u32,
        pending: &'s [SplitOffset],
    ) -> impl Iterator<Item = Span> + 's {
        let incomplete = (self.frontier..=last).filter(|split| !self.beyond.contains(split));
        incomplete.map(move |split| {
            let end = SplitOffset { split, offset: u32::MAX };
            let first = pending.iter().find(|first| first.split == split).copied().unwrap_or(end);
            Span { first, last: end }
        })
    }

    /// Removes the flight of a claim that is known to be committed.
    pub(super) fn land(&mut self, claim: &Claim) {
        if let Some(flights) = self.flights.get_mut(&claim.node) {
            flights.retain(|flight| flight.number != claim.flight);
            if flights.is_empty() {
                self.flights.remove(&claim.node);
            }
        }
    }
}

/// Returns the rows of `runs` from `upto` on, as ranges that contain none of the sorted `others`.
fn ranges(runs: &[ClaimRun<'_>], others: &[Span], upto: SplitOffset) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for ClaimRun { span, rows } in runs.iter().filter(|run| run.span.last >= upto) {
        if is_mixed(*span, others) {
            spans.extend(rows.iter().map(Span::from_row));
        } else {
            spans.push(*span);
        }
    }
    spans.retain(|span| span.last >= upto);
    spans.sort_unstable();
    let mut ranges: Vec<Span> = Vec::new();
    let mut others = others.iter().peekable();
    // The greatest end of the other spans that begin before the current span.
    let mut last = None;
    for span in spans {
        while let Some(other) = others.next_if(|other| other.first < span.first) {
            last = last.max(Some(other.last));
        }
        match ranges.last_mut() {
            Some(range) if last < Some(range.last) => range.last = range.last.max(span.last),
            _ => ranges.push(span),
        }
    }
    ranges
}

/// Whether any of `others`, which are sorted and each in one split, has rows within `span`.
fn is_mixed(span: Span, others: &[Span]) -> bool {
    let begin = others.partition_point(|other| other.first.split < span.first.split);
    let of_split = others[begin..].iter().take_while(|other| other.first <= span.last);
    of_split.into_iter().any(|other| other.last >= span.first)
}
