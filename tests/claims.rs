//! Claims: only the bytes of a row, the tree and the recorded terms decide to which node the row goes.
//! Whatever changes between a kill and the resume, no row is loaded twice or lost.

mod changed;
mod clock;
mod golden;
mod privileges;
mod searched;

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use crate::harness::{Bench, Ended, Running, program};

/// Number of rows of an input, enough for several payloads in the least memory.
const ROWS: usize = 20_000;

/// Options under which a load has several payloads.
const SMALL: [&str; 2] = ["--memory=1MiB", "-j2"];

/// Loads `rows.csv` into `t` with the load id `l`.
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

/// Starts a load that dies when some of its payloads are committed.
fn die(bench: &Bench, url: &str, options: &[&str]) {
    let ended = start(bench, url, "payload::committed:3", options).ended();
    assert_eq!(ended.status.signal(), Some(9), "{ended:?}");
    bench.wait_for_sessions();
    let there = bench.count("t");
    assert!(0 < there && there < ROWS as u64, "{there} rows are in");
}

/// Returns `rows` rows with an id, a value and some text.
fn rows(rows: usize, value: impl Fn(usize) -> String) -> String {
    (0..rows).map(|id| format!("{id},{},{}\n", value(id), "x".repeat(100))).collect()
}

/// Resumes the load, which must succeed with all rows, or be refused before it sends a row.
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

/// Returns the URL for a role with the privileges that a load needs. The role does not own the ledger.
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

/// Returns a name for a role that is unique to this database, because roles are shared by the whole server.
fn role_of(bench: &Bench, name: &str) -> String {
    format!(
        "{name}_{}",
        bench.value("SELECT oid FROM pg_database WHERE datname = current_database()")
    )
}
