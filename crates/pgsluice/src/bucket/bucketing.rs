//! Routing, encoding and bucketing of rows in one thread. Each row of a split goes to the bucket of its node,
//! in binary if possible, otherwise with the bytes of the input.

use std::collections::BTreeMap;

use pgsluice_core::bucket::SplitOffset;
use pgsluice_core::catalog::NodeId;
use pgsluice_core::route::{Cause, Scratch};

use crate::bucket::filler::{Filler, Filling};
use crate::bucket::write::write;
use crate::counts::outcome::{Counts, Tally};
use crate::duplicates::DuplicateRows;
use crate::error::Error;
use crate::error::kind::Kind;
use crate::ledger::Ledger;
use crate::plan::{Answered, Plan};
use crate::route::routing::Routing;
use crate::route::row::Routed;
use crate::source::{Inputs, Split};
use crate::testing::fault::fault;

/// The state of one thread that puts rows into buckets. It is reused from split to split.
pub(crate) struct Bucketing<'p> {
    plan: &'p Plan,
    /// The ledger, if earlier runs of the load have loaded rows.
    resumed: Option<&'p Ledger>,
    /// Rows that lose to another row with the same key.
    duplicates: &'p DuplicateRows,
    counts: Counts,
    scratch: Scratch,
    inputs: &'p Inputs,
    is_in_order: bool,
    /// The first row for which it is unknown whether it is loaded already, or where it belongs in input
    /// order.
    doubt: Option<Error>,
}

impl<'p> Bucketing<'p> {
    /// Creates the bucketing of `plan`. It leaves out rows that `ledger` has recorded.
    pub(crate) fn new(
        plan: &'p Plan,
        ledger: Option<&'p Ledger>,
        duplicates: &'p DuplicateRows,
        inputs: &'p Inputs,
    ) -> Self {
        Self {
            plan,
            duplicates,
            resumed: ledger.filter(|ledger| ledger.is_resumed()),
            counts: Counts::new(plan.tree.nodes.len()),
            scratch: Scratch::default(),
            inputs,
            is_in_order: plan.is_in_order(),
            doubt: None,
        }
    }

    /// Adds all rows of a split. While the server routes some rows, connections may take the others.
    pub(crate) fn split(
        &mut self,
        split: &Split,
        routing: &mut Routing<'_>,
        filling: &Filling<'_, '_>,
    ) -> Result<(), Error> {
        let mut filler = filling.open();
        let routed = routing.route(split, |routed| self.row(split, &routed, &mut filler));
        filler.close();
        let mut is_waiting = routed?;
        while is_waiting {
            routing.ask()?;
            let mut filler = filling.open();
            let routed = routing.resume(split, |routed| self.row(split, &routed, &mut filler));
            filler.close();
            is_waiting = routed?;
        }
        self.doubt.take().map_or(Ok(()), Err)
    }

    fn row(&mut self, split: &Split, routed: &Routed<'_>, filler: &mut Filler<'_, '_>) {
        let routed = match fault("row::misrouted") {
            true => &Routed { at: self.another(routed.at), ..*routed },
            false => routed,
        };
        if self.is_settled(split, routed) {
            return;
        }
        let is_likely_refused = routed.at.is_err_and(|(_, cause)| cause.is_likely_refused());
        if let Err((node, cause)) = routed.at
            && self.is_in_order
            && !is_likely_refused
            && !routed.refused
        {
            let error = self.out_of_order(split, routed.index, node, cause);
            self.doubt.get_or_insert(error);
            return;
        }
        let start =
            |index: usize| SplitOffset { split: split.number, offset: split.rows[index].start };
        filler.set_pending(routed.waiting.map(start));
        self.counts.count(routed.at, routed.asked);
        // If there is no memory, the load has failed, and nothing more is sent.
        let Some(written) = write(self.plan, split, routed, filler) else { return };
        if let Some(not_encodable) = written.not_encodable {
            self.counts.not_encodable(not_encodable);
        }
        if !self.is_in_order && is_likely_refused {
            filler.flush_soon(written.bucket);
        }
    }

    /// Counts a row that must not be sent: another row with its key wins, or earlier runs of the load have
    /// settled it. A row for which that is unknown is not sent either.
    fn is_settled(&mut self, split: &Split, routed: &Routed<'_>) -> bool {
        if self.duplicates.contains(split.first_row + routed.index as u64) {
            self.counts.duplicate();
            return true;
        }
        let Some(ledger) = self.resumed else { return false };
        let node = routed.node();
        match ledger.is_in(node, routed, split, &mut self.scratch) {
            Ok(false) => return false,
            Ok(true) if ledger.was_rejected(routed, split) => self.counts.rejected_before(node),
            Ok(true) => self.counts.already(node),
            Err(error) => _ = self.doubt.get_or_insert(error),
        }
        true
    }

    /// Returns the error for a row that may belong in a leaf whose rows are sent in input order.
    fn out_of_order(&self, split: &Split, index: usize, node: NodeId, cause: Cause) -> Error {
        let (what, why) = self.plan.explain(node, cause);
        let message =
            format!("cannot send the row in input order: {what}: {why}, so its leaf is unknown");
        let error = Error::new(Kind::Data, message).with_sqlstate("0A000").permanent();
        let place = self.inputs.locate_row(split, index);
        place.into_iter().fold(error, Error::at)
    }

    /// Returns another leaf, for a test.
    fn another(&self, at: Result<NodeId, (NodeId, Cause)>) -> Result<NodeId, (NodeId, Cause)> {
        let mut others = self.plan.tree.leaves().filter(|leaf| Ok(*leaf) != at);
        others.next().map_or(at, Ok)
    }

    /// Returns the number of rows so far that were loaded already.
    pub(crate) fn rows_already(&self) -> u64 {
        self.counts.rows_already()
    }

    /// Returns the counts, including the rows that the server has routed.
    pub(crate) fn tally(self, answered: BTreeMap<Answered, u64>) -> Tally {
        self.counts.tally(answered)
    }
}
