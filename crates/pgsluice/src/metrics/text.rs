//! Prometheus' text format, version 0.0.4.

use std::fmt::Write;

use super::Totals;
use super::table::{METRICS, Metric};
use crate::control::Control;

/// Returns the text of all metrics.
pub(super) fn text(totals: &Totals, control: &Control) -> String {
    let mut text = String::new();
    for Metric { name, kind, help, label, series } in &METRICS {
        let kind = kind.name();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (of, value) in series(totals, control) {
            let label = label.map(|label| format!("{{{label}=\"{}\"}}", escape(&of)));
            let _ = writeln!(text, "{name}{} {value}", label.unwrap_or_default());
        }
    }
    text
}

/// Escapes the value of a label.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Event, Events, Level, WaitReason};
    use crate::error::Error;
    use crate::metrics::Metrics;

    fn value(text: &str, series: &str) -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{series} ")));
        line.unwrap_or_else(|| panic!("{series} in {text}")).parse().expect("a number")
    }

    #[test]
    fn series_begin_at_zero() {
        let text = Metrics::default().text(&Control::default());
        for series in [
            "pgsluice_committed_rows_total",
            "pgsluice_rejected_rows_total{sqlstate=\"22P02\"}",
            "pgsluice_waiting_seconds_total{reason=\"lock\"}",
            "pgsluice_move_phase{phase=\"swap\"}",
            "pgsluice_finished",
        ] {
            assert_eq!(value(&text, series), 0.0, "{series}");
        }
        assert!(value(&text, "pgsluice_start_timestamp_seconds") > 1.7e9);
        assert!(text.starts_with("# HELP pgsluice_") && text.ends_with('\n'));
    }

    #[test]
    fn events_are_summed() {
        let (metrics, control) = (Metrics::default(), Control::default());
        for is_visible in [false, true] {
            let (table, rows, bytes, seconds) = ("public.t", 2, 9, 0.5);
            metrics.event(&Event::Committed { table, rows, bytes, seconds, is_visible });
        }
        metrics.event(&Event::Rejected { sqlstate: "XX\"\\\n", rows: 3 });
        metrics.event(&Event::Rejected { sqlstate: "", rows: 1 });
        metrics.event(&Event::Message { level: Level::Warning, text: "w" });
        metrics.event(&Event::Phase { name: "index" });
        let (error, rows) = (Error::interrupted(), 2);
        metrics.event(&Event::Retry { error: &error });
        metrics.event(&Event::Finished { rows, error: Some(&error) });
        let text = metrics.text(&control);
        for (series, expected) in [
            ("pgsluice_committed_rows_total", 2.0),
            ("pgsluice_committed_bytes_total", 9.0),
            ("pgsluice_transactions_total", 2.0),
            ("pgsluice_transaction_seconds_total", 1.0),
            ("pgsluice_rejected_rows_total{sqlstate=\"XX\\\"\\\\\\n\"}", 3.0),
            ("pgsluice_rejected_rows_total{sqlstate=\"none\"}", 1.0),
            ("pgsluice_warnings_total", 1.0),
            ("pgsluice_retries_total", 1.0),
            ("pgsluice_move_phase{phase=\"index\"}", 1.0),
            ("pgsluice_finished", 1.0),
            ("pgsluice_succeeded", 0.0),
        ] {
            assert_eq!(value(&text, series), expected, "{series}");
        }
    }

    #[test]
    fn waits_count_while_they_last() {
        let control = Control::default();
        control.has_waited(std::time::Duration::from_secs(3), WaitReason::Session, "a lock");
        let text = Metrics::default().text(&control);
        assert!(value(&text, "pgsluice_waiting_seconds_total{reason=\"lock\"}") >= 3.0);
    }
}
