//! The self-test: before any row is sent, the server says where some keys belong, and the router must
//! agree.
//!
//! The keys are those of the first rows that reach a new leaf or have a new spelling. Variants of them
//! have values at the bounds of the levels that they meet. They go to the server as the text of the
//! input, so that its own input functions read the spelling. A key that disagrees refuses the load.
//! Which other keys are wrong is unknown then, and leaving the level to the server would hide the bug.

use std::collections::{BTreeMap, HashSet};

use futures_util::future::{join_all, try_join_all};
use pgsluice_core::catalog::{KeyColumn, NodeId, ROOT};
use pgsluice_core::format::Format;
use pgsluice_core::parse::{self, Fields, Parser, Value};
use pgsluice_core::route::{Route, Scratch};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::pg::bounds::{self, Literal, Literals};
use crate::pg::connect::{self, Link};
use crate::pg::conninfo::Target;
use crate::pg::constraint::{self, ReadColumn};
use crate::pg::sql;
use crate::plan::Plan;
use crate::route::row::{KeyReader, Routed, Texts};
use crate::source::Split;

/// Rows that are looked at.
const LOOKED_AT: usize = 2_000;
/// Rows that are taken because their leaf is new, and as many because their spelling is.
const TAKEN: usize = 12;
/// Keys that are sent at most.
const KEYS: usize = 64;
/// Leaves whose constraints are asked for at most.
const LEAVES: usize = 32;

/// The texts of the fields that the router wants, in its order; None is NULL.
type TestValues = Vec<Option<String>>;

/// Rows chosen for the self-test, with their leaves.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    looked_at: usize,
    rows: Vec<(NodeId, TestValues)>,
    leaves: HashSet<NodeId>,
    shapes: HashSet<Vec<Option<String>>>,
}

/// The keys that were compared and agreed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelfTest {
    /// Keys that the server and the router put into the same leaf.
    pub keys: usize,
    /// Levels of partitioning that they passed.
    pub levels: usize,
}

impl Samples {
    /// Chooses among the first rows of `split`.
    pub(crate) fn of(plan: &Plan, split: &Split) -> Self {
        let mut samples = Self::default();
        let (mut reader, mut keys) = (KeyReader::default(), Fields::default());
        let mut texts = Texts::new(plan, split);
        for index in 0..split.rows.len().min(LOOKED_AT) {
            let Routed { at, .. } = reader.route_natively(plan, split, index);
            if let (Ok(leaf), Some(row)) = (at, texts.of(index)) {
                plan.parser.parse(row, &mut keys);
                samples.consider(plan, row, &keys, leaf);
            }
        }
        samples
    }

    /// Takes the row if it shows something new.
    pub(crate) fn consider(&mut self, plan: &Plan, row: &[u8], keys: &Fields, leaf: NodeId) {
        if self.looked_at == LOOKED_AT || leaf == ROOT {
            return;
        }
        self.looked_at += 1;
        // What is not UTF-8 or has too few fields the server will refuse.
        let Some(values) = values(plan, row, keys) else { return };
        let new_leaf = self.leaves.len() < TAKEN && self.leaves.insert(leaf);
        let shape = || values.iter().map(|value| value.as_deref().map(shape)).collect();
        let new_shape = self.shapes.len() < TAKEN && self.shapes.insert(shape());
        if new_leaf || new_shape {
            self.rows.push((leaf, values));
        }
    }

    /// The keys to ask about, by leaf: the rows and their variants at bounds.
    fn keys(&self, plan: &Plan) -> BTreeMap<NodeId, Vec<TestValues>> {
        let mut keys: BTreeMap<NodeId, Vec<TestValues>> = BTreeMap::new();
        let mut seen: HashSet<TestValues> = HashSet::new();
        let rows = self.rows.iter().cloned();
        let variants = self.rows.iter().flat_map(|(leaf, values)| at_bounds(plan, *leaf, values));
        for (leaf, values) in rows.chain(variants) {
            let room = keys.len() < LEAVES || keys.contains_key(&leaf);
            if seen.len() < KEYS && room && seen.insert(values.clone()) {
                keys.entry(leaf).or_default().push(values);
            }
        }
        keys
    }
}

fn values(plan: &Plan, row: &[u8], keys: &Fields) -> Option<TestValues> {
    let value = |slot| match keys.get(slot, row) {
        Value::Missing => None,
        Value::Null => Some(None),
        Value::Text(text) => String::from_utf8(text.to_vec()).ok().map(Some),
        Value::Binary(_) => None,
    };
    (0..plan.router.wanted().len()).map(value).collect()
}

/// How a value is spelled: one `0` for digits, one `a` for letters, the rest as it is.
fn shape(value: &str) -> String {
    let mut shape = String::new();
    for character in value.chars() {
        let class = match character {
            '0'..='9' => '0',
            letter if letter.is_alphabetic() => 'a',
            other => other,
        };
        if !shape.ends_with(class) {
            shape.push(class);
        }
    }
    shape
}

/// Variants of `values`, a row of `leaf`, with the values of bounds on its way down.
fn at_bounds<'p>(
    plan: &'p Plan,
    leaf: NodeId,
    values: &'p TestValues,
) -> impl Iterator<Item = (NodeId, TestValues)> + 'p {
    let way = std::iter::successors(Some(leaf), |&node| plan.tree.nodes[node].parent);
    let near = way.filter_map(|child| Some((plan.tree.nodes[child].parent?, child)));
    near.flat_map(|(node, child)| {
        let children = &plan.tree.nodes[node].children;
        let ends = [children.first(), children.last()].into_iter().flatten().copied();
        std::iter::once(child).chain(ends).map(move |child| (node, child))
    })
    .flat_map(move |(node, child)| {
        let edges = edges(plan, child).into_iter();
        edges.filter_map(move |edge| variant(plan, node, values, &edge))
    })
}

/// The tuples of values in the bound of `child`; None where a column has no value there.
fn edges(plan: &Plan, child: NodeId) -> Vec<Vec<Option<Option<String>>>> {
    let bound = plan.catalogue.facts[child].bound.as_deref().and_then(bounds::parse);
    let edge = |edge: Vec<Literal>| {
        let value = |literal| match literal {
            Literal::Value(text) => Some(Some(text)),
            Literal::MinValue | Literal::MaxValue => None,
        };
        edge.into_iter().map(value).collect()
    };
    match bound {
        Some(Literals::Range { lower, upper }) => vec![edge(lower), edge(upper)],
        Some(Literals::List(values)) => {
            values.into_iter().take(2).map(|value| vec![Some(value)]).collect()
        }
        Some(Literals::Default | Literals::Hash { .. }) | None => Vec::new(),
    }
}

/// `values` with those of `edge` in the key columns of `node`, and the leaf found for them.
fn variant(
    plan: &Plan,
    node: NodeId,
    values: &TestValues,
    edge: &[Option<Option<String>>],
) -> Option<(NodeId, TestValues)> {
    let mut values = values.clone();
    let columns = &plan.tree.nodes[node].key.as_ref()?.columns;
    for (column, value) in columns.iter().zip(edge) {
        let KeyColumn::Native { field: Some(field), .. } = column else { continue };
        let slot = plan.router.wanted().binary_search(field).ok()?;
        if let Some(value) = value {
            values[slot].clone_from(value);
        }
    }
    let texts = values.iter().map(|value| match value {
        Some(text) => Value::Text(text.as_bytes()),
        None => Value::Null,
    });
    let mut row = Vec::new();
    parse::text_row(plan.router.wanted().iter().copied().zip(texts), &mut row);
    let mut keys = Fields::default();
    Parser::new(&Format::text(), plan.router.wanted().to_vec()).parse(&row, &mut keys);
    match plan.router.route(&row, &keys, &mut Scratch::default()) {
        Route::Leaf(leaf) => Some((leaf, values)),
        Route::Ask(_) | Route::Node(..) => None,
    }
}

/// Asks the server about the samples of a load's first split.
pub(crate) async fn check(
    plan: &Plan,
    samples: &Samples,
    link: &Link,
    control: &Control,
) -> Result<()> {
    ask_over(plan, &samples.keys(plan), link, control).await.map(|_| ())
}

/// Asks the server about the samples, unless `control` stops it. An error if it puts a key
/// elsewhere than the router.
pub async fn ask(
    plan: &Plan,
    samples: &Samples,
    target: &Target,
    control: &Control,
) -> Result<SelfTest> {
    let keys = samples.keys(plan);
    if keys.is_empty() {
        return Ok(SelfTest::default());
    }
    let opening = control.stop.unless_stopped(connect::open(target));
    ask_over(plan, &keys, &opening.await.map_err(unable)?, control).await
}

async fn ask_over(
    plan: &Plan,
    keys: &BTreeMap<NodeId, Vec<TestValues>>,
    link: &Link,
    control: &Control,
) -> Result<SelfTest> {
    if keys.is_empty() {
        return Ok(SelfTest::default());
    }
    let Link { client, canceller, .. } = link;
    let asked = async {
        let leaves: Vec<_> = keys.keys().map(|&leaf| plan.catalogue.facts[leaf].oid).collect();
        // The values are read as the session reads them, the bounds exactly.
        client.batch_execute(sql::DEPARSE_SETTINGS).await?;
        let constraints = constraint::constraints(client, &leaves).await?;
        let columns = ReadColumn::of(client, plan.catalogue.facts[ROOT].oid).await?;
        client.batch_execute(sql::RESET_SETTINGS).await?;
        let leaves = keys.iter().map(|(&leaf, keys)| {
            // A leaf without one takes every row, or is no longer a partition.
            let constraint = constraints.get(&plan.catalogue.facts[leaf].oid);
            let constraint = constraint.map_or("true", String::as_str);
            ask_leaf(client, plan, leaf, constraint, &columns, keys)
        });
        try_join_all(leaves).await
    };
    let asked = canceller.unless_stopped(control, asked).await.map_err(unable)?;
    let asked: usize = asked.into_iter().sum::<Result<usize>>()?;
    let levels = keys.keys().map(|&leaf| plan.tree.depth(leaf)).max().unwrap_or(0);
    Ok(SelfTest { keys: asked, levels })
}

/// The number of keys that the server let into the leaf; the inner error is a disagreement.
async fn ask_leaf(
    client: &Client,
    plan: &Plan,
    leaf: NodeId,
    constraint: &str,
    columns: &[ReadColumn],
    keys: &[TestValues],
) -> Result<Result<usize>> {
    // Those that the table has.
    let wanted = plan.router.wanted().iter().enumerate();
    let wanted: Vec<(usize, usize)> = wanted
        .map(|(slot, &field)| (slot, field))
        .filter(|(_, field)| plan.catalogue.besides != Some(*field))
        .collect();
    let names: Vec<&str> =
        wanted.iter().map(|(_, field)| plan.catalogue.columns[*field].as_str()).collect();
    let keys: Vec<TestValues> = keys
        .iter()
        .map(|values| wanted.iter().filter_map(|(slot, _)| values.get(*slot).cloned()).collect())
        .collect();
    // Without names that are safe under any search_path the server is not asked about this leaf.
    let Some(question) = constraint::meets(constraint, columns, &names) else { return Ok(Ok(0)) };
    let statement = client.prepare(&question).await?;
    let ask = |values: &TestValues| {
        let parameters: Vec<_> =
            values.iter().map(|value| Box::new(value.clone()) as Box<dyn ToSql + Sync>).collect();
        let statement = &statement;
        async move {
            let parameters: Vec<&(dyn ToSql + Sync)> =
                parameters.iter().map(|value| &**value as _).collect();
            client.query_one(statement, &parameters).await
        }
    };
    let mut equal = 0;
    for (values, answer) in keys.iter().zip(join_all(keys.iter().map(ask)).await) {
        match answer {
            Ok(row) if row.get(0) => equal += 1,
            Ok(_) => return Ok(Err(disagreement(plan, leaf, constraint, &names, values))),
            // A value that the server refuses, or a domain: COPY will say so, with the row's place.
            Err(error) if is_about_a_value(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Ok(equal))
}

/// Data exceptions and violated constraints.
fn is_about_a_value(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| matches!(&code.code()[..2], "22" | "23"))
}

fn unable(error: Error) -> Error {
    error
        .with_detail("The self-test could not ask the server which partition the keys belong to.")
        .with_hint(
            "To load without the self-test, use "
                + option("no-self-test")
                + "; the server still checks every row's partition.",
        )
}

fn disagreement(
    plan: &Plan,
    leaf: NodeId,
    constraint: &str,
    names: &[&str],
    values: &TestValues,
) -> Error {
    let key: Vec<String> = names
        .iter()
        .zip(values)
        .map(|(name, value)| match value {
            Some(value) => format!("{name} = '{value}'"),
            None => format!("{name} is null"),
        })
        .collect();
    let relation = plan.tree.nodes[leaf].relation.label();
    let message = format!("self-test: {relation} is not the partition for {}", key.join(", "));
    Error::new(Kind::Server, message)
        .with_sqlstate("XX000")
        .with_detail(format!("Its partition constraint is: {constraint}"))
        .with_detail("No row was sent.")
        .with_hint("This is a bug in pgsluice: please report it with the detail above.")
        .with_hint(
            "To load anyway, use " + option("no-native") + ": the server then routes every row.",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_told_apart_by_their_shape() {
        assert_eq!(shape("2024-01-31"), "0-0-0");
        assert_eq!(shape("2024-01-31 12:00:00+02"), "0-0-0 0:0:0+0");
        assert_eq!(shape(" 12"), shape(" 7"));
        assert_ne!(shape("12"), shape("-12"));
    }
}
