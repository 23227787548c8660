//! Tables that do not exist, are not tables, or are not writable, and names that need quoting.

use crate::harness::{Bench, Server, on_each_server};

on_each_server!([
    relations_that_are_no_tables_are_refused,
    names_are_read_as_sql_reads_them,
    every_kind_of_table_takes_rows,
    privileges_are_the_servers_to_judge,
    settings_of_a_role_do_not_matter_or_are_reported,
    a_table_that_was_never_split_has_no_partition_for_a_row,
]);

const LOGIN: &str = "geheim-42";

/// Creates a role, replacing an existing one, and returns the URL for it.
fn as_role(bench: &Bench, role: &str) -> String {
    let role = format!("{role}_{}", bench.value("SELECT current_database()"));
    bench.session.run(&format!("CREATE ROLE {role} LOGIN PASSWORD '{LOGIN}'"));
    let (_, server) = bench.url.split_once('@').unwrap();
    format!("postgresql://{role}:{LOGIN}@{server}")
}

fn drop_role(bench: &Bench, role: &str) {
    let role = format!("{role}_{}", bench.value("SELECT current_database()"));
    bench.session.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

fn relations_that_are_no_tables_are_refused(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.session.run(
        "CREATE TABLE plain (id int PRIMARY KEY, v text);
         CREATE VIEW a_view AS SELECT * FROM plain;
         CREATE SEQUENCE a_sequence;
         CREATE INDEX an_index ON t (id);
         CREATE TYPE a_type AS (id int, v text);
         CREATE MATERIALIZED VIEW a_matview AS SELECT * FROM plain",
    );
    bench.file("rows.csv", "1,a\n");
    let oid = bench.value("SELECT 't'::regclass::oid");
    let cases = [
        ("nothing", "relation \"nothing\" does not exist (SQLSTATE 42P01)\nHINT:"),
        (&oid, "does not exist (SQLSTATE 42P01)"),
        ("123", "relation \"123\" does not exist (SQLSTATE 42P01)"),
        ("", "relation \"\" does not exist (SQLSTATE 42P01)"),
        ("\"T\"", "relation \"\"T\"\" does not exist (SQLSTATE 42P01)\nHINT:"),
        ("t; DROP TABLE t", "(SQLSTATE 42"),
        ("pg_temp.t", "relation \"pg_temp.t\" does not exist (SQLSTATE 42P01)"),
        ("no_schema.t", "does not exist (SQLSTATE 42P01)"),
        ("a.b.c.d", "improper relation name (too many dotted names): a.b.c.d (SQLSTATE 42601)"),
        ("a_view", "cannot copy to view \"a_view\" (SQLSTATE 42809)"),
        ("a_sequence", "cannot copy to sequence \"a_sequence\" (SQLSTATE 42809)\nHINT:"),
        ("plain_pkey", "cannot copy to index \"plain_pkey\" (SQLSTATE 42809)"),
        ("an_index", "cannot copy to index \"an_index\" (SQLSTATE 42809)"),
        ("a_type", "cannot copy to composite type \"a_type\" (SQLSTATE 42809)"),
        ("a_matview", "cannot copy to materialized view \"a_matview\" (SQLSTATE 42809)"),
        ("pg_catalog.pg_class", "(SQLSTATE "),
    ];
    for (table, message) in cases {
        bench.load(["rows.csv", "-t", table]).fails(1, &[message]);
    }
    assert_eq!(bench.count("t"), 0);
}

fn names_are_read_as_sql_reads_them(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(
        "CREATE SCHEMA \"S.x\";
         CREATE TABLE \"S.x\".\"T.\"\"y\" (id int, v text) PARTITION BY HASH (id);
         CREATE TABLE \"S.x\".\"L 'z\\\" PARTITION OF \"S.x\".\"T.\"\"y\"
             FOR VALUES WITH (MODULUS 1, REMAINDER 0);
         CREATE TABLE lower (id int, v text)",
    );
    bench.file("rows.csv", "1,a\n2,b\n");
    for table in ["\"S.x\".\"T.\"\"y\"", "LOWER", "Public.\"lower\""] {
        let ended = bench.load(["rows.csv", "-t", table, "--json", "-q"]);
        assert_eq!(ended.summary()["rows_loaded"], 2, "{table}");
    }
    assert_eq!(bench.count("\"S.x\".\"L 'z\\\""), 2);
    assert_eq!(bench.count("lower"), 4);
}

fn every_kind_of_table_takes_rows(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(
        "CREATE UNLOGGED TABLE unlogged (id int, v text);
         CREATE TABLE parent (id int, v text);
         CREATE TABLE child () INHERITS (parent);
         CREATE TABLE tree (id int, v text) PARTITION BY RANGE (id);
         CREATE TABLE sub PARTITION OF tree FOR VALUES FROM (0) TO (10) PARTITION BY HASH (id);
         CREATE TABLE sub0 PARTITION OF sub FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE sub1 PARTITION OF sub FOR VALUES WITH (MODULUS 2, REMAINDER 1);
         CREATE TABLE other PARTITION OF tree FOR VALUES FROM (10) TO (20)",
    );
    bench.file("rows.csv", "1,a\n2,b\n3,c\n");
    for table in ["unlogged", "parent", "sub"] {
        let ended = bench.load(["rows.csv", "-t", table, "--json", "-q"]);
        assert_eq!(ended.summary()["rows_loaded"], 3, "{table}");
        assert_eq!(bench.count(table), 3, "{table}");
    }
    assert_eq!(bench.count("ONLY parent"), 3);
    // A leaf that is named directly accepts only its own rows.
    let ended = bench.load(["rows.csv", "-t", "other"]);
    let message = "violates partition constraint (SQLSTATE 23514)";
    ended.fails_empty(&["rows.csv:1: ", message]);
}

fn privileges_are_the_servers_to_judge(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    let url = as_role(bench, "loader");
    let role = url.split(['/', ':']).nth(3).unwrap().to_owned();
    bench.session.run("CREATE SCHEMA closed; CREATE TABLE closed.t (id int, v text)");
    let rows = bench.file("rows.csv", "1,a\n11,b\n");
    let rows = rows.to_str().unwrap();
    let load =
        |table: &str| bench.load_into(&url, [rows, "-t", table, "--json", "-q", "--few-rows=300"]);

    let denied = "permission denied for table t (SQLSTATE 42501)";
    load("t").fails_empty(&[denied, "\nHINT:  The user needs INSERT"]);
    // The privileges of the named table count, not those of its leaves.
    bench.session.run(&format!("GRANT INSERT ON t0, t1 TO {role}"));
    load("t").fails_empty(&[denied]);
    load("closed.t").fails(1, &["permission denied for schema closed (SQLSTATE 42501)"]);
    bench.session.run(&format!("REVOKE INSERT ON t0 FROM {role}; GRANT INSERT ON t TO {role}"));
    let summary = load("t").summary();
    assert_eq!(summary["rows_loaded"], 2);
    let fallbacks = summary["fallbacks"].to_string();
    assert!(fallbacks.contains("may not insert into it directly"), "{summary}");
    drop_role(bench, "loader");
}

fn settings_of_a_role_do_not_matter_or_are_reported(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    let url = as_role(bench, "odd");
    let role = url.split(['/', ':']).nth(3).unwrap().to_owned();
    bench.session.run(&format!(
        "GRANT INSERT ON t TO {role};
         CREATE SCHEMA shadow; GRANT USAGE ON SCHEMA shadow TO {role};
         CREATE TABLE shadow.pg_class (id int);
         CREATE FUNCTION shadow.current_database() RETURNS name LANGUAGE sql AS 'SELECT NULL::name';
         ALTER ROLE {role} SET search_path = shadow, \"$user\", public, pg_catalog;
         ALTER ROLE {role} SET statement_timeout = '500ms';
         ALTER ROLE {role} SET lock_timeout = '500ms';
         ALTER ROLE {role} SET default_transaction_isolation = 'serializable'"
    ));
    let rows = bench.file("rows.csv", crate::harness::rows(60_000, 100));
    let rows = rows.to_str().unwrap();
    let ended = bench.load_into(&url, [rows, "-t", "t", "--json", "-q"]);
    assert_eq!(ended.summary()["rows_loaded"], 60_000);

    bench.session.run(&format!("ALTER ROLE {role} SET search_path = ''"));
    bench.load_into(&url, [rows, "-t", "t"]).fails(1, &["(SQLSTATE 42P01)\nHINT:"]);
    bench.session.run(&format!("ALTER ROLE {role} SET default_transaction_read_only = on"));
    let ended = bench.load_into(&url, [rows, "-t", "public.t"]);
    ended.fails(1, &["in a read-only transaction (SQLSTATE 25006)", "\nHINT:"]);
    assert!(!ended.stderr.contains(LOGIN) && !ended.stderr.contains(".csv:"), "{ended:?}");
    assert_eq!(bench.count("t"), 60_000);
    drop_role(bench, "odd");
}

fn a_table_that_was_never_split_has_no_partition_for_a_row(server: Server) {
    let bench = Bench::new(server);
    bench.session.run("CREATE TABLE t (id int, v text) PARTITION BY RANGE (id)");
    bench.file("rows.csv", "1,a\n");
    let ended = bench.load(["rows.csv", "-t", "t"]);
    ended.fails_empty(&[
        "rows.csv:1: no partition of relation \"t\" found for row (SQLSTATE 23514)",
        "\nDETAIL:  Partition key of the failing row contains (id) = (1).",
    ]);
}
