//! Impossible requests are refused before a row is sent, and the message gives the reason.

use std::process::Stdio;

use crate::harness::{Bench, Running, Server, on_each_server, program};

on_each_server!([
    options_that_make_no_sense,
    keys_that_are_none,
    tables_that_cannot_be_changed,
    several_constraints,
    rows_whose_leaf_is_unknown,
    rights_that_are_missing,
    duplicates_that_must_not_be,
]);

const TABLES: &str = "
CREATE TABLE t (id int, day date, v int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
INSERT INTO t VALUES (1, '2024-01-10', 0), (2, '2024-02-10', 0);
CREATE VIEW seen AS SELECT * FROM t;
CREATE TABLE ruled (id int PRIMARY KEY, v int);
CREATE RULE none AS ON INSERT TO ruled DO ALSO NOTHING;
CREATE TABLE later (id int UNIQUE DEFERRABLE, v int);
CREATE TABLE part (id int, v int);
CREATE UNIQUE INDEX ON part (id) WHERE v > 0;
CREATE TABLE computed (id int, v int);
CREATE UNIQUE INDEX ON computed (abs(id));
CREATE TABLE several (id int PRIMARY KEY, v int UNIQUE);
CREATE TABLE pair (id int, day date, v int, UNIQUE (id, day), UNIQUE (v, day)) PARTITION BY RANGE (day);
CREATE TABLE pair_1 PARTITION OF pair DEFAULT";

/// Runs a load for each entry. Each must fail with a message whose first line has both words, and whose other
/// lines have the rest.
fn refuses(server: Server, loads: &[(&str, &[&str])]) {
    let bench = Bench::new(server);
    bench.session.run(TABLES);
    // Two files with the same rows, because a file that is named twice is read only once.
    for file in ["days.csv", "again.csv"] {
        bench.file(file, "1,2024-01-10,1\n3,2024-02-10,3\n");
    }
    bench.file("ids.csv", "1,1\n2,2\n");
    bench.file("clock.csv", "1,2024-01-10,1\n2,today,2\n3,today,3\n");
    bench.file("alike.csv", "1,1\n2,1\n");
    bench.file("twice.csv", "5,2024-01-10,1\n6,2024-02-10,1\n5,2024-01-10,3\n");
    let rows = || bench.session.rows("SELECT tableoid::regclass, t::text FROM t ORDER BY 1, 2");
    let before = rows();
    for (line, parts) in loads {
        let ended = bench.load(line.split(' '));
        let status = ended.status.code().unwrap();
        assert_ne!(status, 0, "{line}");
        ended.fails(status, parts);
        assert!(ended.stderr.lines().next().unwrap().contains(parts[0]), "{line}: {ended:?}");
        assert_eq!(rows(), before, "{line}");
        let others = ["ruled", "later", "part", "computed", "several", "pair"];
        assert!(others.iter().all(|table| bench.count(table) == 0), "{line}");
    }
}

fn options_that_make_no_sense(server: Server) {
    refuses(
        server,
        &[
            (
                "days.csv -t t --on-conflict update --newer v --duplicates last",
                &["--newer already decides", "HINT:  Leave out --duplicates."],
            ),
            (
                "days.csv -t t --on-conflict skip --no-insert",
                &["--no-insert applies only to rows that are updated", "--on-conflict update"],
            ),
            (
                "days.csv -t t --on-conflict delete --no-insert",
                &["--no-insert applies only to rows that are updated", "--on-conflict update"],
            ),
            ("days.csv -t t --newer v", &["--newer applies only to rows that are updated"]),
            (
                "days.csv -t t --key id,day",
                &["--key applies only to rows whose key may already be in the table"],
            ),
            (
                "days.csv -t t --on-conflict update --exchange",
                &["--on-conflict and --exchange cannot be used together"],
            ),
            (
                "days.csv -t t --on-conflict update --update day",
                &["cannot update column day: it is part of the key (SQLSTATE 42P10)"],
            ),
        ],
    );
}

fn keys_that_are_none(server: Server) {
    refuses(
        server,
        &[
            ("days.csv -t t --on-conflict update --key nope", &["nope", "(SQLSTATE 42703)"]),
            (
                "days.csv -t t --on-conflict update --key v",
                &["(v)", "(SQLSTATE 42P10)", "t_1_pkey (id, day)"],
            ),
            (
                "ids.csv -t t --columns id,v --on-conflict update",
                &["column day", "is not in the input", "(SQLSTATE 42703)"],
            ),
            (
                "ids.csv -t t --columns id,v --on-conflict update --key id,day",
                &["column day", "is not in the input", "(SQLSTATE 42703)"],
            ),
            (
                "ids.csv -t later --on-conflict update --key id",
                &["(SQLSTATE 42P10)", "later_id_key", "deferrable"],
            ),
            (
                "ids.csv -t part --on-conflict update --key id",
                &["(SQLSTATE 42P10)", "part_id_idx", "is partial"],
            ),
            (
                "ids.csv -t later --on-conflict skip",
                &["(SQLSTATE 42P10)", "later_id_key", "deferrable"],
            ),
            (
                "ids.csv -t computed --on-conflict update --key id",
                &["(SQLSTATE 42P10)", "computed_abs_idx (an expression)"],
            ),
            (
                "ids.csv -t part --on-conflict delete",
                &["no primary key (SQLSTATE 42P10)", "Use --key"],
            ),
        ],
    );
}

fn rows_whose_leaf_is_unknown(server: Server) {
    refuses(
        server,
        &[
            (
                "days.csv -t pair --on-conflict skip --no-native",
                &[
                    "cannot send rows in input order: key day of public.pair: native routing is turned off, \
                     so the leaf of a row is unknown (SQLSTATE 0A000)",
                ],
            ),
            (
                "clock.csv -t pair --on-conflict skip -q",
                &[
                    "clock.csv:2: cannot send the row in input order: key day of public.pair: the value \
                     depends on the clock, so its leaf is unknown (SQLSTATE 0A000)",
                    "No row of this load is in the table",
                ],
            ),
        ],
    );
}

fn tables_that_cannot_be_changed(server: Server) {
    refuses(
        server,
        &[
            (
                "days.csv -t seen --on-conflict update --key id,day",
                &["it is a view (SQLSTATE 42809)"],
            ),
            ("ids.csv -t ruled --on-conflict update", &["it has rules (SQLSTATE 0A000)"]),
        ],
    );
}

fn several_constraints(server: Server) {
    refuses(
        server,
        &[
            (
                "ids.csv -t several --on-conflict skip --duplicates last",
                &["--duplicates needs a key", "(SQLSTATE 42P10)", "HINT:", "--key"],
            ),
            (
                "ids.csv -t part --on-conflict skip --duplicates error",
                &[
                    "--duplicates needs a key: index part_id_idx is partial (SQLSTATE 42P10)",
                    "HINT:",
                    "--key",
                ],
            ),
            (
                "alike.csv -t several --on-conflict skip --duplicates error",
                &[
                    "--duplicates needs a key: several constraints identify a row (SQLSTATE 42P10)",
                    "HINT:",
                    "--key",
                ],
            ),
        ],
    );
}

fn rights_that_are_missing(server: Server) {
    let bench = Bench::new(server);
    bench.session.run(TABLES);
    bench.file("days.csv", "1,2024-01-10,1\n");
    let database = bench.value("SELECT quote_ident(current_database())");
    let oid = "SELECT oid FROM pg_database WHERE datname = current_database()";
    let role = format!("changer_{}", bench.value(oid));
    bench.session.run(&format!(
        "CREATE ROLE {role}; GRANT CREATE ON DATABASE {database} TO {role};
         GRANT USAGE ON SCHEMA public TO {role}; GRANT SELECT, INSERT ON t, t_1, t_2 TO {role};
         REVOKE TEMPORARY ON DATABASE {database} FROM PUBLIC"
    ));
    let url = format!("{}?options=-c%20role%3D{role}", bench.url);
    let load = |action: &str| {
        let mut load = program();
        load.args(["load", "days.csv", "-t", "t", "-d", &url, "--on-conflict", action]);
        Running::start(load.current_dir(bench.folder.path()).stdin(Stdio::null())).ended()
    };
    let grant = format!("HINT:  GRANT TEMPORARY ON DATABASE {database} TO {role};");
    load("skip").fails(1, &["temporary tables in the database (SQLSTATE 42501)", &grant]);
    for right in ["UPDATE", "DELETE"] {
        let message = format!("this user lacks the {right} privilege (SQLSTATE 42501)");
        load(&right.to_lowercase()).fails(1, &[&message, &format!("can grant {right} on it")]);
    }
    bench.session.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

fn duplicates_that_must_not_be(server: Server) {
    for action in ["skip", "update", "delete"] {
        let one = format!("twice.csv -t t --on-conflict {action} --duplicates error");
        let two = format!("days.csv again.csv -t t --on-conflict {action} --duplicates error");
        refuses(
            server,
            &[
                (&one, &["twice.csv:3", "(SQLSTATE 21000)", "twice.csv:1"]),
                (&two, &["again.csv:1", "(SQLSTATE 21000)", "days.csv:1"]),
            ],
        );
    }
}
