//! Claims: what leads a row to its node is its bytes, the tree and the recorded terms, and nothing else.
//! Whatever changes between a kill and the resume, no row is in twice, and none is lost.

mod changed;
mod clock;
mod golden;
mod privileges;
mod walked;

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use crate::harness::{Bench, Ended, Running, program};

/// Rows of an input, of several payloads in the least memory.
const ROWS: usize = 20_000;

/// Options under which a load has several payloads.
const SMALL: [&str; 2] = ["--memory=1MiB", "-j2"];

/// A load of `rows.csv` into `t` as `l`.
fn load(bench: &Bench, url: &str, options: &[&str]) -> Ended {
    start(bench, url, "", options).ended()
}

fn start(bench: &Bench, url: &str, failpoint: &str, options: &[&str]) -> Running {
    let mut load = program();
    load.args(["load", "rows.csv", "-t", "public.t", "-d", url, "--load-id=l", "-q"]);
    load.args(SMALL).args(options).current_dir(bench.folder.path());
    if !failpoint.is_empty() {
        load.env("PGSLUICE_FAILPOINT", failpoint);
    }
    Running::start(load.stdin(Stdio::null()))
}

/// A load that dies when some of its payloads are in.
fn die(bench: &Bench, url: &str, options: &[&str]) {
    let ended = start(bench, url, "payload::committed:3", options).ended();
    assert_eq!(ended.status.signal(), Some(9), "{ended:?}");
    bench.wait_for_sessions();
    let there = bench.count("t");
    assert!(0 < there && there < ROWS as u64, "{there} rows are in");
}

/// `rows` rows of an id, a value and some text.
fn rows(rows: usize, value: impl Fn(usize) -> String) -> String {
    (0..rows).map(|id| format!("{id},{},{}\n", value(id), "x".repeat(100))).collect()
}

/// Resumes the load, which comes to its end with all rows, or is refused before it has sent any.
#[track_caller]
fn comes_to(bench: &Bench, url: &str, rows: u64) -> Ended {
    let before = bench.count("t");
    let ended = load(bench, url, &[]);
    let after = bench.count("t");
    match ended.status.code() {
        Some(0) => assert_eq!(after, rows, "{ended:?}"),
        _ => assert_eq!(after, before, "{ended:?}"),
    }
    let doubled = "SELECT count(*) FROM (SELECT FROM t GROUP BY id HAVING count(*) > 1) d";
    assert_eq!(bench.value(doubled), "0", "{ended:?}");
    ended
}

/// The way into the server as a role that may do what a load needs. The ledger is not its own.
fn as_role(bench: &Bench, role: &str) -> String {
    let database = bench.value("SELECT quote_ident(current_database())");
    bench.session.run("CREATE TABLE first (id int)");
    bench.file("first.csv", "1\n");
    assert_eq!(bench.load(["first.csv", "-t", "first"]).status.code(), Some(0));
    bench.session.run(&format!(
        "CREATE ROLE {role}; GRANT CREATE ON DATABASE {database} TO {role};
         GRANT USAGE ON SCHEMA public, pgsluice TO {role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pgsluice TO {role};
         GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO {role}"
    ));
    format!("{}?options=-c%20role%3D{role}", bench.url)
}

/// A name of this database's own for a role, since roles are the server's.
fn role_of(bench: &Bench, name: &str) -> String {
    format!(
        "{name}_{}",
        bench.value("SELECT oid FROM pg_database WHERE datname = current_database()")
    )
}
