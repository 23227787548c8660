//! Loads that do not finish: the table does not change, and the tables that they built are removed.

use super::Case;
use super::swapped::{begun, feed_the_rest};
use crate::harness::{WAITS, on_each_server, wait_until};

on_each_server!(with super::Case::new, [a_row_that_is_refused, a_key_that_is_there_twice, a_foreign_key_that_fails, another_exchange, a_load_that_lost_its_lock, a_signal, killed_while_rows_go_in, killed_while_indexes_are_built, tables_that_only_look_like_leftovers,]);

const TABLE: &str = "
CREATE TABLE t (k int, id int NOT NULL, PRIMARY KEY (k, id)) PARTITION BY LIST (k);
CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES IN (2);";

fn a_row_that_is_refused(case: &Case) {
    case.run(TABLE);
    let dump = case.dump();
    for (row, message) in [
        ("1,x\n", "rows.csv:3: column id: invalid input syntax for type integer: \"x\""),
        ("1,\n", "rows.csv:3: column id: null value in column \"id\" of relation"),
    ] {
        let refused = case.load(&format!("1,1\n2,2\n{row}"), &[]);
        refused.fails_empty(&[message, "was being built for public.t_1"]);
        case.is_untouched(&dump);
    }
    // No partition accepts the row, and the server names the root.
    case.load("1,1\n3,1\n", &[]).fails(1, &["no partition of relation \"t\" found for row"]);
    case.nothing_is_left();
}

fn a_key_that_is_there_twice(case: &Case) {
    case.run(TABLE);
    let dump = case.dump();
    let refused = case.load("1,1\n2,2\n1,1\n", &[]);
    refused.fails_empty(&[
        "could not create unique index",
        "(k, id)=(1, 1)",
        "index t_1_pkey of public.t_1",
    ]);
    case.is_untouched(&dump);
}

fn a_foreign_key_that_fails(case: &Case) {
    case.run(TABLE);
    case.run("CREATE TABLE other (id int PRIMARY KEY); INSERT INTO other VALUES (1)");
    case.run("ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (id) REFERENCES other");
    let dump = case.dump();
    let refused = case.load("1,1\n2,2\n", &[]);
    refused.fails_empty(&[
        "violates foreign key constraint \"f\"",
        "(id)=(2)",
        "foreign key f of public.t_2",
    ]);
    case.is_untouched(&dump);
}

fn another_exchange(case: &Case) {
    let mut load = begun(case, &[]);
    let refused = case.load("1,1,x\n", &[]);
    refused.fails(1, &["another load is exchanging partitions of public.t", "HINT"]);
    // An exchange of another table removes nothing that belongs to it, and neither does a load without exchange.
    case.run(
        "CREATE TABLE u (k int) PARTITION BY LIST (k); CREATE TABLE u_1 PARTITION OF u DEFAULT",
    );
    case.bench.file("u.csv", "1\n");
    let other = case.bench.load(["u.csv", "-t", "u", "--exchange", "-q", "--json"]);
    assert_eq!(other.summary()["exchanged"], 1);
    feed_the_rest(&mut load);
    assert_eq!(load.ended().summary()["rows_loaded"], 40_000);
    case.nothing_is_left();
}

/// The next load takes its tables for leftovers. Neither load gets the other's rows.
fn a_load_that_lost_its_lock(case: &Case) {
    let mut load = begun(case, &[]);
    let lost = "SELECT count(pg_terminate_backend(pid)) FROM pg_locks
                WHERE locktype = 'advisory' AND objid = 't'::regclass
                  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    assert_eq!(case.value(lost), "1");
    let locks = lost.replace("pg_terminate_backend(pid)", "*");
    wait_until("the loss", || case.value(&locks) == "0");
    let next = case.load("1,1,x\n2,2,y\n", &[]).summary();
    assert_eq!((&next["exchanged"], &next["rows_loaded"]), (&2.into(), &2.into()));
    feed_the_rest(&mut load);
    load.ended().fails_empty(&["error: ", "HINT:  "]);
    assert_eq!(case.value("SELECT string_agg(v, ' ' ORDER BY id) FROM t"), "x y");
    case.nothing_is_left();
}

fn a_signal(case: &Case) {
    let load = begun(case, &[]);
    load.signal("-INT");
    load.ended().fails(130, &["interrupted", "No row of this load is in the table."]);
    assert_eq!(case.value("SELECT count(*) FROM t"), "0");
    case.nothing_is_left();
}

fn killed_while_rows_go_in(case: &Case) {
    let load = begun(case, &[]);
    load.signal("-KILL");
    load.ended();
    the_next_one_succeeds(case, 1);
}

fn killed_while_indexes_are_built(case: &Case) {
    let mut load = begun(case, &[]);
    // An index whose build takes as long as the lock is held.
    case.run("BEGIN; LOCK TABLE ONLY t_2 IN ACCESS SHARE MODE");
    let beside = "SELECT relname FROM pg_class WHERE relname LIKE 'pgsluice_new_%' AND relkind = 'r' LIMIT 1";
    let beside = case.value(beside);
    case.run(&format!("LOCK TABLE {beside} IN ROW EXCLUSIVE MODE"));
    feed_the_rest(&mut load);
    let other = case.bench.other();
    let waiting = format!("SELECT count(*) > 0 FROM {WAITS} AND mode = 'ShareLock'");
    wait_until("the building of the index", || other.rows(&waiting)[0][0].as_deref() == Some("t"));
    load.signal("-KILL");
    load.ended();
    case.run("COMMIT");
    the_next_one_succeeds(case, 1);
}

/// Checks that the next load of this table or of another one succeeds, and removes the leftovers.
#[track_caller]
fn the_next_one_succeeds(case: &Case, rows: u64) {
    assert_eq!(case.value("SELECT count(*) FROM t"), "0");
    let backends = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pgsluice'";
    wait_until("the end of its sessions", || case.value(backends) == "0");
    let left =
        "SELECT count(*) FROM pg_class WHERE relname LIKE 'pgsluice_new_%' AND relkind = 'r'";
    assert_eq!(case.value(left), "2");
    let summary = case.load("1,1,x\n", &[]).summary();
    assert_eq!((&summary["exchanged"], &summary["rows_loaded"]), (&1.into(), &rows.into()));
    case.nothing_is_left();
}

fn tables_that_only_look_like_leftovers(case: &Case) {
    case.run(TABLE);
    let (leaf, root) =
        (case.value("SELECT 't_1'::regclass::oid"), case.value("SELECT 't'::regclass::oid"));
    let comment = |leaf: &str| {
        format!(
            "pgsluice exchange: to take the place of leaf {leaf} of table {root}. If no load is running, \
             the next load --exchange drops it."
        )
    };
    // The name without the comment; the comment without the name; another table's comment; a view; a
    // partition; a parent.
    case.run(&format!(
        "CREATE TABLE pgsluice_new_1_a (a int);
         CREATE TABLE mine (a int); COMMENT ON TABLE mine IS '{0}';
         CREATE TABLE pgsluice_new_2_a (a int); COMMENT ON TABLE pgsluice_new_2_a IS '{0}';
         CREATE TABLE pgsluice_new_3_a (a int); COMMENT ON TABLE pgsluice_new_3_a IS '{1} Really.';
         CREATE VIEW pgsluice_new_4_a AS SELECT 1; COMMENT ON VIEW pgsluice_new_4_a IS '{2}';
         CREATE TABLE pgsluice_new_5_a PARTITION OF t FOR VALUES IN (5); COMMENT ON TABLE pgsluice_new_5_a IS '{3}';
         CREATE TABLE pgsluice_new_6_a (a int); COMMENT ON TABLE pgsluice_new_6_a IS '{4}';
         CREATE TABLE child () INHERITS (pgsluice_new_6_a);
         CREATE TABLE pgsluice_new_7_a (a int); COMMENT ON TABLE pgsluice_new_7_a IS '{5}'",
        comment(&leaf), comment("3"), comment("4"), comment("5"), comment("6"), comment("7"),
    ));
    assert_eq!(case.load("1,1\n", &[]).summary()["exchanged"], 1);
    let kept = "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class
                WHERE relname ~ '^(pgsluice_new|mine)' AND relkind IN ('r', 'v')";
    let names = [1, 2, 3, 4, 5, 6].map(|number| format!("pgsluice_new_{number}_a")).join(" ");
    assert_eq!(case.value(kept), format!("mine {names}"), "only the last one was a leftover");
}
