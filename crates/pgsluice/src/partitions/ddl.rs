//! The statements that create partitions, and below them the same levels as below their neighbours.

use pgsluice_core::catalog::{KeyColumn, NodeId, Relation, Strategy};
use tokio_postgres::Client;

use super::names::{self, ExistingNames};
use super::{FAR, Missing, MissingBounds, Partition, ranges};
use crate::error::Result;
use crate::partitions::sql::steps::{self, Counting};
use crate::pg::bounds::{self, Literals};
use crate::pg::sql::{create_partition, literal, portable};
use crate::plan::Plan;

/// A new partition whose name is not final.
struct New {
    parent: NodeId,
    /// The sibling that it is modelled on.
    like: Option<NodeId>,
    name: String,
    bound: String,
    rows: u64,
    /// The number of steps to the nearest sibling, if that is far away.
    far: Option<u64>,
}

/// Adds the partitions with `missing_bounds` to `missing`.
pub(super) async fn write(
    plan: &Plan,
    missing_bounds: &MissingBounds,
    client: &Client,
    missing: &mut Missing,
) -> Result<()> {
    let schemas: Vec<&str> =
        plan.tree.nodes.iter().map(|node| node.relation.schema.as_str()).collect();
    let mut names = ExistingNames::new(steps::existing_names(client, &schemas).await?);
    let mut new = Vec::new();
    for &node in missing_bounds.ranges.keys() {
        new.extend(new_ranges(plan, missing_bounds, client, node).await?);
    }
    for &node in missing_bounds.lists.keys() {
        new.extend(new_lists(plan, missing_bounds, node));
    }
    missing.partitions = new.iter().map(|new| make(plan, new, &mut names)).collect();
    Ok(())
}

async fn new_ranges(
    plan: &Plan,
    missing_bounds: &MissingBounds,
    client: &Client,
    parent: NodeId,
) -> Result<Vec<New>> {
    let node = &plan.tree.nodes[parent];
    let column = node.key.as_ref().and_then(|key| key.columns.first());
    let Some(KeyColumn::Native { column, .. }) = column else { return Ok(Vec::new()) };
    let ty = steps::column_type(client, plan.catalogue.facts[parent].oid, column).await?;
    let Some(counting) = Counting::from_type(ty) else { return Ok(Vec::new()) };
    let wanted = &missing_bounds.ranges[&parent];
    let lower: Vec<String> = wanted.keys().map(|(lower, _)| lower.clone()).collect();
    let siblings = ranges(plan, parent);
    let near = counting.neighbours(client, &siblings, &lower).await?;
    let step = missing_bounds.steps.get(&parent).map_or("", String::as_str);
    let far = counting.distances(client, &siblings, step, &lower).await?;
    let far = far.into_iter().map(|steps| steps.map(f64::round).filter(|steps| *steps > FAR));
    let children: Vec<NodeId> =
        node.children.iter().copied().filter(|&child| is_range(plan, child)).collect();
    let new = wanted.iter().zip(near).zip(far).map(|((((lower, upper), &rows), near), far)| {
        let like = near.place.and_then(|place| children.get(place)).copied();
        let neighbour = like.map_or("", |like| &plan.tree.nodes[like].relation.name);
        let name = names::alike(neighbour, &near.spellings);
        let name = name.unwrap_or_else(|| names::after_value(&node.relation.name, Some(lower)));
        let from = literal(lower.as_bytes());
        let to = upper.as_ref().map_or("MAXVALUE".to_owned(), |upper| literal(upper.as_bytes()));
        let (bound, far) =
            (format!("FOR VALUES FROM ({from}) TO ({to})"), far.map(|steps| steps as u64));
        New { parent, like, name, bound, rows, far }
    });
    Ok(new.collect())
}

fn is_range(plan: &Plan, child: NodeId) -> bool {
    let bound = plan.catalogue.facts[child].bound.as_deref().and_then(bounds::parse);
    matches!(bound, Some(Literals::Range { .. }))
}

fn new_lists<'a>(
    plan: &'a Plan,
    missing_bounds: &'a MissingBounds,
    parent: NodeId,
) -> impl Iterator<Item = New> + 'a {
    let node = &plan.tree.nodes[parent];
    let sibling = |&child: &NodeId| match plan.catalogue.facts[child]
        .bound
        .as_deref()
        .and_then(bounds::parse)?
    {
        Literals::List(values) => Some((child, values.into_iter().flatten().next()?)),
        _ => None,
    };
    let sibling = node.children.iter().find_map(sibling);
    missing_bounds.lists[&parent].iter().map(move |((value, literal), &rows)| {
        let named = sibling.as_ref().zip(value.as_ref()).and_then(|((child, old), new)| {
            let lower = (old.to_lowercase(), new.to_lowercase());
            let spellings = [(old.clone(), new.clone()), lower];
            names::alike(&plan.tree.nodes[*child].relation.name, &spellings)
        });
        let name =
            named.unwrap_or_else(|| names::after_value(&node.relation.name, value.as_deref()));
        let like = sibling.as_ref().map(|(child, _)| *child);
        New { parent, like, name, bound: format!("FOR VALUES IN ({literal})"), rows, far: None }
    })
}

fn make(plan: &Plan, new: &New, names: &mut ExistingNames) -> Partition {
    let parent = &plan.tree.nodes[new.parent].relation;
    let schema = new.like.map_or(&parent.schema, |like| &plan.tree.nodes[like].relation.schema);
    let relation = names.free(schema, &new.name);
    let mut partition = Partition {
        relation: relation.clone(),
        rows: new.rows,
        ddl: Vec::new(),
        may_lack: false,
        parent: parent.clone(),
        far: new.far,
    };
    statements(plan, names, &relation, parent, &new.bound, new.like, &mut partition);
    partition
}

/// Adds `CREATE TABLE relation PARTITION OF parent` to `partition`, and such statements for all partitions
/// below it.
fn statements(
    plan: &Plan,
    names: &mut ExistingNames,
    relation: &Relation,
    parent: &Relation,
    bound: &str,
    like: Option<NodeId>,
    partition: &mut Partition,
) {
    let key = like.and_then(|like| plan.catalogue.facts[like].key.as_deref());
    let by = key.map(portable);
    partition.ddl.push(create_partition(relation, parent, bound, by.as_deref()));
    let (Some(like), Some(_)) = (like, key) else { return };
    let node = &plan.tree.nodes[like];
    partition.may_lack |= node.key.as_ref().is_some_and(|key| key.strategy != Strategy::Hash);
    // Ranges within the neighbour's own range would not fit here.
    let within = shares_a_column(plan, like);
    for (index, &child) in node.children.iter().enumerate() {
        let Some(bound) = plan.catalogue.facts[child].bound.as_deref() else { continue };
        if within && is_range(plan, child) {
            continue;
        }
        let Relation { schema, name } = &plan.tree.nodes[child].relation;
        let name = match name.strip_prefix(&node.relation.name) {
            Some(rest) => format!("{}{rest}", relation.name),
            None => format!("{}_{index}", relation.name),
        };
        let below = names.free(schema, &name);
        statements(plan, names, &below, relation, &portable(bound), Some(child), partition);
    }
}

/// Whether the key of `node` has a column in common with a key above it.
fn shares_a_column(plan: &Plan, node: NodeId) -> bool {
    let columns = |node: NodeId| {
        let columns = plan.tree.nodes[node].key.iter().flat_map(|key| &key.columns);
        columns.map(KeyColumn::name)
    };
    let mut above =
        std::iter::successors(plan.tree.nodes[node].parent, |&node| plan.tree.nodes[node].parent);
    above.any(|above| columns(above).any(|column| columns(node).any(|own| own == column)))
}
