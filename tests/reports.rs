//! `--metrics` and `--log`: their content during a load and after it, files that cannot be written, and the
//! table of metrics in the manual.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{Bench, Server, on_each_server, rows, run};

on_each_server!([
    metrics_of_a_load,
    metrics_change_while_a_load_runs,
    metrics_of_a_load_that_fails,
    metrics_whose_directory_goes_away,
    metrics_of_a_move,
    lines_of_a_log,
    a_log_on_standard_error,
    files_that_cannot_be_written,
]);

/// Longer than any wait here takes.
const LONG: Duration = Duration::from_secs(30);

/// The environment variable that makes the test write the table instead of comparing it.
const WRITE: &str = "PGSLUICE_WRITE_METRICS";

fn value(bench: &Bench, series: &str) -> f64 {
    let text = fs::read_to_string(bench.path("m.prom")).expect("metrics");
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{series} ")));
    line.unwrap_or_else(|| panic!("{series} in {text}")).parse().expect("a number")
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LONG, "{what}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn metrics_of_a_load(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", [&rows(1000, 10)[..], b"x,y\n"].concat());
    let rejects = ["--reject-file=bad.csv", "--max-rejects=9", "--few-rows=0"];
    let options = ["rows.csv", "-t", "t", "-q", "--metrics=m.prom"];
    for (turn, more) in [&rejects[..], &["--atomic"], &["--exchange"]].into_iter().enumerate() {
        bench.session.run("TRUNCATE t");
        if turn > 0 {
            bench.file("rows.csv", rows(1000, 10));
        }
        let ended = bench.load([&options[..], more].concat());
        let rejected = f64::from(u8::from(turn == 0));
        assert_eq!(ended.status.code(), Some(if turn == 0 { 3 } else { 0 }), "{ended:?}");
        for (series, expected) in [
            ("pgsluice_finished", 1.0),
            ("pgsluice_succeeded", 1.0),
            ("pgsluice_committed_rows_total", 1000.0),
            ("pgsluice_read_rows_total", 1000.0 + rejected),
            ("pgsluice_pending_rows", 0.0),
            ("pgsluice_rejected_rows_total{sqlstate=\"22P02\"}", rejected),
            ("pgsluice_attempts_total", 1.0),
            ("pgsluice_retries_total", 0.0),
        ] {
            assert_eq!(value(&bench, series), expected, "{series} with {more:?}");
        }
        assert!(value(&bench, "pgsluice_committed_bytes_total") > 0.0, "{more:?}");
    }
    let mut files: Vec<_> = fs::read_dir(bench.folder.path()).unwrap().flatten().collect();
    files.retain(|file| file.file_name().to_string_lossy().starts_with('.'));
    assert!(files.is_empty(), "{files:?}");
}

fn metrics_change_while_a_load_runs(server: Server) {
    let bench = Bench::with_table(server);
    let options = ["-", "-t", "t", "-q", "--metrics=m.prom", "--log=events.log"];
    let mut load = bench.start(options, Stdio::piped());
    load.feed(&rows(10, 10));
    wait_until("no metrics", || bench.path("m.prom").exists());
    let waiting = "pgsluice_waiting_seconds_total{reason=\"input\"}";
    wait_until("no wait for input", || value(&bench, waiting) > 1.0);
    assert_eq!(value(&bench, "pgsluice_finished"), 0.0);
    load.kill();
    // A killed load leaves the last state.
    assert_eq!(value(&bench, "pgsluice_finished"), 0.0);
}

fn metrics_of_a_load_that_fails(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", "1,x,\n2\n");
    bench.load(["rows.csv", "-t", "t", "-q", "--metrics=m.prom"]).fails(1, &["error: "]);
    let ended = ["pgsluice_finished", "pgsluice_succeeded", "pgsluice_committed_rows_total"];
    assert_eq!(ended.map(|series| value(&bench, series)), [1.0, 0.0, 0.0]);
}

fn metrics_whose_directory_goes_away(server: Server) {
    let bench = Bench::with_table(server);
    fs::create_dir(bench.path("d")).unwrap();
    let options = ["-", "-t", "t", "--format=csv", "--json", "--metrics=d/m.prom"];
    let mut load = bench.start(options, Stdio::piped());
    load.feed(&rows(10, 10));
    wait_until("no metrics", || bench.path("d/m.prom").exists());
    // A file may be written into it meanwhile, which makes one try fail.
    wait_until("the directory stays", || {
        let _ = fs::remove_dir_all(bench.path("d"));
        !bench.path("d").exists()
    });
    // Long enough for two more attempts to write.
    thread::sleep(Duration::from_millis(2_500));
    drop(load.child.stdin.take());
    let ended = load.ended();
    let warning = "could not write metrics to \"d/m.prom\": No such file or directory";
    assert_eq!(ended.stderr.matches(warning).count(), 1, "{ended:?}");
    let summary = ended.summary();
    assert_eq!(summary["rows_loaded"], 10);
    assert_eq!(summary["warnings"], serde_json::json!([warning]));
}

fn metrics_of_a_move(server: Server) {
    let bench = Bench::new(server);
    bench.session.run(
        "CREATE TABLE moved (id int PRIMARY KEY, v text);
         INSERT INTO moved SELECT i, i::text FROM generate_series(1, 1000) AS i",
    );
    let options = ["partition", "moved", "--by=HASH (id)", "--leaves=2", "-q"];
    let folder = bench.folder.path().display();
    let (metrics, log) = (format!("--metrics={folder}/m.prom"), format!("--log={folder}/m.log"));
    let outcome = run(&[&options[..], &["-d", &bench.url, &metrics, &log]].concat(), None);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    for (series, expected) in [
        ("pgsluice_finished", 1.0),
        ("pgsluice_succeeded", 1.0),
        ("pgsluice_committed_rows_total", 1000.0),
        ("pgsluice_move_phase{phase=\"swap\"}", 0.0),
        ("pgsluice_built_indexes", 2.0),
    ] {
        assert_eq!(value(&bench, series), expected, "{series}");
    }
    let log = fs::read_to_string(bench.path("m.log")).unwrap();
    let phases: Vec<_> = log.lines().filter_map(|line| line.split_once(" phase ")).collect();
    let phases: Vec<&str> = phases.into_iter().map(|(_, phase)| phase).collect();
    let expected = ["survey", "copy", "index", "follow", "verify", "follow", "swap"];
    assert_eq!(phases, expected, "{log}");
    let plan = run(&[&options[..4], &["--plan", "-d", &bench.url, &metrics]].concat(), None);
    assert_eq!(plan.status, Some(2), "{}", plan.stderr);
}

fn lines_of_a_log(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(100_000, 10));
    let options = ["rows.csv", "-t", "t", "-q", "--log=events.log", "--log-format=json"];
    assert_eq!(bench.load(options).status.code(), Some(0));
    bench.file("none.csv", "");
    assert_eq!(bench.load([&["none.csv"], &options[1..]].concat()).status.code(), Some(0));
    let log = fs::read_to_string(bench.path("events.log")).unwrap();
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |event: &str| lines.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
    assert_eq!(of("attempt").len(), 2);
    let rows: u64 = of("committed").iter().map(|line| line["rows"].as_u64().unwrap()).sum();
    assert_eq!(rows, 100_000);
    assert_eq!(of("warning")[0]["message"], "the input has no rows");
    let finished = of("finished");
    assert_eq!(finished.iter().map(|line| &line["succeeded"]).collect::<Vec<_>>(), [true, true]);
    assert_eq!((&finished[0]["rows"], &finished[0]["level"]), (&100_000.into(), &"info".into()));
    assert!(lines.iter().all(|line| line["time"].as_str().unwrap().ends_with('Z')));
}

fn a_log_on_standard_error(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(10, 10));
    let options = ["rows.csv", "-t", "t", "--json", "--log=-", "--log-format=json"];
    let ended = bench.load(options);
    assert_eq!(ended.summary()["rows_loaded"], 10);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert!(lines.iter().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{lines:?}");
    assert!(lines.last().unwrap().contains("\"event\":\"finished\""), "{lines:?}");
}

fn files_that_cannot_be_written(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(10, 10));
    let load = |options: &[&str]| bench.load([&["rows.csv", "-t", "t"], options].concat());
    for (options, status, parts) in [
        (&["--metrics=."][..], 2, &["\".\" is a directory", "HINT:  Name a file in it"][..]),
        (&["--metrics=none/m.prom"], 1, &["could not write metrics", "HINT:  "]),
        (&["--metrics=rows.csv"], 2, &["\"rows.csv\" is an input", "HINT:  "]),
        (&["--metrics=/dev/null"], 2, &["is no file with metrics", "HINT:  "]),
        (&["--metrics=-"], 2, &["cannot be written to standard output", "HINT:  "]),
        (&["--log=."], 1, &["could not write the log to \".\"", "HINT:  "]),
        (&["--log=none/x.log"], 1, &["No such file or directory", "HINT:  "]),
        (&["--log=./rows.csv"], 2, &["\"rows.csv\" is an input", "--log FILE"]),
        (&["--log-format=json"], 2, &["not provided: --log"]),
        (&["--log=x", "--metrics=x"], 2, &["the same file"]),
    ] {
        load(options).fails(status, parts);
    }
    assert_eq!(bench.count("t"), 0);
    bench.file("other.txt", "other");
    load(&["--metrics=other.txt"]).fails(2, &["exists and is no file with metrics"]);
    assert_eq!(fs::read_to_string(bench.path("other.txt")).unwrap(), "other");
}

#[test]
fn the_manual_has_the_table_of_metrics() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/metrics.md");
    let page = fs::read_to_string(&file).expect("docs/manual/metrics.md");
    let table = pgsluice::metrics::page();
    let head = table.lines().next().expect("a head");
    let (before, rest) = page.split_once(head).expect("the head of the table");
    let (written, after) = rest.split_once("\n\n").expect("text after the table");
    if std::env::var_os(WRITE).is_some() {
        fs::write(&file, format!("{before}{table}\n{after}")).expect("the page is written");
        return;
    }
    assert_eq!(format!("{head}{written}\n"), table, "{WRITE}=1 writes the table");
}
