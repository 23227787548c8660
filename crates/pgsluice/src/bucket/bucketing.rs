//! Routes, encodes and buckets, for one thread. Each row of a split goes to the bucket of its node, in
//! binary if it can be, otherwise as it stands in the input.

use std::collections::BTreeMap;
use std::convert::Infallible;

use pgsluice_core::bucket::{Mark, RowAt, Wire};
use pgsluice_core::catalog::NodeId;
use pgsluice_core::parse::Fields;
use pgsluice_core::route::{Cause, Scratch};

use crate::bucket::filler::{Filler, Filling};
use crate::counts::outcome::{Counts, Tally};
use crate::duplicates::Superseded;
use crate::error::Error;
use crate::error::kind::Kind;
use crate::ledger::Ledger;
use crate::plan::{Answered, Plan};
use crate::route::routing::{Reached, Routing};
use crate::source::{Inputs, Split};
use crate::testing::fault::fault;

/// What one thread needs to put rows into buckets; reused from split to split.
pub(crate) struct Bucketing<'p> {
    plan: &'p Plan,
    /// If earlier runs of the load have loaded rows.
    resumed: Option<&'p Ledger>,
    /// The rows that do not count.
    superseded: &'p Superseded,
    counts: Counts,
    /// The fields of a row that the server was asked about.
    fields: Fields,
    scratch: Scratch,
    inputs: &'p Inputs,
    is_in_order: bool,
    /// Why it is not known of a row whether it is in, or before which rows it comes.
    doubt: Option<Error>,
}

impl<'p> Bucketing<'p> {
    /// Makes the bucketing of `plan`, which leaves out rows that `ledger` says are in.
    pub(crate) fn new(
        plan: &'p Plan,
        ledger: Option<&'p Ledger>,
        superseded: &'p Superseded,
        inputs: &'p Inputs,
    ) -> Self {
        Self {
            plan,
            superseded,
            resumed: ledger.filter(|ledger| ledger.is_resumed()),
            counts: Counts::new(plan.tree.nodes.len()),
            fields: Fields::default(),
            scratch: Scratch::default(),
            inputs,
            is_in_order: plan.is_in_order(),
            doubt: None,
        }
    }

    /// Adds all rows of a split. While the server is asked about some rows, connections may take the
    /// others.
    pub(crate) fn split(
        &mut self,
        split: &Split,
        routing: &mut Routing<'_>,
        filling: &Filling<'_, '_>,
    ) -> Result<(), Error> {
        let mut filler = filling.open();
        let routed = routing.route(split, |reached| self.row(split, &reached, &mut filler));
        filler.close();
        let mut is_waiting = routed?;
        while is_waiting {
            routing.ask()?;
            let mut filler = filling.open();
            let routed = routing.resume(split, |reached| self.row(split, &reached, &mut filler));
            filler.close();
            is_waiting = routed?;
        }
        self.doubt.take().map_or(Ok(()), Err)
    }

    fn row(&mut self, split: &Split, reached: &Reached<'_>, filler: &mut Filler<'_, '_>) {
        let Reached { index, at, asked, waiting, is_keyless, refused, .. } = *reached;
        let at = if fault("row::misrouted") { self.another(at) } else { at };
        let node = at.unwrap_or_else(|(node, _)| node);
        if self.is_settled(split, reached, node) {
            return;
        }
        let is_likely_refused = at.is_err_and(|(_, cause)| cause.is_likely_refused());
        if let Err((_, cause)) = at
            && self.is_in_order
            && !is_likely_refused
            && !refused
        {
            let error = self.out_of_order(split, index, node, cause);
            self.doubt.get_or_insert(error);
            return;
        }
        let mark = |index: usize| Mark { split: split.number, offset: split.rows[index].start };
        filler.expect(waiting.map(mark));
        // Rows in both formats would be in two buckets.
        let may_encode = !self.is_in_order && !is_keyless;
        let is_encoded = may_encode && self.encode(split, reached, node, filler);
        let bucket = filler.bucket(node, if is_encoded { Wire::Binary } else { Wire::Text });
        if !is_encoded {
            let bytes = split.text(index);
            let Ok(()) = filler.push(bucket, place(split, index), bytes.len() + 1, |block| {
                block.extend_from_slice(bytes);
                block.push(b'\n');
                Ok::<(), Infallible>(())
            });
        }
        self.counts.count(at, asked);
        if !self.is_in_order && is_likely_refused {
            filler.flush_soon(bucket);
        }
    }

    /// Counts a row that is not to be sent: it does not count, or earlier runs of the load have settled it. A row of
    /// which that is not known is not sent either.
    fn is_settled(&mut self, split: &Split, reached: &Reached<'_>, node: NodeId) -> bool {
        if self.superseded.contains(split.first_row + reached.index as u64) {
            self.counts.duplicate();
            return true;
        }
        let Some(ledger) = self.resumed else { return false };
        match ledger.is_in(node, reached, split, &mut self.scratch) {
            Ok(false) => return false,
            Ok(true) if ledger.was_rejected(reached, split) => self.counts.rejected_before(node),
            Ok(true) => self.counts.already(node),
            Err(error) => _ = self.doubt.get_or_insert(error),
        }
        true
    }

    /// Puts a row into the bucket of its node in binary; false if it cannot be encoded.
    fn encode(
        &mut self,
        split: &Split,
        reached: &Reached<'_>,
        node: NodeId,
        filler: &mut Filler<'_, '_>,
    ) -> bool {
        let Reached { index, asked, keys, .. } = *reached;
        let Some(encoder) = &self.plan.encoder else { return false };
        let (bytes, stands) = (split.text(index), place(split, index));
        let fields = if asked {
            // The keys may be in the server's spelling.
            self.plan.parser.parse(bytes, &mut self.fields);
            &self.fields
        } else {
            keys
        };
        let bucket = filler.bucket(node, Wire::Binary);
        let pushed = match split.encoded(index) {
            Some(Ok(encoded)) => filler.push(bucket, stands, encoded.len(), |block| {
                block.extend_from_slice(encoded);
                Ok(())
            }),
            Some(Err(not_encodable)) => Err(not_encodable),
            None => {
                let room = encoder.room_for(bytes.len());
                filler.push(bucket, stands, room, |block| encoder.encode(bytes, fields, block))
            }
        };
        if let Err(not_encodable) = pushed {
            self.counts.not_encodable(not_encodable);
        }
        pushed.is_ok()
    }

    /// The error for a row that may end in the leaf of rows which are sent in input order.
    fn out_of_order(&self, split: &Split, index: usize, node: NodeId, cause: Cause) -> Error {
        let (what, why) = self.plan.explain(node, cause);
        let message =
            format!("cannot send the row in input order: {what}: {why}, so its leaf is unknown");
        let error = Error::new(Kind::Data, message).with_sqlstate("0A000").permanent();
        let place = split.position(index).and_then(|position| self.inputs.locate(position));
        place.into_iter().fold(error, Error::at)
    }

    /// Another leaf, for a test.
    fn another(&self, at: Result<NodeId, (NodeId, Cause)>) -> Result<NodeId, (NodeId, Cause)> {
        let mut others = self.plan.tree.leaves().filter(|leaf| Ok(*leaf) != at);
        others.next().map_or(at, Ok)
    }

    /// Returns how many rows were in, so far.
    pub(crate) fn rows_already(&self) -> u64 {
        self.counts.rows_already()
    }

    /// Returns the counts, with the rows that the server has answered about.
    pub(crate) fn tally(self, answered: BTreeMap<Answered, u64>) -> Tally {
        self.counts.tally(answered)
    }
}

/// Returns the place of a row of `split`.
fn place(split: &Split, index: usize) -> RowAt {
    let row = &split.rows[index];
    RowAt::new(split.number, row.start, row.line)
}
