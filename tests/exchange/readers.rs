//! Leaves that are replaced while other sessions read them: each reader sees the old rows or the new ones in
//! all leaves, even if loads are killed and resumed.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use super::Case;
use super::replaced::{CONTENT, MONTHS, REPLACE, fill, rows};
use crate::harness::{Chance, Ended, Running, Session, on_each_server, program};

on_each_server!(with super::Case::new, [readers_find_old_rows_or_new_ones, loads_that_are_killed_are_resumed,]);

/// Number of rows of each month.
const ROWS: u32 = 5_000;

/// Number of loads that are killed, each at a failpoint or at a random moment.
const KILLED: usize = 20;

const POINTS: [&str; 10] = [
    "load::begun",
    "payload::begun",
    "payload::committing:2",
    "payload::committed",
    "payload::committed:3",
    "load::flushing",
    "exchange::committing",
    "exchange::committed",
    "load::closing",
    "load::closed",
];

/// Queries about the first two months. In one snapshot their results must agree, in any order.
const ASKED: [&str; 3] = [
    "SELECT v, count(*), count(DISTINCT d) FROM t WHERE d < '2026-03-01' GROUP BY v",
    "EXECUTE prepared",
    "SELECT v, count(*) * 2, count(DISTINCT d) * 2 FROM t_01 GROUP BY v",
];

/// Reads until `is_over`, and counts the answers.
fn read(url: &str, is_over: &AtomicBool, answers: &AtomicU64) {
    let session = Session::open(url);
    session.run(&format!("PREPARE prepared AS {}", ASKED[0]));
    let (all, days) = ((2 * ROWS).to_string(), "56");
    while !is_over.load(SeqCst) {
        for asked in ASKED {
            let found = session.rows(asked);
            let [row] = &found[..] else { panic!("{asked}: {found:?}") };
            let counts = [row[1].as_deref(), row[2].as_deref()];
            assert_eq!(counts, [Some(&*all), Some(days)], "{asked}: {row:?}");
            answers.fetch_add(1, SeqCst);
        }
        let third = session.rows("SELECT v, count(*) FROM t_03 GROUP BY v");
        assert_eq!(third, [[Some("old".to_owned()), Some(ROWS.to_string())]]);
    }
}

/// Does `work` while three sessions read.
fn while_others_read(case: &Case, work: impl FnOnce()) {
    let (is_over, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let readers: Vec<_> =
            (0..3).map(|_| scope.spawn(|| read(&case.bench.url, &is_over, &answers))).collect();
        // Stop the readers, even if the work fails.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        is_over.store(true, SeqCst);
        let read = readers.into_iter().map(|reader| reader.join());
        let read: Result<Vec<_>, _> = read.collect();
        read.and(done).unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    let answers = answers.into_inner();
    eprintln!("{answers} answers");
    assert!(answers > 100, "only {answers} answers");
}

fn content(word: &str) -> String {
    format!("01 {word} {ROWS}, 02 {word} {ROWS}, 03 old {ROWS}")
}

fn start(case: &Case, id: &str, point: Option<&str>) -> Running {
    let mut command = program();
    command.args(["load", "-d", &case.bench.url, "rows.csv", "-t", "t", REPLACE, "-q", "--json"]);
    command.args(["--load-id", id, "--memory=1MiB", "-j2"]).current_dir(case.bench.folder.path());
    command.envs(point.map(|point| ("PGSLUICE_FAILPOINT", point)));
    Running::start(command.stdin(Stdio::null()))
}

fn readers_find_old_rows_or_new_ones(case: &Case) {
    case.run(MONTHS);
    fill(case, &[1, 2, 3], ROWS, "old");
    while_others_read(case, || {
        for round in 0..10 {
            let word = format!("new{round}");
            case.bench.file("rows.csv", rows(&[1, 2], ROWS, &word));
            let summary = start(case, &word, None).ended().summary();
            assert_eq!((&summary["exchanged"], &summary["replaced"]), (&3.into(), &3.into()));
            assert_eq!(case.value(CONTENT), content(&word));
        }
    });
    case.nothing_is_left();
}

fn loads_that_are_killed_are_resumed(case: &Case) {
    case.run(MONTHS);
    fill(case, &[1, 2, 3], ROWS, "old");
    let mut chance = Chance::new();
    let (mut whole, mut deaths, mut swapped) = (Duration::from_millis(500), 0, 0);
    while_others_read(case, || {
        for round in 0..KILLED {
            let word = format!("new{round}");
            case.bench.file("rows.csv", rows(&[1, 2], ROWS, &word));
            let killed = match round % 2 {
                0 => start(case, &word, Some(POINTS[round / 2])).ended(),
                _ => start(case, &word, None).kill_after(chance.moment(whole)),
            };
            deaths += usize::from(is_killed(&killed));
            let began = Instant::now();
            let resumed = start(case, &word, None).ended();
            whole = began.elapsed();
            let summary = resumed.summary();
            swapped += usize::from(summary["exchanged"] == 0);
            assert_eq!(case.value(CONTENT), content(&word), "{summary}");
        }
    });
    eprintln!("{deaths} loads were killed, {swapped} of them after the swap");
    assert!(deaths >= KILLED / 2 && (3..KILLED).contains(&swapped), "{deaths} {swapped}");
    case.nothing_is_left();
}

fn is_killed(ended: &Ended) -> bool {
    use std::os::unix::process::ExitStatusExt;
    ended.status.signal() == Some(9)
}
