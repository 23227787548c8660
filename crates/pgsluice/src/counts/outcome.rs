//! What the threads of a load have done, added up, and whether it agrees.

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

/// How far the commit of a load in one transaction has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It was not asked for, or the server refused it.
    #[default]
    Open,
    /// It was asked for, and the server has not answered.
    Asked,
    Committed,
}

/// Where rows went.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Rows by the leaf that was found for them natively.
    pub native: BTreeMap<NodeId, u64>,
    /// Rows by the leaf that was found for them with the server's answers.
    pub server: BTreeMap<NodeId, u64>,
    /// Rows by the node that they stopped at, and why.
    pub stops: BTreeMap<(NodeId, Cause), u64>,
    /// Rows that could not be encoded, by what is not encodable.
    pub not_encodable: BTreeMap<NotEncodable, u64>,
    /// Rows that the server was asked about, by what it was asked, once for each.
    pub answered: BTreeMap<Answered, u64>,
    /// Rows that an earlier run of the load had settled, by the node that they got to; they are in none
    /// of the others.
    pub before: BTreeMap<NodeId, u64>,
    /// Rows among them that it had committed.
    pub already: u64,
    /// Rows among them that it had rejected.
    pub rejected_before: u64,
    /// Rows that do not count, because another row of the input has their key; they are in none of the
    /// others.
    pub duplicate: u64,
}

impl Tally {
    /// Adds what `other` has counted.
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

    /// Rows by leaf, however it was found.
    pub(crate) fn leaves(&self) -> BTreeMap<NodeId, u64> {
        let mut leaves = self.native.clone();
        self.server.iter().for_each(|(&leaf, rows)| *leaves.entry(leaf).or_default() += rows);
        leaves
    }

    /// Returns the rows that are to be sent, by the node that they got to.
    pub(crate) fn by_node(&self) -> BTreeMap<NodeId, u64> {
        let mut nodes = self.leaves();
        let stops = self.stops.iter().map(|(&(node, _), rows)| (node, rows));
        stops.for_each(|(node, rows)| *nodes.entry(node).or_default() += rows);
        nodes
    }

    /// The same with those that an earlier run had settled.
    pub(crate) fn settled(&self) -> BTreeMap<NodeId, u64> {
        let mut nodes = self.by_node();
        add(&mut nodes, self.before.clone());
        nodes
    }

    /// Returns the rows of this run, and those that the receipts of earlier runs count.
    pub(crate) fn settled_after(
        &self,
        before: impl Iterator<Item = (Claimant, u64)>,
    ) -> BTreeMap<NodeId, u64> {
        let mut nodes = self.by_node();
        before.for_each(|((_, node), rows)| *nodes.entry(node).or_default() += rows);
        nodes
    }

    /// Returns the number of all rows that are to be sent.
    pub(crate) fn rows(&self) -> u64 {
        let leaves = self.native.values().chain(self.server.values());
        leaves.chain(self.stops.values()).sum()
    }
}

fn add<K: Ord>(sum: &mut BTreeMap<K, u64>, other: BTreeMap<K, u64>) {
    other.into_iter().for_each(|(key, rows)| *sum.entry(key).or_default() += rows);
}

/// A tally while it grows: arrays where every row counts.
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
    /// Makes counts for a tree with `nodes` nodes.
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

    /// Counts a row that does not count.
    pub(crate) fn duplicate(&mut self) {
        self.duplicate += 1;
    }

    /// Counts a row of `node` that is in.
    pub(crate) fn already(&mut self, node: NodeId) {
        self.before[node] += 1;
        self.already += 1;
    }

    /// Counts a row of `node` that was rejected before.
    pub(crate) fn rejected_before(&mut self, node: NodeId) {
        self.before[node] += 1;
        self.rejected_before += 1;
    }

    /// Returns how many rows were in, so far.
    pub(crate) fn rows_already(&self) -> u64 {
        self.already
    }

    /// Counts a row by where it got, and whether the server was asked about it.
    pub(crate) fn count(&mut self, at: Result<NodeId, (NodeId, Cause)>, asked: bool) {
        match at {
            Ok(leaf) if asked => self.server[leaf] += 1,
            Ok(leaf) => self.native[leaf] += 1,
            Err(stop) => *self.stops.entry(stop).or_default() += 1,
        }
    }

    /// Counts a row that is sent as text by why it is not encodable.
    pub(crate) fn not_encodable(&mut self, not_encodable: NotEncodable) {
        *self.not_encodable.entry(not_encodable).or_default() += 1;
    }

    /// Returns the counts, with the rows that the server has answered about.
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

/// What one connection has committed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Committed {
    /// Rows that were sent, by the node that they belong to.
    pub sent: BTreeMap<NodeId, u64>,
    /// What has become of them.
    pub counts: RowCounts,
    /// The same by the node that they were sent to.
    pub by_node: BTreeMap<NodeId, RowCounts>,
    /// Rows of which nothing is known, so that a trigger must have dropped them, by the node that they were
    /// sent to.
    pub dropped: BTreeMap<NodeId, u64>,
    /// Rows of which something is known that were never sent, likewise.
    pub excess: BTreeMap<NodeId, u64>,
    /// Rows of several leaves that the server's counts have not shown to be there, by what was relied on instead.
    pub unproven: BTreeMap<Evidence, u64>,
    /// Rows that have updated others before any was inserted.
    pub updated_first: u64,
}

impl Committed {
    /// Adds what `other` has committed.
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

    /// Adds what has become of `rows` rows that were sent to `node`.
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

    /// Rows that triggers have kept out.
    pub(crate) fn rows_dropped(&self) -> u64 {
        self.dropped.values().sum()
    }

    /// All rows that were sent.
    pub(crate) fn rows_sent(&self) -> u64 {
        self.sent.values().sum()
    }
}

/// What all threads together have done.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Where all rows went.
    pub routed: Tally,
    /// What all connections have committed.
    pub committed: Committed,
    /// How far the commit of a load in one transaction has come.
    pub decision: Decision,
    /// The leaves that were exchanged, and those that were not.
    pub exchanged: Exchanged,
    /// Bytes of an input that are not data: its name, and what they were.
    pub ignored: Vec<(String, String)>,
}

impl Outcome {
    /// Rows of the inputs.
    pub(crate) fn read(&self) -> u64 {
        let Tally { already, rejected_before, duplicate, .. } = self.routed;
        self.routed.rows() + already + rejected_before + duplicate
    }

    /// Rows rejected, by any run.
    pub(crate) fn rejected(&self) -> u64 {
        self.committed.counts.rejected + self.routed.rejected_before
    }

    /// Returns what became of all rows by any run. `before` is what became of those that earlier runs have
    /// committed; what triggers have dropped is known of this run only.
    pub(crate) fn counts(&self, before: RowCounts) -> RowCounts {
        let mut counts = self.committed.counts;
        counts.add(before);
        RowCounts {
            read: self.read(),
            duplicate: self.routed.duplicate,
            dropped: self.committed.rows_dropped(),
            rejected: self.rejected(),
            ..counts
        }
    }
}
