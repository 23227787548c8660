//! The self-test: before any row is sent, the server says which leaves some keys belong to, and the router
//! must agree.
//!
//! The keys come from the first rows that reach a new leaf or have a new spelling. Variants of them have the
//! values of bounds on the levels that they pass. The keys are sent as the text of the input, so that the
//! server's input functions read the spelling. A disagreement refuses the load. It would be unknown which
//! other keys are wrong, and leaving the level to the server would hide the bug.

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

/// Number of rows that are examined.
const LOOKED_AT: usize = 2_000;
/// Number of rows that are taken because their leaf is new, and of those that are taken because their
/// spelling is new.
const SAMPLES_OF_EACH: usize = 12;
/// Maximum number of keys that are sent.
const KEYS: usize = 64;
/// Maximum number of leaves whose constraints are read.
const LEAVES: usize = 32;

/// The texts of the fields that the router wants, in its order; `None` is NULL.
type TestValues = Vec<Option<String>>;

/// Rows chosen for the self-test, with their leaves.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    looked_at: usize,
    rows: Vec<(NodeId, TestValues)>,
    leaves: HashSet<NodeId>,
    shapes: HashSet<Vec<Option<String>>>,
}

/// The keys that were compared, and on which the server and the router agreed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelfTest {
    /// The number of keys.
    pub keys: usize,
    /// The number of levels of partitioning that they passed.
    pub levels: usize,
}

impl Samples {
    /// Chooses among the first rows of `split`.
    pub(crate) fn choose(plan: &Plan, split: &Split) -> Self {
        let mut samples = Self::default();
        let (mut reader, mut keys) = (KeyReader::default(), Fields::default());
        let mut texts = Texts::new(plan, split);
        for index in 0..split.rows.len().min(LOOKED_AT) {
            let Routed { at, .. } = reader.route_natively(plan, split, index);
            if let (Ok(leaf), Some(row)) = (at, texts.get(index)) {
                plan.parser.parse(row, &mut keys);
                samples.consider(plan, row, &keys, leaf);
            }
        }
        samples
    }

    /// Takes the row if its leaf or spelling is new.
    pub(crate) fn consider(&mut self, plan: &Plan, row: &[u8], keys: &Fields, leaf: NodeId) {
        if self.looked_at == LOOKED_AT || leaf == ROOT {
            return;
        }
        self.looked_at += 1;
        // The server will refuse values that are not UTF-8, and rows with too few fields.
        let Some(values) = values(plan, row, keys) else { return };
        let new_leaf = self.leaves.len() < SAMPLES_OF_EACH && self.leaves.insert(leaf);
        let shape = || values.iter().map(|value| value.as_deref().map(shape)).collect();
        let new_shape = self.shapes.len() < SAMPLES_OF_EACH && self.shapes.insert(shape());
        if new_leaf || new_shape {
            self.rows.push((leaf, values));
        }
    }

    /// Returns the keys to ask about, by leaf: the rows and their variants at bounds.
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
    (0..plan.router.wanted_fields().len()).map(value).collect()
}

/// Returns the pattern of a value: `0` for a run of digits, `a` for a run of letters, and any other character
/// itself.
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

/// Returns variants of `values`, a row of `leaf`, with the values of bounds on its path from the root.
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

/// Returns the tuples of values in the bound of `child`; `None` for a column without a value.
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

/// Returns `values` with the key columns of `node` taken from `edge`, and the leaf for them.
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
        let slot = plan.router.wanted_fields().binary_search(field).ok()?;
        if let Some(value) = value {
            values[slot].clone_from(value);
        }
    }
    let texts = values.iter().map(|value| match value {
        Some(text) => Value::Text(text.as_bytes()),
        None => Value::Null,
    });
    let mut row = Vec::new();
    parse::text_row(plan.router.wanted_fields().iter().copied().zip(texts), &mut row);
    let mut keys = Fields::default();
    Parser::new(&Format::text(), plan.router.wanted_fields().to_vec()).parse(&row, &mut keys);
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

/// Asks the server about the samples, unless `control` stops it. Fails if the server assigns a key to another
/// leaf than the router.
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
        // The values are read with the settings of the session, and the bounds are deparsed exactly.
        client.batch_execute(sql::DEPARSE_SETTINGS).await?;
        let constraints = constraint::constraints(client, &leaves).await?;
        let columns = ReadColumn::read_all(client, plan.catalogue.facts[ROOT].oid).await?;
        client.batch_execute(sql::RESET_SETTINGS).await?;
        let leaves = keys.iter().map(|(&leaf, keys)| {
            // A leaf without a constraint accepts every row, or is no longer a partition.
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

/// Returns the number of keys that the leaf accepts. The inner error is a disagreement.
async fn ask_leaf(
    client: &Client,
    plan: &Plan,
    leaf: NodeId,
    constraint: &str,
    columns: &[ReadColumn],
    keys: &[TestValues],
) -> Result<Result<usize>> {
    // The fields that are columns of the table.
    let wanted = plan.router.wanted_fields().iter().enumerate();
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
    // If the names in the constraint are not safe under any search_path, the server is not asked about this
    // leaf.
    let Some(question) = constraint::satisfaction_query(constraint, columns, &names) else {
        return Ok(Ok(0));
    };
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
            // The server or a domain refuses the value. COPY will report it, with the location of the row.
            Err(error) if is_about_a_value(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Ok(equal))
}

/// Whether the error is a data exception or a violated constraint.
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
