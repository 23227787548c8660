//! The result of a process of the program, and rules for every message and every summary.

use std::process::ExitStatus;

/// The exit status and the output of the program.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Checks that there is one message with all of `parts` in this order, and no other output except the
    /// object of `--json`.
    #[track_caller]
    pub(crate) fn fails(&self, status: i32, parts: &[&str]) -> &Self {
        assert_eq!(self.status.code(), Some(status), "{self:?}");
        let is_failure = self.stdout.starts_with("{\"error\":");
        assert!(self.stdout.is_empty() || is_failure, "{self:?}");
        let errors = self.stderr.lines().filter(|line| line.contains("error: ")).count();
        assert_eq!(errors, 1, "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        let mut rest = &*self.stderr;
        for part in parts {
            let Some((_, after)) = rest.split_once(part) else {
                panic!("{part:?} is missing or out of order in:\n{}", self.stderr);
            };
            rest = after;
        }
        self
    }

    /// Checks the message as [`Self::fails`] does, and that it reports no row in the table.
    #[track_caller]
    pub(crate) fn fails_empty(&self, parts: &[&str]) {
        self.fails(1, parts).fails(1, &["\nDETAIL:  No row of this load is in the table."]);
    }

    /// Returns the number of rows that the message reports as committed.
    #[track_caller]
    pub(crate) fn committed(&self) -> u64 {
        let line = self.stderr.lines().find(|line| line.contains(" of this load "));
        let line = line.unwrap_or_else(|| panic!("nothing about the table in:\n{}", self.stderr));
        counted(line.trim_start_matches("DETAIL:  "))
    }

    /// Returns the number of rows that the message reports as possibly committed.
    #[track_caller]
    pub(crate) fn in_doubt(&self) -> u64 {
        self.stderr
            .lines()
            .filter(|line| line.contains(" more may be in the table: "))
            .find_map(|line| line.strip_prefix("DETAIL:  "))
            .map_or(0, counted)
    }

    /// Returns the summary of a successful load, after checking its sums.
    #[track_caller]
    pub(crate) fn summary(&self) -> serde_json::Value {
        self.summary_of(0)
    }

    /// Returns the summary of a load that ended with this status.
    #[track_caller]
    pub(crate) fn summary_of(&self, status: i32) -> serde_json::Value {
        assert_eq!(self.status.code(), Some(status), "{self:?}");
        let summary: serde_json::Value = serde_json::from_str(&self.stdout).unwrap();
        let get = |name: &str| summary[name].as_u64().unwrap();
        let sum = if summary["on_conflict"] == "error" {
            let parts = ["rows_loaded", "rows_rejected", "rows_dropped", "rows_already_loaded"];
            parts.map(get).iter().sum::<u64>()
        } else {
            let row_counts = summary["counts"].as_object().unwrap().values();
            row_counts.map(|rows| rows.as_u64().unwrap()).sum()
        };
        assert_eq!(get("rows_read"), sum, "{summary}");
        let first_row = ["seconds", "cpu_seconds"].map(|time| summary["first_row"][time].as_f64());
        match first_row {
            [Some(wall), Some(cpu)] => {
                let seconds = summary["seconds"].as_f64().unwrap();
                assert!(0.0 < cpu && 0.0 < wall && wall <= seconds, "{summary}");
            }
            _ => {
                // Rows may have been rejected by an earlier run.
                let sent = get("rows_loaded");
                assert!(summary["first_row"].is_null() && sent == 0, "{summary}");
            }
        }
        summary
    }
}

/// Returns the number of rows at the beginning of a sentence.
#[track_caller]
fn counted(sentence: &str) -> u64 {
    let number = sentence.split(' ').next().unwrap();
    if number == "No" { 0 } else { number.replace(',', "").parse().unwrap() }
}
