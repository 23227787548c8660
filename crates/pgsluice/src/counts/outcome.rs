//! The totals of all threads of a load.

use std::collections::BTreeMap;

use pgsluice_core::bucket::Payload;
use pgsluice_core::catalog::NodeId;
use pgsluice_core::encode::NotEncodable;
use pgsluice_core::route::Cause;

use crate::exchange::Exchanged;
use crate::ledger::Claimant;
use crate::plan::Answered;
use crate::plan::landing::Evidence;
use crate::row_counts::RowCounts;
use crate::testing::fault::fault;

/// The state of the commit of an all-or-nothing load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It was not sent, or the server refused it.
    #[default]
    Open,
    /// It was sent, and the server has not answered.
    Asked,
    Committed,
}

/// The destinations of rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Rows by leaf, routed natively.
    pub native: BTreeMap<NodeId, u64>,
    /// Rows by leaf, routed from the server's answers.
    pub server: BTreeMap<NodeId, u64>,
    /// Rows by the node at which routing stopped, and the reason.
    pub stops: BTreeMap<(NodeId, Cause), u64>,
    /// Rows that could not be encoded, by reason.
    pub not_encodable: BTreeMap<NotEncodable, u64>,
    /// Rows that were routed from the server's answers, by question, once for each question.
    pub answered: BTreeMap<Answered, u64>,
    /// Rows that an earlier run of the load had settled, by node. They are not in the other counts.
    pub before: BTreeMap<NodeId, u64>,
    /// The number of these that it had committed.
    pub already: u64,
    /// The number of these that it had rejected.
    pub rejected_before: u64,
    /// Rows that lose to another row of the input with their key. They are not in the other counts.
    pub duplicate: u64,
}

impl Tally {
    /// Adds the counts of `other`.
    pub(crate) fn add(&mut self, other: Self) {
        add(&mut self.native, other.native);
        add(&mut self.server, other.server);
        add(&mut self.stops, other.stops);
        add(&mut self.not_encodable, other.not_encodable);
        add(&mut self.answered, other.answered);
        add(&mut self.before, other.before);
        self.already += other.already;
        self.rejected_before += other.rejected_before;
        self.duplicate += other.duplicate;
    }

    /// Returns the rows by leaf, for native routing and the server's answers together.
    pub(crate) fn leaves(&self) -> BTreeMap<NodeId, u64> {
        let mut leaves = self.native.clone();
        self.server.iter().for_each(|(&leaf, rows)| *leaves.entry(leaf).or_default() += rows);
        leaves
    }

    /// Returns the rows to be sent, by node.
    pub(crate) fn by_node(&self) -> BTreeMap<NodeId, u64> {
        let mut nodes = self.leaves();
        let stops = self.stops.iter().map(|(&(node, _), rows)| (node, rows));
        stops.for_each(|(node, rows)| *nodes.entry(node).or_default() += rows);
        nodes
    }

    /// Returns the rows to be sent and those that an earlier run had settled, by node.
    pub(crate) fn settled_rows(&self) -> BTreeMap<NodeId, u64> {
        let mut nodes = self.by_node();
        add(&mut nodes, self.before.clone());
        nodes
    }

    /// Returns the rows of this run and those in the receipts of earlier runs, by node.
    pub(crate) fn settled_after(
        &self,
        before: impl Iterator<Item = (Claimant, u64)>,
    ) -> BTreeMap<NodeId, u64> {
        let mut nodes = self.by_node();
        before.for_each(|((_, node), rows)| *nodes.entry(node).or_default() += rows);
        nodes
    }

    /// Returns the number of all rows to be sent.
    pub(crate) fn rows(&self) -> u64 {
        let leaves = self.native.values().chain(self.server.values());
        leaves.chain(self.stops.values()).sum()
    }
}

fn add<K: Ord>(sum: &mut BTreeMap<K, u64>, other: BTreeMap<K, u64>) {
    other.into_iter().for_each(|(key, rows)| *sum.entry(key).or_default() += rows);
}

/// A tally while it grows, with arrays for counts that change with each row.
#[derive(Debug)]
pub(crate) struct Counts {
    native: Vec<u64>,
    server: Vec<u64>,
    stops: BTreeMap<(NodeId, Cause), u64>,
    not_encodable: BTreeMap<NotEncodable, u64>,
    before: Vec<u64>,
    already: u64,
    rejected_before: u64,
    duplicate: u64,
}

impl Counts {
    /// Creates counts for a tree with `nodes` nodes.
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            native: vec![0; nodes],
            server: vec![0; nodes],
            stops: BTreeMap::new(),
            not_encodable: BTreeMap::new(),
            before: vec![0; nodes],
            already: 0,
            rejected_before: 0,
            duplicate: 0,
        }
    }

    /// Counts a row that loses to another row with its key.
    pub(crate) fn duplicate(&mut self) {
        self.duplicate += 1;
    }

    /// Counts a row of `node` that is already committed.
    pub(crate) fn already(&mut self, node: NodeId) {
        self.before[node] += 1;
        self.already += 1;
    }

    /// Counts a row of `node` that an earlier run has rejected.
    pub(crate) fn rejected_before(&mut self, node: NodeId) {
        self.before[node] += 1;
        self.rejected_before += 1;
    }

    /// Returns the number of rows so far that were already committed.
    pub(crate) fn rows_already(&self) -> u64 {
        self.already
    }

    /// Counts a row by its node, and by whether the server's answer was needed (`asked`).
    pub(crate) fn count(&mut self, at: Result<NodeId, (NodeId, Cause)>, asked: bool) {
        match at {
            Ok(leaf) if asked => self.server[leaf] += 1,
            Ok(leaf) => self.native[leaf] += 1,
            Err(stop) => *self.stops.entry(stop).or_default() += 1,
        }
    }

    /// Counts a row that is sent as text, by the reason why it cannot be encoded.
    pub(crate) fn not_encodable(&mut self, not_encodable: NotEncodable) {
        *self.not_encodable.entry(not_encodable).or_default() += 1;
    }

    /// Returns the counts together with `answered`.
    pub(crate) fn tally(self, answered: BTreeMap<Answered, u64>) -> Tally {
        let counted = |rows: Vec<u64>| rows.into_iter().enumerate().filter(|(_, rows)| *rows > 0);
        Tally {
            native: counted(self.native).collect(),
            server: counted(self.server).collect(),
            stops: self.stops,
            not_encodable: self.not_encodable,
            answered,
            before: counted(self.before).collect(),
            already: self.already,
            rejected_before: self.rejected_before,
            duplicate: self.duplicate,
        }
    }
}

/// The rows that one connection has committed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Committed {
    /// Rows that were sent, by the node to which they belong.
    pub sent: BTreeMap<NodeId, u64>,
    /// The outcome of these rows.
    pub counts: RowCounts,
    /// Their outcome by the node to which they were sent.
    pub by_node: BTreeMap<NodeId, RowCounts>,
    /// Rows without an outcome, by the node to which they were sent. A trigger must have dropped them.
    pub dropped: BTreeMap<NodeId, u64>,
    /// Rows with an outcome that were never sent, by node.
    pub excess: BTreeMap<NodeId, u64>,
    /// Rows of several leaves whose leaves the server's counts do not show, by the evidence that replaced the
    /// counts.
    pub unproven: BTreeMap<Evidence, u64>,
    /// Rows of payloads in which existing rows were updated before others were inserted.
    pub updated_first: u64,
}

impl Committed {
    /// Adds the counts of `other`.
    pub(crate) fn add(&mut self, other: Self) {
        let Self { sent, counts, by_node, dropped, excess, unproven, updated_first } = other;
        add(&mut self.sent, sent);
        self.counts.add(counts);
        by_node
            .into_iter()
            .for_each(|(node, counts)| self.by_node.entry(node).or_default().add(counts));
        add(&mut self.dropped, dropped);
        add(&mut self.excess, excess);
        add(&mut self.unproven, unproven);
        self.updated_first += updated_first;
    }

    /// Adds the rows of a payload.
    pub(crate) fn send(&mut self, payload: &Payload) {
        let is_misplaced = fault("payload::misplaced");
        for (node, rows) in payload.rows_by_node() {
            let node = if is_misplaced { node.checked_sub(1).unwrap_or(1) } else { node };
            *self.sent.entry(node).or_default() += rows as u64;
        }
    }

    /// Adds the outcome of `rows` rows that were sent to `node`.
    pub(crate) fn settle(&mut self, node: NodeId, rows: u64, mut counts: RowCounts) {
        counts.inserted = counts.inserted.saturating_sub(u64::from(fault("payload::short")));
        let known = counts.rows();
        let (differing, difference) = match rows.checked_sub(known) {
            Some(dropped) => (&mut self.dropped, dropped),
            None => (&mut self.excess, known - rows),
        };
        if difference > 0 {
            *differing.entry(node).or_default() += difference;
        }
        self.counts.add(counts);
        self.by_node.entry(node).or_default().add(counts);
    }

    /// Returns the number of rows that triggers have dropped.
    pub(crate) fn rows_dropped(&self) -> u64 {
        self.dropped.values().sum()
    }

    /// Returns the number of all rows that were sent.
    pub(crate) fn rows_sent(&self) -> u64 {
        self.sent.values().sum()
    }
}

/// The outcome of a load: the totals of all its threads.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The destinations of all rows.
    pub routed: Tally,
    /// The rows that all connections have committed.
    pub committed: Committed,
    /// The state of the commit of an all-or-nothing load.
    pub decision: Decision,
    /// The leaves that were exchanged, and those that were not.
    pub exchanged: Exchanged,
    /// Bytes of an input that are not data: the name of the input, and a description.
    pub ignored: Vec<(String, String)>,
}

impl Outcome {
    /// Returns the number of rows in the inputs.
    pub(crate) fn read(&self) -> u64 {
        let Tally { already, rejected_before, duplicate, .. } = self.routed;
        self.routed.rows() + already + rejected_before + duplicate
    }

    /// Returns the number of rows that were rejected by any run.
    pub(crate) fn rows_rejected(&self) -> u64 {
        self.committed.counts.rejected + self.routed.rejected_before
    }

    /// Returns the outcome of all rows by any run. `before` is the outcome of rows that earlier runs have
    /// committed. Rows that triggers have dropped are known only for this run.
    pub(crate) fn counts(&self, before: RowCounts) -> RowCounts {
        let mut counts = self.committed.counts;
        counts.add(before);
        RowCounts {
            read: self.read(),
            duplicate: self.routed.duplicate,
            dropped: self.committed.rows_dropped(),
            rejected: self.rows_rejected(),
            ..counts
        }
    }
}
