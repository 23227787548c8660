//! `--log`: a line for each event, as text or as JSON.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pgsluice::error::{on_one_line, plain_io};
use pgsluice::{Error, Event, Events, Kind, Level, Result};
use serde_json::{Value, json};

use crate::conceal::conceal;
use crate::output::say;

/// The format of the lines.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// A log of events.
pub(crate) struct EventLog {
    out: Mutex<Box<dyn Write + Send>>,
    format: LogFormat,
    /// The name of the file, for messages.
    name: String,
    has_failed: AtomicBool,
}

impl EventLog {
    /// Opens a file to append to, or standard error.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub(crate) fn open(path: Option<&Path>, format: LogFormat) -> Result<Self> {
        let (out, name): (Box<dyn Write + Send>, _) = match path {
            None => (Box::new(io::stderr()), "standard error".to_owned()),
            Some(path) => {
                let name = format!("\"{}\"", path.display());
                let file = OpenOptions::new().create(true).append(true).open(path);
                let file = file.map_err(|error| {
                    let reason = plain_io(&error);
                    Error::new(Kind::Input, format!("could not write the log to {name}: {reason}"))
                        .with_hint("Name a file in a directory that exists and is writable.")
                })?;
                (Box::new(file), name)
            }
        };
        Ok(Self { out: Mutex::new(out), format, name, has_failed: AtomicBool::new(false) })
    }
}

impl Events for EventLog {
    fn event(&self, event: &Event<'_>) {
        let Some(line) = line(event, SystemTime::now(), self.format) else { return };
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // One write, so that lines of several processes are not mixed.
        let written = out.write_all(format!("{line}\n").as_bytes());
        if let Err(error) = written
            && !self.has_failed.swap(true, Relaxed)
        {
            let reason = plain_io(&error);
            say(&format!("warning: could not write the log to {}: {reason}", self.name));
        }
    }
}

/// Returns the line for an event, or `None` for one that only updates an earlier one.
fn line(event: &Event<'_>, time: SystemTime, format: LogFormat) -> Option<String> {
    let (name, level, fields) = describe(event)?;
    let time = rfc3339(time);
    Some(match format {
        LogFormat::Text => {
            let text = on_one_line(&conceal(&event.to_string())).into_owned();
            format!("{time} {:<7} {text}", level.to_uppercase())
        }
        LogFormat::Json => {
            let first = [("time", json!(time)), ("level", json!(level)), ("event", json!(name))];
            let all = first.into_iter().chain(fields);
            let all: Vec<String> = all.map(|(key, value)| format!("\"{key}\":{value}")).collect();
            format!("{{{}}}", all.join(","))
        }
    })
}

type EventRecord = (&'static str, &'static str, Vec<(&'static str, Value)>);

/// Returns the name of an event, its level and its keys in JSON.
fn describe(event: &Event<'_>) -> Option<EventRecord> {
    // Texts of errors may contain a connection string.
    let text = |text: &str| json!(conceal(text));
    Some(match *event {
        Event::Attempt { number } => ("attempt", "debug", vec![("number", json!(number))]),
        Event::Committed { table, rows, bytes, seconds, is_visible } => {
            let fields = vec![
                ("table", json!(table)),
                ("rows", json!(rows)),
                ("bytes", json!(bytes)),
                ("seconds", json!(seconds)),
                ("visible", json!(is_visible)),
            ];
            ("committed", "debug", fields)
        }
        Event::Rejected { sqlstate, rows } => {
            let sqlstate = Some(sqlstate).filter(|sqlstate| !sqlstate.is_empty());
            ("rejected", "info", vec![("sqlstate", json!(sqlstate)), ("rows", json!(rows))])
        }
        Event::Retry { error } => {
            let fields =
                vec![("message", text(error.message())), ("sqlstate", json!(error.sqlstate()))];
            ("retry", "warning", fields)
        }
        Event::Waiting { is_new: false, .. } => return None,
        Event::Waiting { reason, text: what, seconds, .. } => {
            let fields = vec![
                ("reason", json!(reason.name())),
                ("message", text(what)),
                ("seconds", json!(seconds)),
            ];
            ("waiting", "info", fields)
        }
        Event::Resumed { reason, seconds } => {
            let fields = vec![("reason", json!(reason.name())), ("seconds", json!(seconds))];
            ("resumed", "info", fields)
        }
        Event::Phase { name } => ("phase", "info", vec![("phase", json!(name))]),
        Event::Message { level, text: message } => {
            let (name, level) = match level {
                Level::Note => ("note", "info"),
                Level::Notice => ("notice", "info"),
                Level::Warning => ("warning", "warning"),
            };
            (name, level, vec![("message", text(message))])
        }
        Event::Finished { rows, error } => {
            let fields = vec![
                ("rows", json!(rows)),
                ("succeeded", json!(error.is_none())),
                ("message", error.map_or(Value::Null, |error| text(error.message()))),
                ("sqlstate", json!(error.and_then(|error| error.sqlstate()))),
            ];
            ("finished", if error.is_none() { "info" } else { "error" }, fields)
        }
        _ => return None,
    })
}

/// Formats a time in UTC, with milliseconds.
fn rfc3339(time: SystemTime) -> String {
    let time = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let seconds = time.as_secs();
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let millis = time.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Returns the Gregorian date that is `days` after 1970-01-01. Years are counted from March, so that the leap
/// day is the last one.
fn date(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097;
    let days = days + 719_468;
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use pgsluice::WaitReason;

    use super::*;

    #[test]
    fn times_are_in_utc() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_767_225_599, "2025-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
        assert!(rfc3339(UNIX_EPOCH + Duration::from_millis(7)).ends_with(":00.007Z"));
    }

    #[test]
    fn lines_are_json_or_text_and_hide_passwords() {
        let error = Error::new(Kind::Input, "no \"postgresql://u:secret@h/d\"\nhere");
        let event = Event::Finished { rows: 3, error: Some(&error.with_sqlstate("08006")) };
        let line_in = |format| line(&event, UNIX_EPOCH, format).expect("a line");
        assert_eq!(
            line_in(LogFormat::Json),
            "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"error\",\"event\":\"finished\",\"rows\":3,\
             \"succeeded\":false,\"message\":\"no \\\"postgresql://u:***@h/d\\\"\\nhere\",\
             \"sqlstate\":\"08006\"}"
        );
        let text = line_in(LogFormat::Text);
        assert!(text.starts_with("1970-01-01T00:00:00.000Z ERROR   failed: no "), "{text}");
        assert!(!text.contains("secret") && !text.contains('\n'), "{text}");
    }

    #[test]
    fn a_wait_is_logged_once() {
        let wait = |is_new| Event::Waiting {
            reason: WaitReason::Lag,
            text: "paused",
            seconds: 0.0,
            is_new,
        };
        assert!(line(&wait(true), UNIX_EPOCH, LogFormat::Json).is_some());
        assert!(line(&wait(false), UNIX_EPOCH, LogFormat::Json).is_none());
    }
}
