//! Servers that refuse the login, are not there, or go away in the middle of a load.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::harness::{Bench, Ended, Server, Session, on_both, program, rows, wait_until};

#[test]
fn a_login_that_fails_says_why() {
    let bench = Bench::with_table(Server::PG18);
    bench.file("rows.csv", "1,a\n");
    let password = bench.url.split([':', '@']).nth(2).unwrap();
    let nobody = bench.url.replace("//postgres:", "//nobody:");
    let (head, _) = bench.url.rsplit_once('/').unwrap();
    let cases = [
        (bench.url.replace(password, "geheim"), "(SQLSTATE 28P01)"),
        (nobody, "(SQLSTATE 28P01)"),
        (format!("{head}/nowhere"), "database \"nowhere\" does not exist (SQLSTATE 3D000)"),
        ("postgresql://u:geheim@127.0.0.1:1/d".to_owned(), "port 1 failed: Connection refused"),
        ("host=/nowhere password=geheim dbname=d".to_owned(), "No such file or directory"),
        ("host=nowhere.invalid password=geheim".to_owned(), "could not translate host name"),
    ];
    for (url, message) in cases {
        let ended = bench.load_into(&url, ["rows.csv", "-t", "t"]);
        ended.fails(1, &[message, "\nHINT:  "]);
        assert!(!ended.stderr.contains("geheim") && !ended.stderr.contains(password), "{ended:?}");
    }
}

#[test]
fn a_session_that_is_terminated_ends_the_load() {
    on_both(|bench| {
        bench.make_table();
        let mut load = bench.start(["-", "-t", "t", "--format", "csv", "-j", "2"], Stdio::piped());
        load.feed(&rows(120_000, 100));
        let sessions = "FROM pg_stat_activity
                        WHERE datname = current_database() AND application_name = 'pgsluice'";
        // Between two payloads a session is idle as well, but not for so long.
        let paused = "bool_and(state = 'idle' AND now() - state_change > '500 ms')";
        wait_until("a pause", || {
            bench.count("t") > 0 && bench.value(&format!("SELECT {paused} {sessions}")) == "t"
        });
        bench.session.run(&format!("SELECT pg_terminate_backend(pid) {sessions}"));
        // The input is silent: the loss itself must be noticed.
        let stdin = load.child.stdin.take();
        let ended = load.ended();
        drop(stdin);
        ended.fails(1, &["terminating connection due to administrator command (SQLSTATE 57P01)"]);
        assert!(ended.stderr.contains("\nHINT:  "), "{ended:?}");
        assert_eq!(ended.committed(), bench.count("t"));
    });
}

#[test]
fn too_few_connections_leave_nothing_half_done() {
    on_both(|bench| {
        bench.make_table();
        bench.session.run(&format!(
            "ALTER DATABASE {} CONNECTION LIMIT 4",
            bench.value("SELECT current_database()")
        ));
        let role = format!("few_{}", bench.value("SELECT current_database()"));
        bench.session.run(&format!(
            "CREATE ROLE {role} LOGIN PASSWORD 'geheim'; GRANT INSERT ON t TO {role}"
        ));
        let url = format!("postgresql://{role}:geheim@{}", bench.url.split_once('@').unwrap().1);
        bench.file("rows.csv", rows(200_000, 100));
        let load = ["rows.csv", "-t", "t", "-j", "20"];
        let others = [bench.other(), bench.other()];
        let ended = bench.load_into(&url, load);
        ended.fails(1, &["too many connections for database", "(SQLSTATE 53300)", "(-j)"]);
        assert!(!ended.stderr.contains("geheim"));
        assert_eq!(ended.committed(), bench.count("t"));
        drop(others);
        let ended = bench.load_into(&url, load);
        assert_eq!((ended.status.code(), bench.count("t")), (Some(0), 200_000), "{ended:?}");
        bench.session.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    });
}

/// Enough to be in the middle of.
const ROWS: usize = 1_500_000;

/// A server of the test's own, which it may kill.
struct Victim {
    place: TempDir,
    url: String,
}

impl Victim {
    fn start() -> Self {
        let place = tempfile::Builder::new().prefix("pgsluice-victim").tempdir().unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut victim = Self { place, url: String::new() };
        victim.url = victim.run("start");
        victim
    }

    fn run(&self, verb: &str) -> String {
        let mut command = program();
        command.args(["server", verb, "--data"]).arg(self.place.path().join("server"));
        command.env("PGSLUICE_HOME", self.place.path().join("home"));
        if verb == "start" {
            command.args(["--set", "fsync=off", "--set", "shared_buffers=32MB"]);
            let bin = std::env::var_os("PGSLUICE_TEST_BIN_18").expect("run by `make test`");
            command.arg("--bin").arg(bin);
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap().trim().to_owned()
    }

    fn postmaster(&self) -> String {
        let file = self.place.path().join("server/data/postmaster.pid");
        fs::read_to_string(file).unwrap().lines().next().unwrap().to_owned()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.run("stop");
    }
}

/// Loads into a server that `end` takes away, starts it again, and compares. Then resumes the load: how
/// that ended, and what is in the table.
fn lose_server(leaves: &str, end: impl Fn(&Victim, &Session)) -> (Ended, u64) {
    let bench = Bench::new(Server::PG18);
    bench.file("rows.csv", rows(ROWS, 10));
    let victim = Victim::start();
    let session = Session::open(&victim.url);
    session.run("CREATE TABLE t (id int, v text) PARTITION BY HASH (id)");
    for leaf in 0..4 {
        session.run(&format!(
            "CREATE {leaves} TABLE t{leaf} PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER {leaf})"
        ));
    }
    let count = |session: &Session| -> u64 {
        session.rows("SELECT count(*) FROM t")[0][0].as_ref().unwrap().parse().unwrap()
    };
    let options = ["rows.csv", "-t", "t", "-j", "2", "--memory", "4MiB", "--load-id", "l"];
    let load = bench.start_into(&victim.url, options, Stdio::null());
    wait_until("a commit", || count(&session) > 0);
    end(&victim, &session);
    drop(session);
    let ended = load.ended();
    ended.fails(1, &["\nHINT:  "]);
    let password = victim.url.split([':', '@']).nth(2).unwrap();
    assert!(!ended.stderr.contains(password), "{ended:?}");
    let kinds = ["57P01", "57P02", "57P03", "closed the connection", "Connection refused"];
    assert!(kinds.iter().any(|kind| ended.stderr.contains(kind)), "{ended:?}");

    victim.run("start");
    let found = count(&Session::open(&victim.url));
    let doubted = ended.stderr.lines().find_map(|line| {
        line.strip_prefix("DETAIL:  Whether ")?.split(' ').next()?.parse::<u64>().ok()
    });
    let said = ended.committed();
    // synchronous_commit is off while a load runs: a server that crashes may lose the last ones.
    assert!(found <= said + doubted.unwrap_or(0), "{found} rows\n{}", ended.stderr);

    let resumed = bench.load_into(&victim.url, options.iter().chain(&["--json"]));
    let session = Session::open(&victim.url);
    let distinct = "SELECT count(*) FROM (SELECT count(*) FROM t GROUP BY id) x GROUP BY count";
    assert!(resumed.status.code() != Some(0) || session.rows(distinct).len() == 1);
    (resumed, count(&session))
}

#[track_caller]
fn is_whole((resumed, rows): &(Ended, u64)) {
    resumed.summary();
    assert_eq!(*rows, ROWS as u64);
}

#[test]
fn a_server_that_is_stopped() {
    is_whole(&lose_server("", |victim, _| {
        victim.run("stop");
    }));
}

#[test]
fn a_session_that_is_killed() {
    is_whole(&lose_server("", |_, session| {
        let pid = session.rows(
            "SELECT pid FROM pg_stat_activity
             WHERE application_name = 'pgsluice' AND backend_type = 'client backend' LIMIT 1",
        );
        kill(pid[0][0].as_ref().unwrap());
    }));
}

#[test]
fn a_server_that_is_killed() {
    is_whole(&lose_server("", |victim, _| kill(&victim.postmaster())));
}

#[test]
fn a_server_that_is_killed_with_unlogged_leaves() {
    let (resumed, rows) = lose_server("UNLOGGED", |victim, session| {
        // Otherwise the server may forget the load as well.
        session.run("CHECKPOINT");
        kill(&victim.postmaster());
    });
    resumed.fails(1, &[
        "a partition is unlogged, and the server has crashed since this load was begun (SQLSTATE",
        "\nDETAIL:  What was loaded into it is gone, and no receipt says so.",
        "pgsluice ledger forget l",
    ]);
    assert_eq!(rows, 0);
}

fn kill(pid: &str) {
    assert!(Command::new("kill").args(["-9", pid]).status().unwrap().success());
}
