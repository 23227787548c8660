//! What a person sees: a bar on a terminal that is gone before the summary, a line now and then in
//! a pipe, nothing with `-q`.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::harness::{Bench, Server, on_each_server, rows};

on_each_server!([a_terminal_has_a_bar, a_pipe_has_a_line_every_ten_seconds, quiet_is_silent,]);

fn a_terminal_has_a_bar(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(400_000, 100));
    let script = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";
    let mut command = Command::new("python3");
    command.args(["-c", script, env!("CARGO_BIN_EXE_pgsluice")]);
    command.args(["load", "rows.csv", "-t", "t", "-d", &bench.url, "-j1"]);
    command.current_dir(bench.folder.path()).env("TERM", "xterm").stdin(Stdio::null());
    // It stays in the middle for a while, so that the bar is drawn.
    command.env("PGSLUICE_FAILPOINT", "payload::closed:2").env("PGSLUICE_FAILPOINT_SLEEP", "1500");
    let ended = crate::harness::Running::start(&mut command).ended();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    for part in ["━", "%", "rows/s", "MiB/s", " left"] {
        assert!(ended.stdout.contains(part), "{part} is missing in {:?}", ended.stdout);
    }
    let (bar, summary) = ended.stdout.split_once("pgsluice: 400,000 rows").unwrap();
    let (_, left) = bar.rsplit_once("\u{1b}[2K").unwrap();
    assert!(!left.contains(['━', '%']), "{left:?} is left of the bar");
    assert!(!bar.contains("\u{1b}[1A"), "the bar takes more than a line of 80 columns");
    assert!(!summary.contains("━"), "{summary:?}");
}

fn a_pipe_has_a_line_every_ten_seconds(server: Server) {
    let bench = Bench::with_table(server);
    let mut load = bench.start(["-", "-t", "t", "--format", "csv"], Stdio::piped());
    load.feed(&rows(60_000, 100));
    thread::sleep(Duration::from_millis(10_500));
    let ended = load_end(load);
    let progress = ended.lines().filter(|line| line.contains("rows/s") && !line.contains("loaded"));
    assert_eq!(progress.count(), 1, "{ended}");
    assert!(!ended.contains('\u{1b}'), "{ended:?}");
}

fn load_end(mut load: crate::harness::Running) -> String {
    drop(load.child.stdin.take());
    let ended = load.ended();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    ended.stderr
}

fn quiet_is_silent(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(1000, 10));
    let ended = bench.load(["rows.csv", "-t", "t", "-q"]);
    assert_eq!((ended.status.code(), &*ended.stdout, &*ended.stderr), (Some(0), "", ""));
}
