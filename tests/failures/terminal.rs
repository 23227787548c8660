//! Progress output: a bar on a terminal that disappears before the summary, an occasional line in a pipe,
//! nothing with `-q`.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::harness::{Bench, Ended, Running, Server, on_each_server, program, rows};

on_each_server!([
    a_terminal_has_a_bar,
    a_narrow_terminal_has_a_line,
    control_characters_of_the_input_are_escaped,
    control_characters_of_the_server_are_escaped,
    a_pipe_has_a_line_every_ten_seconds,
    quiet_is_silent,
]);

/// A script that runs the program on a terminal with a given number of columns, and prints its output.
const TERMINAL: &str = "
import fcntl, os, pty, struct, sys, termios
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
while True:
    try:
        seen = os.read(terminal, 65536)
    except OSError:
        break
    if not seen:
        break
    os.write(1, seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
";

/// Loads `rows.csv` on a terminal. The load pauses in the middle, so that the bar is drawn.
fn on_terminal(bench: &Bench, columns: u16) -> Ended {
    let mut command = program_on_terminal(bench, columns);
    command.args(["load", "rows.csv", "-t", "t", "-d", &bench.url, "-j1"]);
    command.env("PGSLUICE_FAILPOINT", "payload::closed:2").env("PGSLUICE_FAILPOINT_SLEEP", "1500");
    Running::start(&mut command).ended()
}

fn program_on_terminal(bench: &Bench, columns: u16) -> Command {
    let mut command = Command::new("python3");
    command.args(["-c", TERMINAL, &columns.to_string(), env!("CARGO_BIN_EXE_pgsluice")]);
    command.current_dir(bench.folder.path()).env("TERM", "xterm").stdin(Stdio::null());
    command
}

fn a_terminal_has_a_bar(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(400_000, 100));
    let ended = on_terminal(&bench, 80);
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

fn a_narrow_terminal_has_a_line(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(400_000, 100));
    let ended = on_terminal(&bench, 40);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let (line, _) = ended.stdout.split_once("pgsluice: 400,000 rows").unwrap();
    for part in ["%", "rows", " left"] {
        assert!(line.contains(part), "{part} is missing in {line:?}");
    }
    assert!(!line.contains('━') && !line.contains("rows/s"), "{line:?}");
    assert!(!line.contains("\u{1b}[1A"), "it takes more than a line of 40 columns: {line:?}");
}

fn control_characters_of_the_input_are_escaped(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", "1,a\n\u{1b}[2J\u{7},b\n");
    let ended = on_terminal(&bench, 80);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(ended.stdout.contains("\\x1b[2J\\x07"), "{ended:?}");
    assert!(!ended.stdout.contains('\u{7}') && !ended.stdout.contains("\u{1b}[2J"), "{ended:?}");
}

fn control_characters_of_the_server_are_escaped(server: Server) {
    let bench = Bench::new(server);
    bench.session.run("CREATE TABLE t (id int) PARTITION BY LIST (id)");
    bench.session.run("CREATE TABLE \"\u{1b}[2J\u{7}\" PARTITION OF t DEFAULT");
    let tree = ["tree", "-t", "t", "-d", &bench.url];
    let seen = Running::start(program_on_terminal(&bench, 80).args(tree)).ended();
    assert!(seen.stdout.contains("\\x1b[2J\\x07"), "{seen:?}");
    assert!(!seen.stdout.contains('\u{7}') && !seen.stdout.contains("\u{1b}[2J"), "{seen:?}");
    let piped = Running::start(program().args(tree).stdin(Stdio::null())).ended();
    assert!(piped.stdout.contains("\\x1b[2J\\x07"), "{piped:?}");
    let json = Running::start(program().args(tree).arg("--json").stdin(Stdio::null())).ended();
    assert!(json.stdout.contains("\\u001b[2J\\u0007"), "{json:?}");
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

fn load_end(mut load: Running) -> String {
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
