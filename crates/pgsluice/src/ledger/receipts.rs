//! Receipts: the claims of a payload as rows of the ledger. A receipt that is covered by a new one is deleted
//! in the same transaction, so there are never many.

use std::collections::HashMap;

use parking_lot::Mutex;
use pgsluice_core::bucket::{Claim, Span};

use super::claimed::StoredReceipt;
use crate::row_counts::RowCounts;
use crate::source::splits::Splits;
use pgsluice_core::origin::Origin;

/// All receipts of a load that are known to be committed.
#[derive(Debug, Default)]
pub(super) struct Receipts(Mutex<ReceiptState>);

#[derive(Debug, Default)]
struct ReceiptState {
    /// The number of the next receipt.
    next: i64,
    by_node: HashMap<usize, Vec<HeldReceipt>>,
}

/// The part of a receipt that decides whether another one covers it.
#[derive(Clone, Copy, Debug)]
struct HeldReceipt {
    number: i64,
    end: Origin,
    rows: u64,
    counts: RowCounts,
}

/// Receipts that one transaction must write.
#[derive(Debug, Default)]
pub(crate) struct ReceiptEntries {
    pub(super) receipts: Vec<StoredReceipt>,
    /// The numbers of the receipts that they cover.
    pub(super) gone: Vec<i64>,
}

impl Receipts {
    /// Begins with the receipts of earlier runs for the same tree. New receipts are numbered from `next` on.
    pub(super) fn from_earlier<'r>(
        next: i64,
        earlier: impl Iterator<Item = &'r StoredReceipt>,
    ) -> Self {
        let mut state = ReceiptState { next, by_node: HashMap::new() };
        earlier.for_each(|receipt| state.hold(receipt));
        Self(Mutex::new(state))
    }

    /// Returns the entries to write for `claims`. From now on, only the payloads of these claims may delete
    /// the receipts that the entries cover.
    pub(super) fn entries<'c>(
        &self,
        splits: &Splits,
        tree: i32,
        claims: impl Iterator<Item = &'c Claim>,
    ) -> ReceiptEntries {
        let claims = claims.map(|claim| StoredReceipt {
            number: 0,
            tree,
            node: claim.node,
            upto: splits.end_before(claim.upto),
            ranges: claim.ranges.iter().flat_map(|span| ranges(splits, *span)).collect(),
            rows: claim.rows as u64,
            counts: RowCounts::default(),
        });
        let mut entries = ReceiptEntries { receipts: claims.collect(), gone: Vec::new() };
        self.number(&mut entries);
        entries
    }

    /// Numbers new receipts, and adds the receipts that they cover to them.
    pub(super) fn number(&self, entries: &mut ReceiptEntries) {
        let mut state = self.0.lock();
        for receipt in &mut entries.receipts {
            receipt.number = state.next;
            state.next += 1;
            let Some(held) = state.by_node.get_mut(&receipt.node) else { continue };
            for covered in held.extract_if(.., |held| held.end <= receipt.upto) {
                entries.gone.push(covered.number);
                receipt.rows += covered.rows;
                receipt.counts.add(covered.counts);
            }
        }
    }

    /// Marks receipts as committed.
    pub(super) fn mark_committed(&self, entries: &ReceiptEntries) {
        let mut state = self.0.lock();
        entries.receipts.iter().for_each(|receipt| state.hold(receipt));
    }
}

impl ReceiptState {
    fn hold(&mut self, receipt: &StoredReceipt) {
        let StoredReceipt { number, rows, counts, .. } = *receipt;
        let held = HeldReceipt { number, end: receipt.end(), rows, counts };
        self.by_node.entry(receipt.node).or_default().push(held);
    }
}

/// Returns the bytes from the first row to the last, as one range for each source.
fn ranges(splits: &Splits, Span { first, last }: Span) -> impl Iterator<Item = (u32, u64, u64)> {
    let (begin, end) = (splits.origin_at(first), splits.origin_at(last));
    (begin.input..=end.input).map(move |source| {
        let start = if source == begin.input { begin.at } else { 0 };
        let stop = if source == end.input { end.at + 1 } else { i64::MAX.unsigned_abs() };
        (source, start, stop)
    })
}
