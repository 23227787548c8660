//! `pgsluice plan`: the steps of a load, and the reasons for them.

use std::sync::Arc;

use clap::Args;
use pgsluice::core::catalog::{KeyColumn, NodeId, Tree};
use pgsluice::core::format::{Format, Syntax};
use pgsluice::counts::summary::Fallback;
use pgsluice::inspect::leaves::{self, Leaves};
use pgsluice::inspect::preview::Preview;
use pgsluice::inspect::selftest::{self, SelfTest};
use pgsluice::inspect::trial::{self, Trial};
use pgsluice::job::Job;
use pgsluice::partitions::{self, Missing};
use pgsluice::plan::Plan;
use pgsluice::plan::eligible::Eligible;
use pgsluice::source::FileFormat;
use pgsluice::{Control, Error, Result, Target};
use serde::Deserialize;

use crate::changes::ChangeArgs;
use crate::exchange::{ExchangeName, exchange};
use crate::options::{InputArgs, ReadingArgs};
use crate::output::{bytes, count, group_digits, print, print_json, say};
use crate::plan_json::{Report, notes};
use crate::signals;
use crate::spec::{Given, text};
use crate::speed::SpeedArgs;
use crate::target::TargetArgs;

/// Number of leaves that are listed by name; the rest are summed up.
const LISTED: usize = 10;

#[derive(Args, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    #[serde(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    #[serde(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    #[serde(flatten)]
    changes: ChangeArgs,
    #[command(flatten)]
    #[serde(flatten)]
    speed: SpeedArgs,
    /// Read all rows, and print the DDL of the partitions that they need and the table lacks
    #[arg(long, help_heading = "Plan")]
    full: bool,
    /// Plan load --exchange: show which leaves are swapped in
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "try",
          value_name = "require|replace", help_heading = "Plan")]
    #[serde(deserialize_with = "exchange")]
    exchange: Option<ExchangeName>,
    /// Plan load --atomic
    #[arg(long, help_heading = "Plan")]
    atomic: bool,
    /// Width of new range partitions: month, day, "7 days", 1000 [default: that of their siblings]
    #[arg(long, value_name = "STEP", help_heading = "Plan")]
    #[serde(deserialize_with = "text")]
    step: Option<String>,
    /// Print the plan or the error as one JSON object
    #[arg(long, help_heading = "Output")]
    #[serde(skip)]
    pub(crate) json: bool,
}

/// The facts about a load before it begins.
struct PlannedLoad {
    /// Its job, after its inputs were opened.
    job: Job,
    plan: Plan,
    missing: Missing,
    trial: Trial,
    self_test: Option<SelfTest>,
}

impl PlanArgs {
    /// Builds the job from the arguments.
    fn job(&self) -> Result<Job> {
        Given("step", self.step.is_some()).requires(&Given("full", self.full))?;
        Given("atomic", self.atomic).excludes(&Given("exchange", self.exchange.is_some()))?;
        let changes = self.changes.options()?;
        self.input.job(&self.reading, |job| {
            job.changes = changes;
            self.speed.set(job);
            job.target.step.clone_from(&self.step);
            job.safety.exchange = self.exchange.map(Into::into);
            job.safety.atomic = self.atomic;
        })
    }

    /// Returns the plan as the object of `--json`.
    pub(crate) fn report(&self, control: &Arc<Control>) -> Result<Report> {
        let job = self.job()?;
        let plan = |target| self.plan(&job, &target, control);
        self.target.with(true, plan)?.report(self.full)
    }

    /// Returns the leaf of each row.
    pub(crate) fn leaves(&self, control: &Arc<Control>) -> Result<Leaves> {
        let job = self.job()?;
        self.target.with(true, |target| leaves::find(&job, &target, control))
    }

    fn plan(&self, job: &Job, target: &Target, control: &Arc<Control>) -> Result<PlannedLoad> {
        let job = job.open(target, control)?;
        let runtime = pgsluice::runtime()?;
        let plan = runtime.block_on(Plan::make(&job, target, control))?;
        let missing = if self.full {
            partitions::find(&job, &plan, target, control)?
        } else {
            let preview = Preview::sample(&job, &plan, target, control)?;
            Missing { preview, ..Missing::default() }
        };
        let preview = &missing.preview;
        let lacks = !missing.partitions.is_empty() || !missing.impossible.is_empty();
        let trial = match self.full && lacks {
            true => Trial::Untried("partitions are missing".to_owned()),
            false => runtime.block_on(trial::try_rows(&job, &plan, preview, target, control))?,
        };
        let self_test = match job.safety.self_test {
            true => {
                let ask = selftest::ask(&plan, &preview.samples, target, control);
                Some(runtime.block_on(ask)?)
            }
            false => None,
        };
        Ok(PlannedLoad { job, plan, missing, trial, self_test })
    }
}

impl PlannedLoad {
    /// Returns the object of `--json`, or the error with which the load would fail.
    fn report(self, full: bool) -> Result<Report> {
        let Self { job, plan, missing, trial, self_test } = self;
        match trial {
            Trial::Fails(error) => Err(error),
            _ => Ok(Report::new(full, &job, &plan, &missing, self_test)),
        }
    }
}

/// Runs `pgsluice plan`.
pub(crate) fn run(args: &PlanArgs) -> Result<()> {
    let job = args.job()?;
    args.target.with(args.json, |target| plan(args, &job, &target))
}

fn plan(args: &PlanArgs, job: &Job, target: &Target) -> Result<()> {
    let control = Arc::default();
    let _watch = signals::stop(&control, |_| Error::interrupted())?;
    let planned = args.plan(job, target, &control)?;
    if args.json {
        return print_json(&planned.report(args.full)?);
    }
    let PlannedLoad { job, plan, missing, trial, self_test } = &planned;
    let preview = &missing.preview;
    let mut lines = Vec::new();
    describe_table(plan, &mut lines);
    describe_input(job, plan, &mut lines);
    if let Trial::Fails(error) = trial {
        print(&lines.join("\n"))?;
        return Err(error.clone());
    }
    describe_sample(plan, preview, args.full, &mut lines);
    if preview.rows > 0 {
        describe_trial(trial, &mut lines);
        describe_fallbacks(plan, preview, args.full, &mut lines);
    }
    lines.extend(self_test.filter(|_| preview.rows > 0).map(describe_self_test));
    describe_missing(missing, &mut lines);
    print(&lines.join("\n"))?;
    if preview.rows == 0 {
        say("warning: the input has no rows");
    }
    Ok(())
}

fn describe_trial(trial: &Trial, lines: &mut Vec<String>) {
    if let Trial::Untried(why) = trial {
        lines.push(format!("untried  these rows were not tried on the server: {why}"));
    }
}

fn describe_table(plan: &Plan, lines: &mut Vec<String>) {
    let root = &plan.tree.nodes[0];
    let leaves = plan.tree.leaves().count() as u64;
    let leaves = count(leaves, "leaf", "leaves");
    lines.push(format!("table    {}, {leaves}", root.relation.label()));
    for (index, (key, tables)) in keys(&plan.tree, plan).iter().enumerate() {
        let label = if index == 0 { "keys     " } else { "         " };
        lines.push(format!("{label}{key}  ({})", count(*tables, "table", "tables")));
    }
}

/// Returns the distinct keys of the tree from the root down, and the number of tables with each.
pub(crate) fn keys(tree: &Tree, plan: &Plan) -> Vec<(String, u64)> {
    let mut keys: Vec<(String, u64)> = Vec::new();
    for (node, facts) in tree.nodes.iter().zip(&plan.catalogue.facts) {
        let (Some(key), Some(definition)) = (&node.key, &facts.key) else { continue };
        let has = |kind: fn(&KeyColumn) -> bool| key.columns.iter().any(kind);
        let lane = if has(|column| matches!(column, KeyColumn::Opaque { .. })) {
            "slow lane"
        } else if has(|column| matches!(column, KeyColumn::Asked { .. })) {
            "the server is asked"
        } else {
            "routed natively"
        };
        let text = format!("{definition}: {lane}");
        match keys.iter_mut().find(|(known, _)| *known == text) {
            Some((_, tables)) => *tables += 1,
            None => keys.push((text, 1)),
        }
    }
    keys
}

fn describe_input(job: &Job, plan: &Plan, lines: &mut Vec<String>) {
    let Format { delimiter, null, syntax } = &plan.shape.format;
    let name = match syntax {
        Syntax::Text => "text",
        Syntax::Csv { .. } => "csv",
    };
    let null = String::from_utf8_lossy(null);
    let delimiter = char::from(*delimiter).escape_default();
    lines.push(match (job.input.file_format, job.input.files.first()) {
        (FileFormat::Delimited, _) => {
            format!("input    format {name}, delimiter '{delimiter}', null '{null}'")
        }
        (FileFormat::Table, Some(table)) => format!("input    table {}", table.name),
        (format, _) => format!("input    format {}", format.name()),
    });
    lines.extend(notes(job, plan).map(|note| format!("         {note}")));
    lines.push(format!("columns  {}", plan.catalogue.columns.join(", ")));
    let wire = if plan.encoder.is_some() { "binary" } else { "text" };
    lines.push(format!("wire     {wire}"));
    let jobs = plan.jobs(job);
    lines.push(format!(
        "load     {}, {} of memory",
        count(jobs as u64, "connection", "connections"),
        bytes(job.speed.memory as u64)
    ));
    lines.push("ledger   receipts in schema pgsluice, which the first load creates".to_owned());
    if job.safety.atomic {
        lines.push("atomic   one transaction".to_owned());
    }
    if let Some(changes) = &plan.changes {
        lines.push(format!("change   {}", changes.words(job.safety.atomic)));
    }
    if let Some(exchange) = &plan.exchange {
        lines.push(format!("exchange {}", exchangeable(exchange)));
    }
}

/// Describes the leaves that can be exchanged.
fn exchangeable(eligible: &Eligible) -> String {
    let number = eligible.leaves.len() as u64;
    match eligible.replaces() {
        true => format!(
            "{} can be replaced ({} with rows), and those that the input has rows for will be",
            count(number, "leaf", "leaves"),
            eligible.filled.len()
        ),
        false => format!(
            "{} can be built beside the table and swapped in",
            count(number, "empty leaf", "empty leaves")
        ),
    }
}

fn describe_sample(plan: &Plan, preview: &Preview, full: bool, lines: &mut Vec<String>) {
    let routed: u64 = preview.leaves.values().sum();
    let leaves = count(preview.leaves.len() as u64, "leaf", "leaves");
    if preview.rows == 0 {
        lines.push("sample   no rows".to_owned());
        return;
    }
    let mut sample = format!(
        "{} {}, ",
        if full { "rows    " } else { "sample  " },
        count(preview.rows, "row", "rows")
    );
    match preview.rows - routed {
        0 => sample.push_str(&format!("all routed to {leaves}")),
        left => sample.push_str(&format!(
            "{} routed to {leaves}; {} left to the server",
            group_digits(routed),
            group_digits(left)
        )),
    }
    lines.push(sample);
    let mut leaves: Vec<(&NodeId, &u64)> = preview.leaves.iter().collect();
    leaves.sort_by_key(|&(leaf, rows)| (std::cmp::Reverse(rows), leaf));
    for (leaf, rows) in leaves.iter().take(LISTED) {
        let relation = plan.tree.nodes[**leaf].relation.label();
        lines.push(format!("         {relation}: {}", count(**rows, "row", "rows")));
    }
    if leaves.len() > LISTED {
        let rest: u64 = leaves[LISTED..].iter().map(|(_, rows)| **rows).sum();
        let (more, rows) = (leaves.len() - LISTED, count(rest, "row", "rows"));
        lines.push(format!("         and {more} more: {rows}"));
    }
}

fn describe_fallbacks(plan: &Plan, preview: &Preview, full: bool, lines: &mut Vec<String>) {
    let of = if full { "" } else { " of the sample" };
    let fallbacks = preview.fallbacks(plan);
    if fallbacks.is_empty() {
        lines.push(format!("direct   every row{of} goes straight to its leaf"));
    }
    lines.extend(fallbacks.iter().map(|Fallback { what, why, rows }| match rows {
        0 => format!("fallback {what}: {why}"),
        rows => format!("fallback {what}: {why}: {}{of}", count(*rows, "row", "rows")),
    }));
}

fn describe_self_test(SelfTest { keys, levels }: SelfTest) -> String {
    match keys {
        0 => "self-test: no row was routed to a leaf".to_owned(),
        _ => format!(
            "self-test: {}, {}: equal",
            count(keys as u64, "key", "keys"),
            count(levels as u64, "level", "levels")
        ),
    }
}

/// Describes the missing partitions, followed by the statements that create them, ready for psql.
fn describe_missing(missing: &Missing, lines: &mut Vec<String>) {
    for (table, why, rows) in &missing.impossible {
        let rows = count(*rows, "row", "rows");
        lines.push(format!("missing  partitions of {table}: {rows}; cannot be created: {why}"));
    }
    for partition in &missing.partitions {
        let rows = count(partition.rows, "row", "rows");
        lines.push(format!("missing  {}: {rows}", partition.relation.label()));
    }
    let statements = missing.partitions.iter().flat_map(|partition| &partition.ddl);
    lines.extend(statements.map(|statement| format!("{statement};")));
}
