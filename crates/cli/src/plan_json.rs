//! The plan as the object of `--json`.

use pgsluice::core::catalog::{NodeId, ROOT};
use pgsluice::core::format::{Format, Syntax};
use pgsluice::counts::summary::Fallback;
use pgsluice::inspect::selftest::SelfTest;
use pgsluice::inspect::statistics;
use pgsluice::job::Job;
use pgsluice::partitions::Missing;
use pgsluice::plan::Plan;
use pgsluice::source::{ExtraNames, FileFormat};
use serde::Serialize;

/// The steps of a load.
#[derive(Serialize)]
pub(crate) struct Report {
    table: String,
    leaves: usize,
    columns: Vec<String>,
    format: &'static str,
    delimiter: String,
    null: String,
    notes: Vec<String>,
    #[serde(flatten)]
    extra: ExtraNames,
    wire: &'static str,
    jobs: usize,
    memory: usize,
    exchangeable: Option<usize>,
    change: Option<String>,
    is_full: bool,
    rows: u64,
    rows_routed: u64,
    rows_by_leaf: Vec<RowsOfTable>,
    fallbacks: Vec<Fallback>,
    self_test: Option<Tested>,
    missing: Vec<MissingPartition>,
    impossible: Vec<Fallback>,
}

#[derive(Serialize)]
struct RowsOfTable {
    table: String,
    rows: u64,
}

#[derive(Serialize)]
struct Tested {
    keys: usize,
    levels: usize,
}

#[derive(Serialize)]
struct MissingPartition {
    table: String,
    rows: u64,
    ddl: Vec<String>,
}

impl Report {
    pub(crate) fn new(
        is_full: bool,
        job: &Job,
        plan: &Plan,
        missing: &Missing,
        self_test: Option<SelfTest>,
    ) -> Self {
        let Missing { preview, partitions, impossible } = missing;
        let Format { delimiter, null, syntax } = &plan.shape.format;
        let name = |node: NodeId| plan.tree.nodes[node].relation.label();
        let by_leaf = preview.leaves.iter();
        let missing = partitions.iter().map(|partition| MissingPartition {
            table: partition.relation.label(),
            rows: partition.rows,
            ddl: partition.ddl.clone(),
        });
        let impossible = impossible.iter().map(|(what, why, rows)| Fallback {
            what: what.clone(),
            why: why.clone(),
            rows: *rows,
        });
        Self {
            table: name(ROOT),
            leaves: plan.tree.leaves().count(),
            columns: plan.catalogue.columns.clone(),
            format: match job.input.file_format {
                FileFormat::Delimited if *syntax == Syntax::Text => "text",
                FileFormat::Delimited => "csv",
                format => format.name(),
            },
            delimiter: char::from(*delimiter).to_string(),
            null: String::from_utf8_lossy(null).into_owned(),
            notes: notes(job, plan).collect(),
            extra: plan.extra_names(),
            wire: if plan.encoder.is_some() { "binary" } else { "text" },
            jobs: plan.jobs(job),
            memory: job.speed.memory,
            exchangeable: plan.exchange.as_ref().map(|eligible| eligible.leaves.len()),
            change: plan.changes.as_ref().map(|changes| changes.words(job.safety.atomic)),
            is_full,
            rows: preview.rows,
            rows_routed: preview.leaves.values().sum(),
            rows_by_leaf: by_leaf
                .map(|(&leaf, &rows)| RowsOfTable { table: name(leaf), rows })
                .collect(),
            fallbacks: preview.fallbacks(plan),
            self_test: self_test.map(|SelfTest { keys, levels }| Tested { keys, levels }),
            missing: missing.collect(),
            impossible: impossible.collect(),
        }
    }
}

/// Returns notes about the input, and warnings that a load would print.
pub(crate) fn notes(job: &Job, plan: &Plan) -> impl Iterator<Item = String> {
    let warnings = job.input.files.warnings().to_vec();
    let notes = plan.notes(job).into_iter().chain(warnings).chain(statistics::note(job, plan));
    notes.chain(plan.extra_note())
}
