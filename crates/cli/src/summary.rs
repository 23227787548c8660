//! The summary of a load as text: destinations of rows, and work that was not done by the fastest method.

use pgsluice::counts::summary::{Fallback, Summary};
use pgsluice::error::on_one_line;
use pgsluice::job::{OnConflict, RejectPlace, Rejects, log_of};
use pgsluice::row_counts::RowCounts;

use crate::output::{bytes, count, group_digits};

/// Formats the summary in a few lines.
pub(crate) fn text(summary: &Summary, rejects: Option<&Rejects>) -> String {
    if summary.already_finished {
        return describe_finished(summary);
    }
    let Summary { seconds, .. } = summary;
    let may_conflict = summary.on_conflict != OnConflict::Error.name();
    let (rows, done) = match may_conflict {
        true => (summary.rows_read, "applied to"),
        false => (summary.rows_loaded, "loaded into"),
    };
    let rate = rows as f64 / seconds.max(0.001);
    let throughput = summary.bytes_read as f64 / seconds.max(0.001);
    let mut text = format!(
        "{} ({}) {done} {} in {seconds:.2} s: {} rows/s, {}/s",
        count(rows, "row", "rows"),
        bytes(summary.bytes_read),
        summary.table,
        group_digits(rate as u64),
        bytes(throughput as u64),
    );
    if may_conflict {
        text.push_str(&format!("\n  {}", row_counts(&summary.counts)));
    }
    if summary.rows_already_loaded > 0 {
        let rows = count(summary.rows_already_loaded, "row", "rows");
        text.push_str(&format!("\n  {rows} of load {} already loaded", summary.load_id));
    }
    text.push_str(&ways(summary));
    summary.notes.iter().for_each(|note| text.push_str(&format!("\n  {}", on_one_line(note))));
    if summary.exchanged > 0 {
        let leaves = count(summary.exchanged as u64, "leaf", "leaves");
        text.push_str(&format!("\n  {leaves} built beside the table and swapped in"));
        if summary.replaced > 0 {
            let replaced = count(summary.replaced as u64, "leaf", "leaves");
            text.push_str(&format!("; the old rows of {replaced} were dropped"));
        }
    }
    if !summary.partitions_created.is_empty() {
        text.push_str(&format!("\n  created: {}", summary.partitions_created.join(", ")));
    }
    if let Some(rejects) = rejects.filter(|_| summary.rows_rejected > 0) {
        let rows = count(summary.rows_rejected, "row", "rows");
        let kept = match &rejects.place {
            RejectPlace::File(file) => {
                let log = log_of(file);
                format!("{}, and the reasons in {}", file.display(), log.display())
            }
            RejectPlace::Table(table) => format!("table {table}"),
        };
        text.push_str(&format!("\n  {rows} rejected: see {kept}"));
    }
    if summary.rows_dropped > 0 {
        let rows = count(summary.rows_dropped, "row", "rows");
        text.push_str(&format!("\n  {rows} not stored: a trigger of the table dropped them"));
    }
    if !summary.is_small() {
        text.push_str(&fallbacks(&summary.fallbacks));
    }
    text
}

/// Returns a line for each fallback.
pub(crate) fn fallbacks(fallbacks: &[Fallback]) -> String {
    let line = |Fallback { what, why, rows }: &Fallback| {
        let number =
            if *rows > 0 { format!(": {}", count(*rows, "row", "rows")) } else { String::new() };
        format!("\n  fallback: {what}: {why}{number}")
    };
    fallbacks.iter().map(line).collect()
}

/// Formats the counts that are not 0, with their names.
pub(crate) fn row_counts(counts: &RowCounts) -> String {
    let known = counts.by_name().into_iter().filter(|(_, rows)| *rows > 0);
    let known: Vec<String> = known
        .map(|(name, rows)| format!("{} {}", group_digits(rows), name.replace('_', " ")))
        .collect();
    if known.is_empty() { "no row".to_owned() } else { known.join(", ") }
}

/// Describes how the rows were routed.
fn ways(summary: &Summary) -> String {
    let Summary { leaves, jobs, lanes, .. } = summary;
    if summary.rows_read == 0 {
        return String::new();
    }
    let jobs = count(*jobs as u64, "connection", "connections");
    if summary.is_small() {
        return format!("\n  in one COPY by {jobs}, which is fastest for so few rows");
    }
    let leaves = count(*leaves as u64, "leaf", "leaves");
    let native = count(lanes.routed_natively, "row", "rows");
    let mut text = format!("\n  {leaves} by {jobs}, {native} routed natively");
    for (rows, how) in [
        (lanes.routed_by_query, "routed by keys that the server evaluated"),
        (lanes.routed_by_server, "left to the server"),
    ] {
        if rows > 0 {
            text.push_str(&format!(", {} {how}", group_digits(rows)));
        }
    }
    text
}

/// Describes a load that was finished earlier, from the ledger.
fn describe_finished(summary: &Summary) -> String {
    let rows = count(summary.rows_already_loaded, "row", "rows");
    let mut text = format!(
        "load {} has already finished: {rows} loaded into {}; nothing was done",
        summary.load_id, summary.table
    );
    for (rows, what) in [
        (summary.rows_rejected, "rejected in that load"),
        (summary.rows_dropped, "not stored in that load: a trigger of the table dropped them"),
    ] {
        if rows > 0 {
            text.push_str(&format!("\n  {} {what}", count(rows, "row", "rows")));
        }
    }
    text
}
