//! Ctrl-C and SIGTERM at any point of the program: it ends within two seconds, and at once after a second
//! signal, with status 130 and without partial rows.

use std::any::Any;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{
    Bench, Mode, Proxy, Running, Server, Session, on_each_server, program, rows, wait_until,
};

/// The time to end after the first signal.
const IN_ORDER: Duration = Duration::from_secs(2);

/// The time to end after a second signal.
const AT_ONCE: Duration = Duration::from_millis(200);

/// Number of tries: on a busy machine a single try may be late, but not all.
const TRIES: usize = 3;

/// The sessions of the program.
const SESSIONS: &str = "FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'pgsluice'";

/// A trigger that takes longer than any test.
const SLOW: &str = "
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(600); RETURN NEW; END'";

/// A running program, and the objects that block it.
struct Caught {
    program: Running,
    held: Box<dyn Any>,
}

impl Caught {
    fn new(program: Running, held: impl Any) -> Self {
        Self { program, held: Box::new(held) }
    }

    /// Sends `signals` one after the other. Returns the time until the program ended after the last one.
    fn end(self, signals: &[&str]) -> Duration {
        for signal in signals {
            // The handler has seen the previous signal.
            thread::sleep(Duration::from_millis(50));
            self.program.signal(signal);
        }
        let mut program = self.program;
        let asked = Instant::now();
        // Pipes stay open until the process ends.
        let stdin = program.child.stdin.take();
        let ended = program.ended();
        let took = asked.elapsed();
        drop((stdin, self.held));
        match signals.len() {
            1 => _ = ended.fails(130, &["pgsluice: error: interrupted"]),
            _ => assert_eq!(ended.status.code(), Some(130), "{ended:?}"),
        }
        took
    }
}

/// Catches the program several times, and checks that it ends in time at least once.
fn ends(server: Server, catch: fn(&Bench) -> Caught) {
    for (signals, limit) in [
        (&["-INT"][..], IN_ORDER),
        (&["-TERM"], IN_ORDER),
        (&["-INT", "-INT"], AT_ONCE),
        (&["-TERM", "-INT"], AT_ONCE),
    ] {
        let once = || {
            let bench = Bench::with_table(server);
            let took = catch(&bench).end(signals);
            if signals.len() == 1 {
                let at_work = format!("SELECT count(*) {SESSIONS} AND state = 'active'");
                wait_until("the server's giving up", || bench.value(&at_work) == "0");
            } else {
                bench.session.run(&format!("SELECT pg_terminate_backend(pid) {SESSIONS}"));
            }
            took
        };
        let took: Vec<Duration> = (0..TRIES).map(|_| once()).take_while(|it| *it > limit).collect();
        assert!(took.len() < TRIES, "{signals:?}: {took:?}");
    }
}

/// Defines a test for each state of the program, with the code that catches the program in it.
macro_rules! caught {
    ($($name:ident,)*) => {
        on_each_server!([$($name,)*]);
        $(fn $name(server: Server) { ends(server, catch::$name); })*
    };
}

caught![
    a_row_that_takes_long,
    a_commit_that_takes_long,
    a_lock,
    a_small_load_behind_a_lock,
    a_pipe_without_rows,
    a_pipe_that_was_read,
    a_server_whose_sessions_are_stopped,
    a_network_that_swallows,
    a_network_that_stalls,
    a_server_that_says_nothing,
    a_server_that_is_not_there,
    indexes_that_are_built,
    a_swap_behind_a_lock,
    an_exchange_without_a_server,
    partitions_behind_a_lock,
    a_plan_behind_a_lock,
    a_plan_of_a_silent_pipe,
    a_tree_behind_a_lock,
    a_verification_behind_a_lock,
    a_verification_of_a_silent_pipe,
];

mod catch {
    use super::*;

    /// Waits until a session of pgsluice matches `what`, a condition on `pg_stat_activity`.
    fn at(bench: &Bench, what: &str) {
        let query = format!("SELECT count(*) {SESSIONS} AND {what}");
        wait_until(what, || bench.value(&query) != "0");
    }

    fn locked(bench: &Bench, table: &str, mode: &str) -> Session {
        let session = bench.other();
        session.run(&format!("BEGIN; LOCK TABLE {table} IN {mode} MODE"));
        session
    }

    fn waiting(bench: &Bench, program: Running, held: Session) -> Caught {
        at(bench, "wait_event_type = 'Lock'");
        Caught::new(program, held)
    }

    /// Starts a load from a pipe, which has committed rows and receives no more.
    fn fed(bench: &Bench, url: &str) -> Running {
        let mut load = bench.start_into(url, ["-", "-t", "t", "--format", "csv"], Stdio::piped());
        load.feed(&rows(120_000, 100));
        wait_until("a commit", || bench.count("t") > 0);
        load
    }

    fn command(bench: &Bench, arguments: &[&str], stdin: Stdio) -> Running {
        let mut command = program();
        command.args(arguments).args(["-t", "t", "-d", &bench.url]);
        Running::start(command.current_dir(bench.folder.path()).stdin(stdin))
    }

    pub(super) fn a_row_that_takes_long(bench: &Bench) -> Caught {
        bench.session.run(SLOW);
        bench
            .session
            .run("CREATE TRIGGER slow BEFORE INSERT ON t3 FOR EACH ROW EXECUTE FUNCTION slow()");
        bench.file("rows.csv", rows(20_000, 100));
        let load = bench.start(["rows.csv", "-t", "t"], Stdio::null());
        at(bench, "wait_event = 'PgSleep'");
        Caught::new(load, ())
    }

    pub(super) fn a_commit_that_takes_long(bench: &Bench) -> Caught {
        bench.session.run(SLOW);
        bench.session.run(
            "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON t3 DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION slow()",
        );
        bench.file("rows.csv", rows(20_000, 100));
        let load = bench.start(["rows.csv", "-t", "t"], Stdio::null());
        at(bench, "wait_event = 'PgSleep' AND query = 'COMMIT'");
        Caught::new(load, ())
    }

    pub(super) fn a_lock(bench: &Bench) -> Caught {
        bench.file("rows.csv", rows(20_000, 100));
        let held = locked(bench, "t3", "SHARE");
        waiting(bench, bench.start(["rows.csv", "-t", "t"], Stdio::null()), held)
    }

    pub(super) fn a_small_load_behind_a_lock(bench: &Bench) -> Caught {
        bench.file("rows.csv", rows(10, 10));
        let held = locked(bench, "t", "SHARE");
        waiting(bench, bench.start(["rows.csv", "-t", "t"], Stdio::null()), held)
    }

    pub(super) fn a_pipe_without_rows(bench: &Bench) -> Caught {
        let load = bench.start(["-", "-t", "t"], Stdio::piped());
        at(bench, "state = 'idle'");
        Caught::new(load, ())
    }

    pub(super) fn a_pipe_that_was_read(bench: &Bench) -> Caught {
        Caught::new(fed(bench, &bench.url), ())
    }

    /// Keeps the sessions of the load stopped until it is dropped.
    struct Stopped(Vec<String>);

    impl Drop for Stopped {
        fn drop(&mut self) {
            kill("-CONT", &self.0);
        }
    }

    fn kill(signal: &str, pids: &[String]) {
        assert!(Command::new("kill").arg(signal).args(pids).status().unwrap().success());
    }

    pub(super) fn a_server_whose_sessions_are_stopped(bench: &Bench) -> Caught {
        let Caught { program, .. } = a_row_that_takes_long(bench);
        let asleep = format!("SELECT pid {SESSIONS} AND wait_event = 'PgSleep'");
        let pids = bench.session.rows(&asleep);
        let pids: Vec<String> = pids.into_iter().flatten().flatten().collect();
        kill("-STOP", &pids);
        Caught::new(program, Stopped(pids))
    }

    fn load_through_proxy(bench: &Bench, mode: Mode) -> Caught {
        let proxy = Proxy::before(&bench.url);
        let mut load = fed(bench, proxy.url());
        proxy.set(mode);
        load.feed(&rows(120_000, 100));
        Caught::new(load, proxy)
    }

    pub(super) fn a_network_that_swallows(bench: &Bench) -> Caught {
        load_through_proxy(bench, Mode::Swallow)
    }

    pub(super) fn a_network_that_stalls(bench: &Bench) -> Caught {
        load_through_proxy(bench, Mode::Stall)
    }

    pub(super) fn a_server_that_says_nothing(bench: &Bench) -> Caught {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let silent = format!("postgresql://u@{}/d", listener.local_addr().unwrap());
        bench.file("rows.csv", "1,a\n");
        let load = bench.start_into(&silent, ["rows.csv", "-t", "t"], Stdio::null());
        let accepted = listener.accept().unwrap();
        Caught::new(load, (listener, accepted))
    }

    pub(super) fn a_server_that_is_not_there(bench: &Bench) -> Caught {
        bench.file("rows.csv", "1,a\n");
        let options = ["rows.csv", "-t", "t", "--wait=1h"];
        let load = bench.start_into("postgresql://u@127.0.0.1:1/d", options, Stdio::null());
        thread::sleep(Duration::from_millis(500));
        Caught::new(load, ())
    }

    fn exchanged(bench: &Bench, url: &str) -> Running {
        bench.file("rows.csv", rows(20_000, 100));
        bench.start_into(url, ["rows.csv", "-t", "t", "--exchange"], Stdio::null())
    }

    fn slow_index(bench: &Bench) {
        bench.session.run(
            "CREATE FUNCTION slowly(id int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
                 'BEGIN PERFORM pg_sleep(600); RETURN id; END';
             CREATE INDEX ON t (slowly(id))",
        );
    }

    pub(super) fn indexes_that_are_built(bench: &Bench) -> Caught {
        slow_index(bench);
        let load = exchanged(bench, &bench.url);
        at(bench, "wait_event = 'PgSleep' AND query LIKE '%CREATE INDEX%'");
        Caught::new(load, ())
    }

    pub(super) fn a_swap_behind_a_lock(bench: &Bench) -> Caught {
        let held = locked(bench, "t3", "ACCESS SHARE");
        waiting(bench, exchanged(bench, &bench.url), held)
    }

    pub(super) fn an_exchange_without_a_server(bench: &Bench) -> Caught {
        slow_index(bench);
        let proxy = Proxy::before(&bench.url);
        let load = exchanged(bench, proxy.url());
        at(bench, "wait_event = 'PgSleep' AND query LIKE '%CREATE INDEX%'");
        proxy.set(Mode::Swallow);
        Caught::new(load, (proxy, Ended(bench.other())))
    }

    /// Ends the statements of the load's sessions, because nothing else does.
    struct Ended(Session);

    impl Drop for Ended {
        fn drop(&mut self) {
            self.0.run(&format!("SELECT pg_terminate_backend(pid) {SESSIONS}"));
        }
    }

    pub(super) fn partitions_behind_a_lock(bench: &Bench) -> Caught {
        bench.file("rows.csv", "105,a\n");
        let held = locked(bench, "t", "ACCESS SHARE");
        let options = ["rows.csv", "-t", "t", "--create-partitions", "--step=10"];
        waiting(bench, bench.start(options, Stdio::null()), held)
    }

    pub(super) fn a_plan_behind_a_lock(bench: &Bench) -> Caught {
        bench.file("rows.csv", rows(10, 10));
        let held = locked(bench, "t", "ACCESS EXCLUSIVE");
        waiting(bench, command(bench, &["plan", "rows.csv"], Stdio::null()), held)
    }

    pub(super) fn a_plan_of_a_silent_pipe(bench: &Bench) -> Caught {
        let plan = command(bench, &["plan", "-"], Stdio::piped());
        // Its session has ended before it reads.
        thread::sleep(Duration::from_millis(500));
        Caught::new(plan, ())
    }

    pub(super) fn a_tree_behind_a_lock(bench: &Bench) -> Caught {
        let held = locked(bench, "t3", "ACCESS EXCLUSIVE");
        waiting(bench, command(bench, &["tree"], Stdio::null()), held)
    }

    pub(super) fn a_verification_behind_a_lock(bench: &Bench) -> Caught {
        bench.file("rows.csv", rows(10, 10));
        let held = locked(bench, "t3", "ACCESS EXCLUSIVE");
        let verification = command(bench, &["verify", "rows.csv"], Stdio::null());
        at(bench, "wait_event_type = 'Lock' AND query LIKE '%sum(%'");
        Caught::new(verification, held)
    }

    pub(super) fn a_verification_of_a_silent_pipe(bench: &Bench) -> Caught {
        let verification = command(bench, &["verify", "-"], Stdio::piped());
        at(bench, "state = 'active' AND query LIKE 'COPY%'");
        Caught::new(verification, ())
    }
}
