//! Loads from a table that are killed and run again: the rest is loaded if the source is unchanged, and refused
//! otherwise.

use std::os::unix::process::ExitStatusExt;

use super::case::{Case, TREE};
use crate::harness::{Server, on_each_server};

on_each_server!([
    a_load_that_is_killed_is_resumed,
    a_source_that_changed_is_refused,
    another_source_is_refused,
    a_load_that_is_begun_anew_is_exact,
    an_atomic_load_that_is_killed,
]);

const DIFFERS: &str = "the input differs from the one that this load began with";

/// Failpoints, in the order in which a load reaches them.
const POINTS: [&str; 8] = [
    "load::begun",
    "payload::begun:3",
    "payload::sent:3",
    "payload::committing:2",
    "payload::committed:1",
    "payload::committed:4",
    "load::flushing",
    "load::closing",
];

/// Tables with a key, which replace the existing ones.
const KEYED: &str = "
DROP TABLE t;
CREATE TABLE t (id int PRIMARY KEY, day date, v text) PARTITION BY HASH (id);
CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)";

/// A limit that is small enough for many payloads.
const MEMORY: &str = "--memory=1MiB";

/// Creates the tables, and a source of several megabytes.
fn make(server: Server) -> Case {
    let case = Case::elsewhere(server);
    case.make(TREE);
    case.make_old(40_000);
    case.copy("old", "id, day, v");
    case
}

/// Kills the load `id` at `point`.
fn die(case: &Case, id: &str, point: &str, options: &[&str]) {
    let options = [&["--load-id", id, MEMORY, "--few-rows=0"], options].concat();
    let ended = case.start_with("old", &options, &[("PGSLUICE_FAILPOINT", point)]).ended();
    assert_eq!(ended.status.signal(), Some(9), "{point}: {ended:?}");
    case.bench.end_orphans();
}

fn a_load_that_is_killed_is_resumed(server: Server) {
    let case = make(server);
    for (number, point) in POINTS.into_iter().enumerate() {
        case.bench.session.run("TRUNCATE public.t");
        die(&case, point, point, &[["-j1", "-j3"][number % 2]]);
        let jobs = ["-j1", "-j2", "-j4"][number % 3];
        case.load("old", &["--load-id", point, jobs]).summary();
        case.agree(point);
        let again = case.load("old", &["--load-id", point]).summary();
        assert_eq!(again["rows_loaded"], 0, "{point}: {again}");
        case.agree(point);
    }
}

fn a_source_that_changed_is_refused(server: Server) {
    for (number, change) in [
        "UPDATE old SET v = 'other'",
        "DELETE FROM old",
        "TRUNCATE old",
        "DELETE FROM old WHERE ctid IN (SELECT ctid FROM old ORDER BY ctid LIMIT 1)",
        "CREATE TABLE copied AS SELECT * FROM old ORDER BY id DESC; DROP TABLE old;
         ALTER TABLE copied RENAME TO old",
    ]
    .into_iter()
    .enumerate()
    {
        let case = make(server);
        let id = number.to_string();
        die(&case, &id, "payload::committed:4", &["-j1"]);
        let before = case.bench.count("t");
        assert!(before > 0, "{change}");
        case.source().session.run(change);
        let ended = case.load("old", &["--load-id", &id]);
        ended.fails(1, &[DIFFERS, "DETAIL:  ", "HINT:  ", &format!("pgsluice ledger forget {id}")]);
        assert_eq!(case.bench.count("t"), before, "{change}");
    }
}

fn another_source_is_refused(server: Server) {
    let case = make(server);
    die(&case, "l", "payload::committed:4", &["-j1"]);
    case.source().session.run(
        "CREATE TABLE other AS SELECT v || 'x' AS v, day, id FROM old; CREATE VIEW seen AS SELECT * FROM old",
    );
    let before = case.bench.count("t");
    case.load("other", &["--load-id=l"]).fails(1, &[DIFFERS]);
    let filtered = case.load("old", &["--load-id=l", "--where=id > 0"]);
    filtered.fails(1, &["this load was begun with", "--where"]);
    case.bench.file("rows.csv", "1,2024-01-01,x\n");
    case.bench.load(["rows.csv", "-t", "public.t", "--load-id=l"]).fails(1, &["error: "]);
    assert_eq!(case.bench.count("t"), before);
    case.load("old", &["--load-id=l"]).summary();
    case.agree("the source that it began with");
}

/// With a key, another load skips the rows that the first one has committed.
fn a_load_that_is_begun_anew_is_exact(server: Server) {
    let case = make(server);
    case.make(KEYED);
    die(&case, "l", "payload::committed:4", &["-j1"]);
    let change =
        "INSERT INTO old SELECT 'new', '2024-01-31', id FROM generate_series(50001, 50500) AS id";
    case.source().session.run(change);
    case.copy("old", "id, day, v");
    case.load("old", &["--load-id=m", "--on-conflict=skip", "--key=id"]).summary();
    case.agree("rows that were there were skipped");
}

fn an_atomic_load_that_is_killed(server: Server) {
    let case = make(server);
    for point in ["payload::sent:3", "atomic::committing", "atomic::committed"] {
        case.bench.session.run("TRUNCATE public.t");
        die(&case, point, point, &["--atomic"]);
        let found = case.bench.count("t");
        assert!(point == "atomic::committed" || found == 0, "{point}: {found}");
        case.load("old", &["--load-id", point, "--atomic"]).summary();
        case.agree(point);
    }
}
