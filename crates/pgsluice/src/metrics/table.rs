//! The table of all metrics. The text and the manual's page are made from it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Totals;
use crate::control::Control;
use crate::control::events::PHASES;

/// A metric.
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) kind: MetricKind,
    pub(super) help: &'static str,
    /// The name of its label, if it has one.
    pub(super) label: Option<&'static str>,
    /// Returns its series: the value of the label, and the number.
    pub(super) series: fn(&Totals, &Control) -> Vec<(String, f64)>,
}

/// The type of a metric.
#[derive(Clone, Copy, Debug)]
pub(super) enum MetricKind {
    /// A number that only increases during a run.
    Counter,
    Gauge,
}

impl MetricKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }
}

const fn counter(
    name: &'static str,
    help: &'static str,
    series: fn(&Totals, &Control) -> Vec<(String, f64)>,
) -> Metric {
    Metric { name, kind: MetricKind::Counter, help, label: None, series }
}

const fn gauge(
    name: &'static str,
    help: &'static str,
    series: fn(&Totals, &Control) -> Vec<(String, f64)>,
) -> Metric {
    Metric { name, kind: MetricKind::Gauge, help, label: None, series }
}

const fn by(label: &'static str, metric: Metric) -> Metric {
    Metric { label: Some(label), ..metric }
}

/// The reasons of waits, see [`crate::WaitReason::name`].
const REASONS: [&str; 4] = ["lock", "lag", "server", "input"];

/// All metrics.
pub(super) const METRICS: [Metric; 23] = [
    gauge(
        "pgsluice_start_timestamp_seconds",
        "Time when the run began, in seconds since 1970.",
        |totals, _| one(totals.began),
    ),
    gauge(
        "pgsluice_last_progress_timestamp_seconds",
        "Last time when the run read, sent or committed something, or entered a phase.",
        |totals, _| one(totals.last_progress),
    ),
    gauge(
        "pgsluice_last_commit_timestamp_seconds",
        "Time of the last commit whose rows others can see; 0 before the first.",
        |totals, _| one(totals.last_commit),
    ),
    gauge("pgsluice_finished", "1 if the run has ended, otherwise 0.", |totals, _| {
        flag(totals.is_finished)
    }),
    gauge(
        "pgsluice_succeeded",
        "1 if the run has ended without an error, otherwise 0.",
        |totals, _| flag(totals.has_succeeded),
    ),
    gauge("pgsluice_input_bytes", "Size of the inputs; 0 if it is unknown.", |_, control| {
        count(&control.progress.bytes_total)
    }),
    counter(
        "pgsluice_read_bytes_total",
        "Bytes read from the inputs, by all attempts.",
        |_, control| count(&control.progress.bytes_read_ever),
    ),
    counter(
        "pgsluice_read_rows_total",
        "Rows found in the inputs, by all attempts.",
        |_, control| count(&control.progress.rows_read_ever),
    ),
    gauge(
        "pgsluice_already_loaded_rows",
        "Rows of the input that earlier runs had committed, as far as they were read again.",
        |_, control| count(&control.progress.rows_already),
    ),
    gauge(
        "pgsluice_pending_rows",
        "Rows that are stored and not visible yet, in an atomic load or beside the table.",
        |_, control| count(&control.progress.rows_unseen),
    ),
    counter(
        "pgsluice_committed_rows_total",
        "Rows that are committed and visible, without rejected ones.",
        |totals, _| one(totals.rows_committed as f64),
    ),
    counter(
        "pgsluice_committed_bytes_total",
        "Bytes of these rows in the form in which they were sent.",
        |totals, _| one(totals.bytes_committed as f64),
    ),
    counter(
        "pgsluice_transactions_total",
        "Transactions with rows, and their parts in an atomic load.",
        |totals, _| one(totals.transactions as f64),
    ),
    counter(
        "pgsluice_transaction_seconds_total",
        "Duration of these transactions, summed over all connections.",
        |totals, _| one(totals.transaction_seconds),
    ),
    by(
        "sqlstate",
        counter(
            "pgsluice_rejected_rows_total",
            "Rows that were rejected, by SQLSTATE; none if the program rejected them itself.",
            |totals, _| {
                let rejected = totals.rejected.iter();
                rejected.map(|(sqlstate, &rows)| (sqlstate.clone(), rows as f64)).collect()
            },
        ),
    ),
    counter(
        "pgsluice_attempts_total",
        "Attempts at the load, or at flushes of a writer.",
        |totals, _| one(totals.attempts as f64),
    ),
    counter(
        "pgsluice_retries_total",
        "Attempts that failed and were followed by another one.",
        |totals, _| one(totals.retries as f64),
    ),
    by(
        "reason",
        counter(
            "pgsluice_waiting_seconds_total",
            "Time spent waiting: for a lock, for replicas that lag, for the server, for input.",
            |_, control| {
                let time = |reason| control.waits.time(reason).as_secs_f64();
                REASONS.iter().map(|&reason| (reason.to_owned(), time(reason))).collect()
            },
        ),
    ),
    gauge(
        "pgsluice_lag_messages",
        "Messages of a stream that are not committed yet, as of the last commit; of Kafka, or as a program reports.",
        |_, control| count(&control.progress.messages_behind),
    ),
    counter("pgsluice_warnings_total", "Warnings that were given.", |totals, _| {
        one(totals.warnings as f64)
    }),
    by(
        "phase",
        gauge(
            "pgsluice_move_phase",
            "1 for the phase that a move of a table is in, or in which it failed, otherwise 0.",
            |totals, _| {
                let is_it = |phase| totals.phase.as_deref() == Some(phase);
                let phases = PHASES.iter();
                phases.map(|&phase| (phase.to_owned(), number(is_it(phase)))).collect()
            },
        ),
    ),
    gauge("pgsluice_indexes", "Indexes that a move or an exchange builds.", |_, control| {
        count(&control.progress.indexes_total)
    }),
    gauge("pgsluice_built_indexes", "Indexes of these that are built.", |_, control| {
        count(&control.progress.indexes_built)
    }),
];

fn one(value: f64) -> Vec<(String, f64)> {
    vec![(String::new(), value)]
}

fn flag(is_set: bool) -> Vec<(String, f64)> {
    one(number(is_set))
}

fn number(is_set: bool) -> f64 {
    f64::from(u8::from(is_set))
}

fn count(number: &AtomicU64) -> Vec<(String, f64)> {
    one(number.load(Relaxed) as f64)
}

/// Returns the table of all metrics in Markdown, for the manual.
pub fn page() -> String {
    let rows = METRICS.iter().map(|Metric { name, kind, help, label, .. }| {
        let label = label.map(|label| format!("{{{label}}}")).unwrap_or_default();
        format!("| `{name}{label}` | {} | {help} |\n", kind.name())
    });
    let head = "| metric | type | meaning |\n|---|---|---|\n".to_owned();
    head + &rows.collect::<String>()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_follow_the_conventions_of_prometheus() {
        let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        for Metric { name, kind, help, .. } in &METRICS {
            assert!(name.starts_with("pgsluice_"), "{name}");
            let is_counter = matches!(kind, MetricKind::Counter);
            assert_eq!(name.ends_with("_total"), is_counter, "{name}");
            assert!(help.ends_with('.') && !help.contains(['\n', '\\', '|']), "{name}");
        }
    }
}
