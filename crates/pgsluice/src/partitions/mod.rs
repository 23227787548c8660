//! Partitions that the rows of an input need and the table does not have. All keys are read to find them.
//! They are described as DDL, and created on request.
//!
//! Keys are read and routed in the client, because that is fast and sends nothing. The server computes the
//! bounds of a new partition (`sql::steps`). A new partition gets the same levels below it as its neighbour.

mod ddl;
mod left;
pub(crate) mod names;
pub(crate) mod sql;

use std::collections::{BTreeMap, HashMap};

use pgsluice_core::catalog::{KeyColumn, NodeId, Relation, Strategy};
use pgsluice_core::parse::{Fields, Value};
use pgsluice_core::route::Cause;
use tokio_postgres::Client;

pub(crate) use self::left::take_back;
use crate::control::{Control, CreatedPartition};
use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result, command, option};
use crate::inspect::preview::Preview;
use crate::inspect::trial::{self, Trial};
use crate::job::Job;
use crate::partitions::sql::drops;
use crate::partitions::sql::steps::{self, Counting, NeededRange, Range};
use crate::pg::bounds::{self, Literal, Literals};
use crate::pg::connect::{Link, open};
use crate::pg::conninfo::Target;
use crate::pg::runtime::runtime;
use crate::plan::Plan;

/// Number of steps from the nearest partition beyond which a new range counts as far away.
const FAR: f64 = 3.0;

/// Maximum number of partitions that a warning lists.
const MAX_NAMES: usize = 5;

/// Number of distinct keys that are remembered before the server converts them into bounds.
const REMEMBERED: usize = 100_000;

/// The partitions that the rows of an input need.
#[derive(Debug, Default)]
pub struct Missing {
    /// The destinations of all rows of the input in the existing table.
    pub preview: Preview,
    /// Partitions to create, in an order in which they can be created.
    pub partitions: Vec<Partition>,
    /// Partitions that cannot be created: the parent, the reason, and the number of rows that need them.
    pub impossible: Vec<(String, String, u64)>,
}

/// A partition to create.
#[derive(Clone, Debug)]
pub struct Partition {
    /// Its name.
    pub relation: Relation,
    /// The number of rows that need it.
    pub rows: u64,
    /// The statements that create it and the partitions below it.
    pub ddl: Vec<String>,
    /// Whether rows may need more partitions below it.
    pub may_lack: bool,
    parent: Relation,
    /// The number of steps to the nearest existing partition, if that is far away.
    far: Option<u64>,
}

/// Reads all keys of the inputs, and returns the partitions that they need. Sends only keys without a
/// partition to the server.
pub fn find(job: &Job, plan: &Plan, target: &Target, control: &Control) -> Result<Missing> {
    if let Some(step) = &job.target.step {
        in_session(target, control, async |client| steps::check(client, step).await)?;
    }
    let mut missing_bounds = MissingBounds::default();
    let stopped = |row: &[u8], keys: &Fields, node, cause| {
        if cause == Cause::NoPartition {
            missing_bounds.add(plan, row, keys, node);
        }
        if missing_bounds.remembered < REMEMBERED {
            return Ok(());
        }
        let settling = async |client: &mut Client| missing_bounds.settle(job, plan, client).await;
        in_session(target, control, settling)
    };
    let preview = Preview::read(job, plan, target, control, (usize::MAX, usize::MAX), stopped)?;
    let mut missing = Missing { preview, ..Missing::default() };
    if missing_bounds.seen {
        in_session(target, control, async |client| {
            missing_bounds.settle(job, plan, client).await?;
            ddl::write(plan, &missing_bounds, client, &mut missing).await
        })?;
    }
    let impossible = missing_bounds.impossible.into_iter();
    missing.impossible = impossible.map(|((what, why), rows)| (what, why, rows)).collect();
    Ok(missing)
}

/// Creates the partitions that the inputs need, in one transaction for each level, and returns their names.
/// First checks that the table accepts the first rows of the inputs, so that a load that would fail at once
/// creates no partition.
pub(crate) fn create(job: &Job, target: &Target, control: &Control) -> Result<Vec<String>> {
    if !job.input.files.are_rereadable() {
        let message = option("create-partitions")
            + " reads the input twice, which is not possible with a pipe";
        return Err(Error::new(Kind::Usage, message).with_hint(
            "Write the input to a file, or create the partitions that "
                + command("plan --full")
                + " lists.",
        ));
    }
    let mut created = Vec::new();
    loop {
        let plan = runtime()?.block_on(Plan::make(job, target, control))?;
        let missing = find(job, &plan, target, control)?;
        if let Some((what, why, rows)) = missing.impossible.first() {
            let message = format!("cannot create partitions of {what}: {why}");
            return Err(Error::new(Kind::Data, message).with_sqlstate("23514").with_detail(
                format!("{rows} rows need them. No row of this load is in the table."),
            ));
        }
        check_bound(created.len() + missing.partitions.len(), job, &missing)?;
        if created.is_empty() && !missing.partitions.is_empty() {
            check_first_rows(job, &plan, target, control)?;
        }
        missing.far().into_iter().for_each(|warning| control.warn(&warning));
        let statements: Vec<&str> =
            missing.partitions.iter().flat_map(|p| &p.ddl).map(String::as_str).collect();
        in_session(target, control, async |client| {
            let transaction = client.transaction().await?;
            transaction.batch_execute(&statements.join(";\n")).await.map_err(|error| {
                Error::from(error)
                    .with_detail("The partitions that the input needs were not created.")
            })?;
            transaction.commit().await.map_err(Error::from)?;
            control.attempts.add_created(missing.read_created(client).await?);
            Ok(())
        })?;
        let made = missing.partitions.iter().map(|partition| partition.relation.label());
        created.extend(made);
        // A new partition with the levels of its neighbour may lack partitions of its own. Each round goes
        // one level down.
        if !missing.partitions.iter().any(|partition| partition.may_lack) {
            return Ok(created);
        }
    }
}

/// Tries the first rows on the server, and fails if it refuses them, unless rows may be rejected.
fn check_first_rows(job: &Job, plan: &Plan, target: &Target, control: &Control) -> Result<()> {
    if job.safety.rejects.is_some() {
        return Ok(());
    }
    match runtime()?.block_on(trial::try_first_rows(job, plan, None, target, control))? {
        Trial::Fails(error) => {
            Err(error.with_detail("No partition was created. No row of this load is in the table."))
        }
        Trial::Read | Trial::Untried(_) => Ok(()),
    }
}

impl Missing {
    /// Returns the created partitions with their state in the catalogue.
    async fn read_created(&self, client: &Client) -> Result<Vec<CreatedPartition>> {
        let mut made = Vec::new();
        for Partition { relation, parent, .. } in &self.partitions {
            if let Some(state) = drops::state(client, relation).await? {
                made.push(CreatedPartition {
                    relation: relation.clone(),
                    parent: parent.clone(),
                    state,
                });
            }
        }
        Ok(made)
    }

    /// Returns a warning about new partitions that are far from all existing ones.
    fn far(&self) -> Option<String> {
        let far = |partition: &Partition| Some((partition.relation.label(), partition.far?));
        let far: Vec<(String, u64)> = self.partitions.iter().filter_map(far).collect();
        let more = far.len().saturating_sub(MAX_NAMES);
        let first = far.iter().take(MAX_NAMES);
        let mut names: Vec<String> =
            first.map(|(name, steps)| format!("{name} ({steps} steps)")).collect();
        names.extend((more > 0).then(|| format!("and {more} more")));
        (!names.is_empty()).then(|| {
            format!(
                "new partitions are far from the existing ones: {}; check that DateStyle matches \
                 the order of day and month in the input",
                names.join(", ")
            )
        })
    }
}

/// Fails if there are more new partitions than the job allows: a wrong key would create one for each row.
fn check_bound(count: usize, job: &Job, missing: &Missing) -> Result<()> {
    let max = job.target.max_new_partitions;
    if count <= max {
        return Ok(());
    }
    let names = missing.partitions.iter().map(|partition| partition.relation.label());
    let first: Vec<String> = names.take(3).collect();
    let message = format!("the input needs {count} new partitions, more than {max}");
    let remedy = Remedy::options(
        "To create them all",
        [option("max-new-partitions").with(count.to_string())],
    );
    Err(Error::new(Kind::Data, message)
        .with_sqlstate("54000")
        .with_detail(format!("The first of them are {}. None was created.", first.join(", ")))
        .with_hint(
            "List them all with "
                + command("plan --full")
                + ", or use a wider "
                + option("step")
                + " to create fewer.",
        )
        .with_remedy(remedy))
}

/// Returns the outcome of `work` in a separate session, unless the load is stopped.
fn in_session<T>(
    target: &Target,
    control: &Control,
    work: impl AsyncFnOnce(&mut Client) -> Result<T>,
) -> Result<T> {
    runtime()?.block_on(async {
        let Link { mut client, canceller, .. } = control.stop.unless_stopped(open(target)).await?;
        let working = async {
            client.batch_execute(steps::SESSION).await?;
            work(&mut client).await
        };
        canceller.unless_stopped(control, working).await
    })
}

/// The keys without a partition, and the bounds that the server has computed from them.
#[derive(Debug, Default)]
struct MissingBounds {
    keys: BTreeMap<NodeId, HashMap<Option<String>, u64>>,
    remembered: usize,
    seen: bool,
    ranges: BTreeMap<NodeId, BTreeMap<(String, Option<String>), u64>>,
    /// The step of the ranges of each node.
    steps: BTreeMap<NodeId, String>,
    lists: BTreeMap<NodeId, BTreeMap<(Option<String>, String), u64>>,
    impossible: BTreeMap<(String, String), u64>,
}

impl MissingBounds {
    fn add(&mut self, plan: &Plan, row: &[u8], keys: &Fields, node: NodeId) {
        self.seen = true;
        match key_value(plan, row, keys, node) {
            Ok(value) => {
                let counts = self.keys.entry(node).or_default();
                let count = counts.entry(value).or_default();
                self.remembered += usize::from(*count == 0);
                *count += 1;
            }
            Err(why) => self.refuse(plan, node, why, 1),
        }
    }

    fn refuse(&mut self, plan: &Plan, node: NodeId, why: &str, rows: u64) {
        if rows > 0 {
            let what = plan.tree.nodes[node].relation.label();
            *self.impossible.entry((what, why.to_owned())).or_default() += rows;
        }
    }

    /// Makes the server compute bounds from the remembered keys.
    async fn settle(&mut self, job: &Job, plan: &Plan, client: &Client) -> Result<()> {
        self.remembered = 0;
        for (node, keys) in std::mem::take(&mut self.keys) {
            let Some(key) = &plan.tree.nodes[node].key else { continue };
            let Some(KeyColumn::Native { column, .. }) = key.columns.first() else { continue };
            let ty = steps::column_type(client, plan.catalogue.facts[node].oid, column).await?;
            let mut keys: Vec<(Option<String>, u64)> = keys.into_iter().collect();
            if key.strategy == Strategy::List {
                let table = plan.catalogue.facts[node].oid;
                if keys.iter().any(|(key, _)| key.is_none())
                    && !steps::takes_null(client, table, column).await?
                {
                    let nulls = keys.extract_if(.., |(key, _)| key.is_none());
                    let rows = nulls.map(|(_, rows)| rows).sum();
                    if job.safety.rejects.is_none() {
                        self.refuse(plan, node, "its key column is NOT NULL", rows);
                    }
                }
                let lists = self.lists.entry(node).or_default();
                for (value, literal, rows) in steps::values(client, &ty, &keys).await? {
                    *lists.entry((value, literal)).or_default() += rows;
                }
            } else {
                self.settle_range(job, plan, client, node, ty, keys).await?;
            }
        }
        Ok(())
    }

    async fn settle_range(
        &mut self,
        job: &Job,
        plan: &Plan,
        client: &Client,
        node: NodeId,
        ty: String,
        keys: Vec<(Option<String>, u64)>,
    ) -> Result<()> {
        let nulls = keys.iter().filter(|(key, _)| key.is_none()).map(|(_, rows)| rows).sum();
        self.refuse(plan, node, "only a DEFAULT partition accepts NULL", nulls);
        let keys: Vec<(String, u64)> =
            keys.into_iter().filter_map(|(key, rows)| Some((key?, rows))).collect();
        let all: u64 = keys.iter().map(|(_, rows)| rows).sum();
        let Some(counting) = Counting::from_type(ty) else {
            self.refuse(plan, node, "its range key is neither a number nor a date", all);
            return Ok(());
        };
        let siblings = ranges(plan, node);
        let step = match &job.target.step {
            Some(given) => Some(counting.step(given)),
            None => counting.usual_step(client, &siblings).await?,
        };
        let Some(step) = step else {
            let why = "no step can be derived from its partitions; specify --step";
            self.refuse(plan, node, why, all);
            return Ok(());
        };
        let wanted = counting.needed_ranges(client, &siblings, &step, &keys).await?;
        let settled: u64 = wanted.iter().map(|wanted| wanted.rows).sum();
        self.refuse(
            plan,
            node,
            "its values are infinite, or the step is not positive",
            all - settled.min(all),
        );
        self.steps.insert(node, step);
        let ranges = self.ranges.entry(node).or_default();
        for NeededRange { lower, upper, rows } in wanted {
            *ranges.entry((lower, upper)).or_default() += rows;
        }
        Ok(())
    }
}

/// Returns the value of the only key column of `node`. The error is the reason why no partition can be
/// created for it.
fn key_value(
    plan: &Plan,
    row: &[u8],
    keys: &Fields,
    node: NodeId,
) -> Result<Option<String>, &'static str> {
    let key = plan.tree.nodes[node].key.as_ref().ok_or("it is a leaf")?;
    if key.strategy == Strategy::Hash {
        return Err("its hash partitions are incomplete");
    }
    let [KeyColumn::Native { field, .. }] = &key.columns[..] else {
        return Err("its key is not a single column that is read natively");
    };
    let Some(field) = field else { return Ok(None) };
    let slot =
        plan.router.wanted_fields().binary_search(field).map_err(|_| "its key was not read")?;
    match keys.get(slot, row) {
        Value::Missing => Err("rows have too few fields"),
        Value::Null => Ok(None),
        Value::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err("its key is not UTF-8"),
        },
        Value::Binary(_) => Err("its key has no text"),
    }
}

/// Returns the partitions of `node` that are ranges of one column, in the order of its children.
fn ranges(plan: &Plan, node: NodeId) -> Vec<Range> {
    let range = |&child: &NodeId| range_of(plan.catalogue.facts[child].bound.as_deref()?);
    plan.tree.nodes[node].children.iter().filter_map(range).collect()
}

/// Returns the range of a deparsed bound. An end is `None` if it is unbounded or not a single value.
pub(crate) fn range_of(bound: &str) -> Option<Range> {
    let end = |edge: &[Literal]| match edge {
        [Literal::Value(text)] => Some(text.clone()),
        _ => None,
    };
    match bounds::parse(bound)? {
        Literals::Range { lower, upper } => Some((end(&lower), end(&upper))),
        _ => None,
    }
}
