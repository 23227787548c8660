//! Partitions that change between two runs of a load: committed rows stay, wherever they are now, and missing
//! rows go to their present leaf.

use crate::harness::{
    Bench, MONTHS, Server, Twins, hashed, inputs, on_each_server, plain, wait_until,
};

on_each_server!([
    leaves_are_split_and_merged,
    leaves_are_renamed_and_moved,
    layouts_change_twice,
    rows_that_are_left_to_the_server_have_no_leaf,
    unprovable_resumes_are_refused,
]);

const ROWS: usize = 40_000;

/// Starts a load, which dies when one leaf lacks rows and others have some. If no leaf is named, it dies early.
fn die(twins: &Twins, id: &str, locked: &str, options: &[&str]) {
    let Twins { bench, .. } = twins;
    if !locked.is_empty() {
        bench.session.run(&format!("BEGIN; LOCK TABLE {locked} IN SHARE MODE"));
    }
    let options = [&["--memory=1MiB", "-j2", "--few-rows=0"], options].concat();
    let load = twins.start(id, &options);
    wait_until("a commit", || bench.count("t") > 0);
    load.kill();
    if !locked.is_empty() {
        bench.session.run("COMMIT");
    }
    // The leaf must not grow while it is copied manually.
    bench.wait_for_sessions();
}

/// Changes both sides in the same way after a load has died, and resumes it.
fn check(server: Server, ddl: &str, locked: &str, changes: &str, options: &[&str]) {
    let twins = Twins::new(Bench::new(server), ddl, &inputs(ROWS, 2, plain));
    die(&twins, "l", locked, options);
    let session = &twins.bench.session;
    session.run(changes);
    session.run(&format!("SET search_path = twin; {changes}; RESET search_path"));
    let summary = twins.load("l", options).summary();
    assert!(summary["rows_already_loaded"].as_u64() > Some(0), "{summary}");
    twins.are_equal();
}

fn leaves_are_split_and_merged(server: Server) {
    check(
        server,
        MONTHS,
        "t_7_0",
        "CREATE TEMPORARY TABLE old AS SELECT * FROM t_3 UNION ALL SELECT * FROM t_4;
         DROP TABLE t_3, t_4;
         CREATE TABLE t_3a PARTITION OF t FOR VALUES FROM ('2024-03-01') TO ('2024-03-20');
         CREATE TABLE t_3b PARTITION OF t FOR VALUES FROM ('2024-03-20') TO ('2024-05-01');
         INSERT INTO t SELECT * FROM old; DROP TABLE old",
        &[],
    );
}

fn leaves_are_renamed_and_moved(server: Server) {
    check(
        server,
        MONTHS,
        "t_7_0",
        "ALTER TABLE t_2_1 RENAME TO other; ALTER TABLE t_5 RENAME TO t_0;
         ALTER TABLE t DETACH PARTITION t_12;
         CREATE TABLE t_d PARTITION OF t DEFAULT;
         WITH old AS (DELETE FROM t_12 RETURNING *) INSERT INTO t SELECT * FROM old",
        &[],
    );
}

fn layouts_change_twice(server: Server) {
    let inputs = inputs(ROWS, 2, plain);
    let twins = Twins::new(Bench::new(server), &hashed("id", 4), &inputs);
    let session = &twins.bench.session;
    let both = |changes: &str| {
        session.run(changes);
        session.run(&format!("SET search_path = twin; {changes}; RESET search_path"));
    };
    let divide = |leaf: &str, modulus: u32, remainder: u32| {
        both(&format!(
            "CREATE TEMPORARY TABLE old AS SELECT * FROM {leaf}; DROP TABLE {leaf};
             CREATE TABLE {leaf}a PARTITION OF t
                 FOR VALUES WITH (MODULUS {modulus}, REMAINDER {remainder});
             CREATE TABLE {leaf}b PARTITION OF t
                 FOR VALUES WITH (MODULUS {modulus}, REMAINDER {});
             INSERT INTO t SELECT * FROM old; DROP TABLE old",
            remainder + modulus / 2
        ));
    };
    die(&twins, "l", "t_2", &[]);
    divide("t_1", 8, 1);
    let first = twins.bench.count("t");
    let Twins { bench, .. } = &twins;
    session.run("BEGIN; LOCK TABLE t_2 IN SHARE MODE");
    let load = twins.start("l", &["--memory=1MiB", "-j2", "--few-rows=0"]);
    wait_until("a commit", || bench.count("t") > first);
    load.kill();
    session.run("COMMIT");
    bench.wait_for_sessions();
    divide("t_1a", 16, 1);
    assert_eq!(bench.count("pgsluice.tree"), 2);
    twins.load("l", &["-j3"]).summary();
    twins.are_equal();
    assert_eq!(bench.count("pgsluice.tree"), 0);
}

fn rows_that_are_left_to_the_server_have_no_leaf(server: Server) {
    check(
        server,
        MONTHS,
        "",
        "CREATE TEMPORARY TABLE old AS SELECT * FROM t_3; DROP TABLE t_3;
         CREATE TABLE t_3 PARTITION OF t FOR VALUES FROM ('2024-03-01') TO ('2024-04-01');
         INSERT INTO t SELECT * FROM old; DROP TABLE old",
        &["--no-native"],
    );
}

fn unprovable_resumes_are_refused(server: Server) {
    let ddl = hashed("(id # 0)", 4);
    let twins = Twins::new(Bench::new(server), &ddl, &inputs(ROWS, 2, plain));
    die(&twins, "l", "t_2", &[]);
    twins.bench.session.run("ALTER TABLE t_1 RENAME TO other");
    let before = twins.bench.count("t");
    twins.load("l", &[""; 0]).fails(
        1,
        &[
            "the partitions have changed, and pgsluice cannot tell which rows were loaded: \
             public.t: the server evaluates its key (SQLSTATE 0A000)",
            "\nHINT:",
        ],
    );
    assert_eq!(twins.bench.count("t"), before);
    twins.bench.session.run("ALTER TABLE other RENAME TO t_1");
    twins.load("l", &[""; 0]).summary();
    twins.are_equal();
}
