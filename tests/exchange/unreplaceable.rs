//! Loads that cannot replace rows. Each is refused with the reason, and the table keeps all its rows.

use super::replaced::{CONTENT, MONTHS, REPLACE, fill, rows};
use super::{Case, same};
use crate::harness::on_each_server;

on_each_server!(with super::Case::new, [obstacles, all_rows_through_the_root, rows_that_only_the_server_routes, leaves_whose_rows_take_a_detour, more_leaves_than_locks, options_that_do_not_go_with_it,]);

const OLD: &str = "01 old 50, 03 old 50";

/// Each obstacle of a leaf with rows, and its name in messages.
const OBSTACLES: &[(&str, &str)] = &[
    ("CREATE VIEW w AS SELECT id FROM t_01", "rule _RETURN on view public.w depends on it"),
    (
        "CREATE TABLE far (d date, id int, CONSTRAINT f FOREIGN KEY (d, id) REFERENCES t);
         INSERT INTO far SELECT d, id FROM t LIMIT 1",
        "of public.far refers to it",
    ),
    ("CREATE PUBLICATION p FOR TABLE t_01", "the publication p publishes it"),
    ("CREATE POLICY p ON t_01", "it has the policy p"),
    ("CREATE RULE r AS ON DELETE TO t_01 DO INSTEAD NOTHING", "it has the rule r"),
    (
        "CREATE TRIGGER g AFTER DELETE ON t FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "its row-level trigger g would not fire",
    ),
    (
        "CREATE TRIGGER g AFTER TRUNCATE ON t_01 EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "its TRUNCATE trigger g would not fire",
    ),
];

fn obstacles(case: &Case) {
    for (put, named) in OBSTACLES {
        case.run(MONTHS);
        fill(case, &[1, 3], 50, "old");
        case.run(put);
        let dump = case.dump();
        let refused = case.load(&rows(&[1], 10, "new"), &[REPLACE]);
        refused.fails(1, &["cannot exchange public.t_01: ", named, "HINT:  Remove the obstacle"]);
        let file = case.bench.path("rows.csv");
        let given = ["plan", file.to_str().unwrap(), "-t", "t", REPLACE, "-d", &case.bench.url];
        let plan = crate::harness::run(&given, None);
        assert!(plan.status == Some(1) && plan.stderr.contains(named), "{plan:?}");
        same(&case.dump(), &dump);
        assert_eq!(case.value(CONTENT), OLD);
        case.run(
            "DROP PUBLICATION IF EXISTS p; DROP TABLE IF EXISTS far CASCADE; DROP TABLE t CASCADE",
        );
    }
}

fn all_rows_through_the_root(case: &Case) {
    case.run(MONTHS);
    fill(case, &[1, 3], 50, "old");
    case.run("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN null; END'");
    case.run("CREATE TRIGGER g BEFORE INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION f()");
    for how in [REPLACE, "--exchange=require"] {
        let refused = case.load(&rows(&[1], 10, "new"), &[how]);
        let why = "cannot exchange leaves of public.t: a statement-level trigger on public.t";
        refused.fails(1, &[why, "HINT:  Remove the obstacle"]);
        assert_eq!(case.value(CONTENT), OLD);
    }
}

/// The server would store these rows in the old leaves, which are dropped.
fn rows_that_only_the_server_routes(case: &Case) {
    case.run(MONTHS);
    fill(case, &[1, 3], 50, "old");
    let dump = case.dump();
    let refused = case.load(&rows(&[1], 10, "new"), &[REPLACE, "--no-native"]);
    refused.fails_empty(&[
        "rows for public.t cannot replace existing rows: only the server can route them",
    ]);
    let mixed = format!("{}2026-07-01,1,new\n", rows(&[1], 1000, "new"));
    let refused = case.load(&mixed, &[REPLACE]);
    refused.fails_empty(&["no partition of relation \"t\" found for row", "--create-partitions"]);
    same(&case.dump(), &dump);
    case.nothing_is_left();
    assert_eq!(case.value(CONTENT), OLD);
}

fn leaves_whose_rows_take_a_detour(case: &Case) {
    case.run(MONTHS);
    fill(case, &[1, 3], 50, "old");
    case.run("ALTER TABLE t_01 ALTER v SET DEFAULT 'own'");
    let rows: String = (0..10).map(|id| format!("2026-01-02,{id}\n")).collect();
    let refused = case.load(&rows, &[REPLACE, "--columns=d,id"]);
    let why = "rows for public.t_01 are not exchanged: its defaults for columns";
    refused.fails_empty(&[why, "HINT:  Remove the obstacle"]);
    case.nothing_is_left();
    assert_eq!(case.value(CONTENT), OLD);
}

fn more_leaves_than_locks(case: &Case) {
    case.run("CREATE TABLE t (k int) PARTITION BY LIST (k)");
    let leaf = |k: u32| format!("CREATE TABLE t_{k} PARTITION OF t FOR VALUES IN ({k})");
    (0..500).map(leaf).for_each(|leaf| case.run(&leaf));
    let rows: String = (0..1000).map(|row| format!("{}\n", row % 500)).collect();
    for how in [REPLACE, "--exchange=require"] {
        let refused = case.load(&rows, &[how]);
        refused.fails_empty(&["are not exchanged: one transaction cannot lock more tables"]);
        assert_eq!(case.value("SELECT count(*) FROM t"), "0");
        case.nothing_is_left();
    }
}

fn options_that_do_not_go_with_it(case: &Case) {
    case.run(MONTHS);
    fill(case, &[1, 3], 50, "old");
    for more in [
        &["--on-conflict=update"][..],
        &["--on-conflict=skip"],
        &["--atomic"],
        &["--reject-file=bad", "--max-rejects=1"],
    ] {
        let refused = case.load(&rows(&[1], 10, "new"), &[&[REPLACE], more].concat());
        refused.fails(2, &["error: "]);
        assert_eq!(case.value(CONTENT), OLD);
    }
}
