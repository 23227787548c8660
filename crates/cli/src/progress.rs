//! The progress display of a load: a bar on a terminal, and otherwise a line at intervals.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pgsluice::control::Control;
use pgsluice::error::{printable, quote_shell};

use crate::output::{bytes, group_digits, say};

const BAR: &str = "{wide_bar} {percent:>3}%  {msg}";
/// The template for a terminal without room for both.
const NARROW: &str = "{percent:>3}%  {wide_msg}";
/// Minimum width of a terminal for a bar.
const WIDE: u16 = 70;
const SPINNER: &str = "{spinner} {msg}";
const REDRAW: Duration = Duration::from_millis(200);
/// Interval between two lines without a terminal.
const LINE: Duration = Duration::from_secs(10);

/// Shows the progress of a load until `done`. Once rows are committed, prints the id with which it can be
/// resumed.
pub(crate) fn watch(control: &Control, done: &AtomicBool, id: Option<&str>) {
    let began = Instant::now();
    let mut notices = Notices { control, id };
    if std::io::stderr().is_terminal() {
        bar(control, done, began, &mut notices);
    } else {
        lines(control, done, began, &mut notices);
    }
}

/// Notices that are printed beside the progress.
struct Notices<'a> {
    control: &'a Control,
    /// The id, until it is printed.
    id: Option<&'a str>,
}

impl Notices<'_> {
    fn take(&mut self, is_done: bool) -> Vec<String> {
        let mut notices = self.control.progress.take_notices();
        if !is_done
            && self.control.progress.rows_loaded.load(Relaxed) > 0
            && let Some(id) = self.id.take()
        {
            notices.push(format!(
                "if this load is stopped, resume it with --load-id {}",
                quote_shell(id)
            ));
        }
        notices
    }
}

fn bar(control: &Control, done: &AtomicBool, began: Instant, notices: &mut Notices<'_>) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    while !done.load(Relaxed) {
        let state = BarState::new(control, began);
        let is_wide = Term::stderr().size().1 >= WIDE;
        let template = match (state.total, is_wide) {
            (0, _) => SPINNER,
            (_, true) => BAR,
            (_, false) => NARROW,
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸ "));
        }
        bar.set_length(state.total);
        bar.set_position(state.bytes);
        bar.set_message(printable(&state.text(is_wide)).into_owned());
        for notice in notices.take(done.load(Relaxed)) {
            bar.suspend(|| say(&notice));
        }
        bar.tick();
        thread::park_timeout(REDRAW);
    }
    bar.finish_and_clear();
    notices.take(true).iter().for_each(|notice| say(notice));
}

fn lines(control: &Control, done: &AtomicBool, began: Instant, notices: &mut Notices<'_>) {
    let mut next = LINE;
    while !done.load(Relaxed) {
        thread::park_timeout(next.saturating_sub(began.elapsed()).min(REDRAW));
        notices.take(done.load(Relaxed)).iter().for_each(|notice| say(notice));
        if began.elapsed() >= next && !done.load(Relaxed) {
            let state = BarState::new(control, began);
            let percent = match state.total {
                0 => String::new(),
                total => format!("{:.0} %, ", 100.0 * state.bytes as f64 / total as f64),
            };
            say(&format!("{percent}{}", state.text(true)));
            next += LINE;
        }
    }
}

/// The progress of the load, in bytes of the input whose rows are committed, as an estimate.
struct BarState {
    total: u64,
    bytes: u64,
    rows: u64,
    /// The number of indexes that are built, and of all indexes, after their creation began.
    indexes: (u64, u64),
    /// The condition that the load waits for before it begins.
    waiting_for: Option<String>,
    seconds: f64,
}

impl BarState {
    fn new(control: &Control, began: Instant) -> Self {
        let get = |number: &AtomicU64| number.load(Relaxed);
        let read = get(&control.progress.rows_read);
        let rows = [
            &control.progress.rows_loaded,
            &control.progress.rows_unseen,
            &control.progress.rows_already,
            // They are done too; otherwise the estimated time would grow.
            &control.progress.rows_rejected,
        ];
        let rows = rows.map(get).iter().sum::<u64>();
        let share = if read == 0 { 0.0 } else { rows.min(read) as f64 / read as f64 };
        Self {
            total: get(&control.progress.bytes_total),
            bytes: (get(&control.progress.bytes_read) as f64 * share) as u64,
            rows,
            indexes: (get(&control.progress.indexes_built), get(&control.progress.indexes_total)),
            waiting_for: control.progress.waiting_for(),
            seconds: began.elapsed().as_secs_f64().max(0.001),
        }
    }

    /// Formats the full state in a line of 70 columns, or the rows and the time left in a line of 40.
    fn text(&self, is_wide: bool) -> String {
        if let Some(what) = &self.waiting_for {
            return what.clone();
        }
        if let (built, total @ 1..) = self.indexes {
            return format!("{} rows  {built} of {total} indexes built", group_digits(self.rows));
        }
        let rows_per_second = self.rows as f64 / self.seconds;
        let bytes_per_second = self.bytes as f64 / self.seconds;
        let mut text = format!("{} rows", group_digits(self.rows));
        if is_wide {
            let (rows, bytes) =
                (group_digits(rows_per_second as u64), bytes(bytes_per_second as u64));
            text.push_str(&format!("  {rows} rows/s  {bytes}/s"));
        }
        if self.total > 0 && self.bytes > 0 {
            let left = self.total.saturating_sub(self.bytes) as f64 / bytes_per_second;
            text.push_str(&format!("  {} left", duration(left.ceil() as u64)));
        }
        text
    }
}

pub(crate) fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{}:{:02} min", seconds / 60, seconds % 60),
        _ => format!("{}:{:02} h", seconds / 3600, seconds / 60 % 60),
    }
}
