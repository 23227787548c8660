//! `pgsluice tree`: draws a partition tree.

use std::sync::Arc;

use clap::Args;
use pgsluice::core::catalog::{NodeId, ROOT, label};
use pgsluice::inspect::tree::Sizes;
use pgsluice::{Control, Error, Result, Target};
use serde::{Deserialize, Serialize};

use crate::complete;
use crate::output::{bytes, group_digits, print, print_json};
use crate::signals;
use crate::target::TargetArgs;

#[derive(Args, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TreeArgs {
    /// The table, written as in SQL: orders, sales.orders, "Orders"
    #[arg(short, long, add = complete::table())]
    table: String,
    #[command(flatten)]
    #[serde(flatten)]
    target: TargetArgs,
    /// Number of levels to draw below the table [default: all]
    #[arg(long, value_name = "LEVELS", help_heading = "Output")]
    depth: Option<usize>,
    /// Print the tree or the error as one JSON object
    #[arg(long, help_heading = "Output")]
    #[serde(skip)]
    pub(crate) json: bool,
}

impl TreeArgs {
    /// Returns the tree as the object of `--json`.
    pub(crate) fn drawn(&self, control: &Control) -> Result<Drawn> {
        let sizes = self.target.with(true, |target| self.sizes(&target, control))?;
        Ok(Drawn::new(&sizes, self.levels()))
    }

    fn sizes(&self, target: &Target, control: &Control) -> Result<Sizes> {
        pgsluice::runtime()?.block_on(Sizes::read(target, &self.table, control))
    }

    fn levels(&self) -> usize {
        self.depth.unwrap_or(usize::MAX)
    }
}

/// Runs `pgsluice tree`.
pub(crate) fn run(args: &TreeArgs) -> Result<()> {
    args.target.with(args.json, |target| tree(args, &target))
}

fn tree(args: &TreeArgs, target: &Target) -> Result<()> {
    let control = Arc::default();
    let _watch = signals::stop(&control, |_| Error::interrupted())?;
    let sizes = args.sizes(target, &control)?;
    if args.json {
        return print_json(&Drawn::new(&sizes, args.levels()));
    }
    let mut lines = Vec::new();
    draw(&sizes, ROOT, "", "", args.levels(), &mut lines);
    print(&align(&lines))
}

/// The tree as JSON. A parent comes before its partitions.
#[derive(Serialize)]
pub(crate) struct Drawn {
    table: String,
    tables: Vec<TreeTable>,
}

#[derive(Serialize)]
struct TreeTable {
    table: String,
    parent: Option<String>,
    level: usize,
    is_leaf: bool,
    bound: Option<String>,
    key: Option<String>,
    rows_estimated: u64,
    is_counted: bool,
    bytes: u64,
}

impl Drawn {
    fn new(sizes: &Sizes, depth: usize) -> Self {
        let nodes = &sizes.tree.nodes;
        let name = |node: NodeId| nodes[node].relation.label();
        let parents =
            |node: NodeId| std::iter::successors(nodes[node].parent, |&it| nodes[it].parent);
        let table = |node: NodeId| {
            let (rows_estimated, is_counted) = sizes.estimated_rows(node);
            let facts = &sizes.facts[node];
            TreeTable {
                table: name(node),
                parent: nodes[node].parent.map(name),
                level: parents(node).count(),
                is_leaf: nodes[node].key.is_none(),
                bound: facts.bound.clone(),
                key: facts.key.clone(),
                rows_estimated,
                is_counted,
                bytes: sizes.bytes(node),
            }
        };
        let tables = (0..nodes.len()).map(table).filter(|table| table.level <= depth);
        Self { table: name(ROOT), tables: tables.collect() }
    }
}

/// A line of the drawing: the branch with the name, and the columns after it.
type TreeLine = (String, [String; 3]);

fn draw(
    sizes: &Sizes,
    node: NodeId,
    branch: &str,
    below: &str,
    depth: usize,
    lines: &mut Vec<TreeLine>,
) {
    let table = &sizes.tree.nodes[node];
    let facts = &sizes.facts[node];
    let name = if node == ROOT { table.relation.label() } else { label(&table.relation.name) };
    let bound = facts.bound.as_deref().map(|bound| bound.trim_start_matches("FOR VALUES "));
    let key = facts.key.as_deref().map(|key| format!("by {key}"));
    let what: Vec<&str> = [bound, key.as_deref()].into_iter().flatten().collect();
    let rows = match sizes.estimated_rows(node) {
        (0, false) => "not counted".to_owned(),
        (rows, true) => format!("~{} rows", group_digits(rows)),
        (rows, false) => format!("over {} rows", group_digits(rows)),
    };
    let columns = [what.join("  "), rows, bytes(sizes.bytes(node))];
    lines.push((format!("{branch}{name}"), columns));

    let children = &table.children;
    if depth == 0 {
        return;
    }
    for (index, &child) in children.iter().enumerate() {
        let last = index + 1 == children.len();
        let (corner, line) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let (branch, under) = (format!("{below}{corner}"), format!("{below}{line}"));
        draw(sizes, child, &branch, &under, depth - 1, lines);
    }
}

/// Aligns names and descriptions to the left, and numbers to the right.
fn align(lines: &[TreeLine]) -> String {
    let width = |of: &dyn Fn(&TreeLine) -> &str| {
        lines.iter().map(|line| of(line).chars().count()).max().unwrap_or(0)
    };
    let name = width(&|line| &line.0);
    let [what, rows, size] = [0, 1, 2].map(|column| width(&|line: &TreeLine| &line.1[column]));
    let line = |(text, [w, r, s]): &TreeLine| {
        format!("{text:name$}  {w:what$}  {r:>rows$}  {s:>size$}").trim_end().to_owned()
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}
