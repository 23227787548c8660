//! The audit of a finished load: checks whether the table contains the rows of the input, each in its leaf.
//!
//! The router is not involved. The server reads the input into a temporary table, and counts and hashes both
//! sides. It checks the rows of each leaf against the leaf's partition constraint. Bounds do not overlap. So
//! if both sides contain the same rows, and each leaf only rows that it may contain, every row is in the
//! right leaf. Rows are compared one by one only if the sides differ.

mod changed;
mod input;
mod rejected;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures_util::future::try_join_all;
use pgsluice_core::catalog::{NodeId, ROOT};
use serde::Serialize;
use tokio_postgres::types::Oid;
use tokio_postgres::{Client, IsolationLevel, Transaction};

use self::input::Side;
use self::rejected::Rejected;
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::inspect::sql::audit;
use crate::job::{Job, OnConflict, RejectPlace};
use crate::pg::connect::{Link, open};
use crate::pg::conninfo::Target;
use crate::pg::constraint::{self, everywhere};
use crate::pg::sql;
use crate::pg::template::fill;
use crate::plan::Plan;
use crate::sink::sql::misplaced;
use crate::source::ExtraNames;

/// Maximum number of distinct missing rows whose leaves are looked up.
const LOCATED: usize = 1_000;
/// Maximum number of statements that are sent at once.
const AT_ONCE: usize = 100;

/// The rows that the table must contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Exactly the rows of the input.
    #[default]
    Whole,
    /// At least the rows of the input.
    Subset,
    /// Exactly the rows of the input, in each leaf that the input has rows for. Other leaves are not
    /// compared.
    Replaced,
}

/// The result of the comparison. The names of the fields are those of `--json`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Audit {
    /// The table, qualified, and quoted if necessary.
    pub table: String,
    /// The action for rows whose key existed: `error`, `skip`, `update` or `delete`.
    pub on_conflict: &'static str,
    /// Whether the table contains the expected rows.
    pub equal: bool,
    /// Whether the table may contain other rows as well.
    pub subset: bool,
    /// Whether only the leaves that the input has rows for were compared.
    pub replaced: bool,
    /// Rows of the input.
    pub rows_input: u64,
    /// Rows of the table, in the leaves that were compared.
    pub rows_table: u64,
    /// Sum of the input's row hashes.
    pub checksum_input: String,
    /// Sum of the table's row hashes.
    pub checksum_table: String,
    /// Rows of the input that were rejected, and are not compared.
    pub rows_left_out: u64,
    /// Rows of the input with NULL in their key, which cannot be looked up by it.
    pub rows_unkeyed: u64,
    /// The total number of input rows that the table lacks, or, if rows were changed, that do not match the
    /// table.
    pub rows_missing: u64,
    /// The total number of table rows that the input lacks, or, if rows were deleted, that still exist.
    pub rows_surplus: u64,
    /// The total number of table rows that are in the wrong leaf.
    pub rows_misplaced: u64,
    /// Rows of the input that the table lacks, and whose leaves were not looked up.
    pub missing_unlocated: u64,
    /// Leaves whose rows were not checked against their constraint, because this user may not read them by
    /// name, or because the constraint has names that are not safe under any search_path.
    pub leaves_unchecked: u64,
    /// The names in the input that match no column.
    #[serde(flatten)]
    pub extra: ExtraNames,
    /// The leaves that have rows, or should have rows.
    pub leaves: Vec<VerifiedLeaf>,
}

/// A leaf of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifiedLeaf {
    /// Its name, qualified, and quoted if necessary.
    pub leaf: String,
    /// Its rows.
    pub rows: u64,
    /// Sum of their hashes.
    pub checksum: String,
    /// Rows that the input does not have.
    pub surplus: u64,
    /// Rows of the input that it lacks.
    pub missing: u64,
    /// Rows that belong to other leaves.
    pub misplaced: u64,
}

/// Compares the table with the inputs within `scope`. Rows that a load has `rejected` are left out.
pub async fn verify(
    job: &Job,
    target: &Target,
    scope: Scope,
    rejected: Option<&RejectPlace>,
    control: &Arc<Control>,
) -> Result<Audit> {
    if job.input.fields.default.is_some() {
        let message = "cannot verify rows with fields that stand for defaults";
        return Err(Error::new(Kind::Usage, message)
            .with_detail("The server does not record the values that it filled in for them."));
    }
    let job = &job.open(target, control)?;
    let of_file = match rejected {
        Some(RejectPlace::File(file)) => Some(Rejected::read(file)?),
        _ => None,
    };
    let plan = Plan::make(job, target, control).await?;
    let Link { mut client, canceller, .. } = control.stop.unless_stopped(open(target)).await?;
    let comparing = async {
        let rejected = match (of_file, rejected) {
            (Some(rejected), _) => rejected,
            (None, Some(RejectPlace::Table(table))) => Rejected::select(&client, table).await?,
            (None, _) => Rejected::default(),
        };
        compare(job, &plan, &rejected, &mut client, scope).await
    };
    canceller.unless_stopped(control, comparing).await
}

async fn compare(
    job: &Job,
    plan: &Plan,
    rejected: &Rejected,
    client: &mut Client,
    scope: Scope,
) -> Result<Audit> {
    client.batch_execute(audit::SESSION).await?;
    let transaction =
        client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).start().await?;
    let left_out = Side { plan, job, rejected }.copy(&transaction).await?;
    let mut comparison = AuditComparison::new(plan, &transaction);
    let audit = match &plan.changes {
        Some(changes) => comparison.run_changed(changes).await?,
        None => comparison.run(scope).await?,
    };
    transaction.rollback().await?;
    Ok(Audit { rows_left_out: left_out, extra: plan.extra_names(), ..audit })
}

/// The comparison of both sides in one snapshot.
struct AuditComparison<'a> {
    plan: &'a Plan,
    transaction: &'a Transaction<'a>,
    /// The table, written as in a query.
    table: String,
    nodes: HashMap<Oid, NodeId>,
    leaves: BTreeMap<String, VerifiedLeaf>,
}

impl<'a> AuditComparison<'a> {
    fn new(plan: &'a Plan, transaction: &'a Transaction<'a>) -> Self {
        let facts = plan.catalogue.facts.iter().enumerate();
        let nodes = facts.map(|(node, facts)| (facts.oid, node)).collect();
        let root = &plan.tree.nodes[ROOT];
        let table = audit::rows_of(&root.relation, root.key.is_some());
        Self { plan, transaction, table, nodes, leaves: BTreeMap::new() }
    }

    async fn run(&mut self, scope: Scope) -> Result<Audit> {
        let columns = &self.plan.catalogue.columns;
        let subset = scope == Scope::Subset;
        let replaced = scope == Scope::Replaced;
        let mut audit = Audit { subset, replaced, ..self.sums(columns).await? };
        if !audit.has_same_rows() {
            audit.missing_unlocated = self.find_missing(columns).await?;
            if !subset {
                self.find_surplus(columns).await?;
            }
            if replaced {
                self.leaves.retain(|_, leaf| leaf.is_of_input());
                audit.add_up(self.leaves.values());
            }
        }
        audit.leaves = std::mem::take(&mut self.leaves).into_values().collect();
        let sum = |of: fn(&VerifiedLeaf) -> u64| audit.leaves.iter().map(of).sum::<u64>();
        audit.rows_missing = sum(|leaf| leaf.missing) + audit.missing_unlocated;
        audit.rows_surplus = sum(|leaf| leaf.surplus);
        audit.rows_misplaced = sum(|leaf| leaf.misplaced);
        let differs = |leaf: &VerifiedLeaf| leaf.surplus + leaf.missing + leaf.misplaced > 0;
        let as_it_should = audit.has_same_rows() || (subset && audit.missing_unlocated == 0);
        audit.equal = as_it_should && !audit.leaves.iter().any(differs);
        Ok(audit)
    }

    /// Returns the row counts and checksums of both sides, and counts the rows that are in the wrong leaf.
    async fn sums(&mut self, columns: &[String]) -> Result<Audit> {
        let table = self.table.clone();
        let input = self.transaction.query_one(&audit::sum_input(columns), &[]).await?;
        let mut audit = Audit {
            table: self.plan.tree.nodes[ROOT].relation.label(),
            on_conflict: OnConflict::Error.name(),
            rows_input: count(input.get(0)),
            checksum_input: input.get(1),
            ..Audit::default()
        };
        let mut filled = Vec::new();
        for row in self.transaction.query(&audit::sum_leaves(&table, columns), &[]).await? {
            let (oid, rows, sum): (Oid, i64, String) = (row.get(0), row.get(1), row.get(2));
            let leaf = self.leaf(oid);
            (leaf.rows, leaf.checksum) = (count(rows), sum);
            filled.extend(self.nodes.get(&oid).copied());
        }
        audit.add_up(self.leaves.values());
        audit.leaves_unchecked = self.check_places(&filled).await?;
        Ok(audit)
    }

    /// Returns the entry of a leaf. A leaf that was created after the plan is named by its oid.
    fn leaf(&mut self, oid: Oid) -> &mut VerifiedLeaf {
        let name = match self.nodes.get(&oid) {
            Some(&node) => self.plan.tree.nodes[node].relation.label(),
            None => format!("table {oid}"),
        };
        let leaf = || VerifiedLeaf {
            leaf: name.clone(),
            checksum: "0".to_owned(),
            ..VerifiedLeaf::default()
        };
        self.leaves.entry(name.clone()).or_insert_with(leaf)
    }

    /// Counts the rows that violate the constraint of their leaf. Returns the number of leaves that cannot be
    /// checked.
    async fn check_places(&mut self, filled: &[NodeId]) -> Result<u64> {
        let oid = |&node: &NodeId| self.plan.catalogue.facts[node].oid;
        let oids: Vec<Oid> = filled.iter().map(oid).collect();
        let readable = self.transaction.query(&fill(audit::READABLE, &[]), &[&oids]).await?;
        let readable: Vec<Oid> = readable.iter().map(|row| row.get(0)).collect();
        let constraints = self.constraints(&readable).await?;
        let unsafe_to_ask = constraints.values().filter(|constraint| constraint.is_none()).count();
        let asked: Vec<(Oid, String)> = constraints
            .into_iter()
            .filter_map(|(oid, constraint)| {
                let leaf = &self.plan.tree.nodes[self.nodes[&oid]].relation;
                Some((oid, misplaced(leaf, &constraint?)))
            })
            .collect();
        for asked in asked.chunks(AT_ONCE) {
            let transaction = self.transaction;
            let ask = |(_, sql): &'_ (Oid, String)| {
                let sql = sql.clone();
                async move { transaction.query_one(&sql, &[]).await }
            };
            let answers = try_join_all(asked.iter().map(ask)).await?;
            for ((oid, _), row) in asked.iter().zip(answers) {
                self.leaf(*oid).misplaced = count(row.get(0));
            }
        }
        Ok((oids.len() - readable.len() + unsafe_to_ask) as u64)
    }

    /// Returns the partition constraints of the tables `oids`, for the current session; `None` if a name in
    /// one cannot be qualified. A table without an entry accepts every row.
    async fn constraints(&self, oids: &[Oid]) -> Result<HashMap<Oid, Option<String>>> {
        self.transaction.batch_execute(sql::DEPARSE_SETTINGS).await?;
        let found = constraint::constraints(self.transaction, oids).await?;
        self.transaction.batch_execute(&audit::as_before()).await?;
        Ok(found.into_iter().map(|(oid, constraint)| (oid, everywhere(&constraint))).collect())
    }

    async fn find_surplus(&mut self, columns: &[String]) -> Result<()> {
        let surplus = audit::surplus(&self.table, columns);
        for row in self.transaction.query(&surplus, &[]).await? {
            self.leaf(row.get(0)).surplus = count(row.get(1));
        }
        Ok(())
    }

    /// Finds the leaves of missing rows. Returns the number of rows whose leaves were not looked up.
    async fn find_missing(&mut self, columns: &[String]) -> Result<u64> {
        let located = if self.omits_keys() { 0 } else { LOCATED };
        let gather = audit::gather_missing(&self.table, columns, located);
        self.transaction.batch_execute(&gather).await?;
        let mut unlocated = 0;
        // A parent comes before its children, so one pass goes down the whole tree.
        let mut found = self.missing_by_node().await?;
        for node in 0..self.plan.tree.nodes.len() {
            if self.plan.tree.nodes[node].key.is_some() && found.contains_key(&Some(node)) {
                self.descend(node).await?;
                found = self.missing_by_node().await?;
            }
        }
        for (node, rows) in found {
            match node.filter(|&node| self.plan.tree.nodes[node].key.is_none()) {
                Some(leaf) => self.leaf(self.plan.catalogue.facts[leaf].oid).missing = rows,
                None => unlocated += rows,
            }
        }
        Ok(unlocated)
    }

    /// Whether the input lacks a column that a partition key may need, so that leaves cannot be determined.
    fn omits_keys(&self) -> bool {
        self.plan.catalogue.omits_columns && self.plan.tree.nodes[ROOT].key.is_some()
    }

    async fn missing_by_node(&self) -> Result<BTreeMap<Option<NodeId>, u64>> {
        let rows = self.transaction.query(&audit::missing_by_node(), &[]).await?;
        let node = |row: &tokio_postgres::Row| {
            row.get::<_, Option<i32>>(0).and_then(|node| NodeId::try_from(node).ok())
        };
        Ok(rows.iter().map(|row| (node(row), count(row.get(1)))).collect())
    }

    /// Moves the missing rows of `node` to its partitions.
    async fn descend(&self, node: NodeId) -> Result<()> {
        let children = &self.plan.tree.nodes[node].children;
        let oid = |child: NodeId| self.plan.catalogue.facts[child].oid;
        let oids: Vec<Oid> = children.iter().map(|&child| oid(child)).collect();
        let constraints = self.constraints(&oids).await?;
        for children in children.chunks(AT_ONCE) {
            // The rows of a partition that cannot be checked stay here, and are counted without a leaf.
            let moves = children.iter().filter_map(|&child| {
                let constraint = match constraints.get(&oid(child)) {
                    Some(constraint) => constraint.as_deref()?,
                    None => "true",
                };
                Some(audit::descend(node, child, constraint))
            });
            let moves: Vec<String> = moves.collect();
            self.transaction.batch_execute(&moves.join(";\n")).await?;
        }
        Ok(())
    }
}

fn count(number: i64) -> u64 {
    number.unsigned_abs()
}

impl VerifiedLeaf {
    /// Whether the input has rows for the leaf, or the leaf has rows that do not belong there. If none of the
    /// leaf's rows is in the input, input rows for it would be missing.
    fn is_of_input(&self) -> bool {
        self.rows > self.surplus || self.missing > 0 || self.misplaced > 0
    }
}

impl Audit {
    fn has_same_rows(&self) -> bool {
        self.rows_input == self.rows_table && self.checksum_input == self.checksum_table
    }

    /// Sums up the row counts and the checksums of `leaves`.
    fn add_up<'a>(&mut self, leaves: impl Iterator<Item = &'a VerifiedLeaf> + Clone) {
        let checksum = |leaf: &VerifiedLeaf| leaf.checksum.parse::<i128>().unwrap_or_default();
        self.rows_table = leaves.clone().map(|leaf| leaf.rows).sum();
        self.checksum_table = leaves.map(checksum).sum::<i128>().to_string();
    }

    /// Returns the error for a difference.
    pub fn difference(&self) -> Error {
        let what = match (self.on_conflict, self.subset) {
            ("error", false) if self.replaced => {
                "contain exactly the rows of the input in the leaves that they belong to"
            }
            ("error", false) => "contain exactly the rows of the input",
            ("error", true) => "contain all rows of the input",
            _ => "match the rows of the input",
        };
        Error::new(Kind::Data, format!("{} does not {what}", self.table))
    }
}
