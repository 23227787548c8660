//! A small input, which goes through the root without reading the tree.

use std::process::Stdio;

use crate::harness::{Bench, Ended, Running, Server, on_each_server, program, rows};

on_each_server!([
    a_small_load_reports_that_it_goes_through_the_root,
    small_depends_on_the_leaves,
    a_mistake_in_a_small_load_is_found_where_it_is,
    errors_of_a_small_load_are_those_of_any_load,
    a_deferred_constraint_refuses_a_small_load,
    rows_of_a_small_load_that_a_trigger_drops_are_counted,
]);

const SAID: &str = "so few are routed there sooner than the partitions are read";

fn load(bench: &Bench, more: &[&str]) -> Ended {
    bench.load(["rows.csv", "-t", "t"].iter().chain(more))
}

fn a_small_load_reports_that_it_goes_through_the_root(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", rows(299, 3));
    let summary = load(bench, &["--json", "-q"]).summary();
    assert_eq!((&summary["rows_loaded"], bench.count("t")), (&299.into(), 299));
    let lanes =
        serde_json::json!({"routed_natively": 0, "routed_by_query": 0, "routed_by_server": 299});
    assert_eq!((&summary["lanes"], &summary["jobs"]), (&lanes, &1.into()), "{summary}");
    assert!(summary["fallbacks"].to_string().contains(SAID), "{summary}");
    let ended = load(bench, &[]);
    let message = "in one COPY by 1 connection, which is fastest for so few rows";
    assert!(ended.stderr.contains(message), "{ended:?}");
    assert!(!ended.stderr.contains("fallback"), "{ended:?}");
}

/// Loads with the program's own limit for small inputs.
fn really(bench: &Bench, options: &[&str]) -> Ended {
    let mut load = program();
    load.env_remove("PGSLUICE_SMALL_ROWS").args(["load", "rows.csv", "-t", "t", "-d", &bench.url]);
    load.args(options).current_dir(bench.folder.path());
    Running::start(load.stdin(Stdio::null())).ended()
}

fn small_depends_on_the_leaves(server: Server) {
    let bench = &Bench::new(server);
    let row = |length: usize| [b"7,", &vec![b'x'; length - 3][..], b"\n"].concat();
    for (leaves, rows) in [(0, 12 << 14), (128, 12 << 14), (129, 1 << 14)] {
        let by = if leaves == 0 { "" } else { "PARTITION BY HASH (id)" };
        bench.session.run(&format!("DROP TABLE IF EXISTS t; CREATE TABLE t (id int, v text) {by}"));
        for leaf in 0..leaves {
            let of = format!("FOR VALUES WITH (MODULUS {leaves}, REMAINDER {leaf})");
            bench.session.run(&format!("CREATE TABLE h{leaf} PARTITION OF t {of}"));
        }
        for (last, lane) in [(64, "routed_by_server"), (65, "routed_natively")] {
            bench.file("rows.csv", [row(64).repeat(rows - 1), row(last)].concat());
            let summary = really(bench, &["--json", "-q"]).summary();
            assert_eq!(summary["lanes"][lane], rows, "{leaves}: {summary}");
        }
        assert_eq!(bench.count("t"), 2 * rows as u64);
    }
    // A leaf that is partitioned itself may have many leaves.
    bench.session.run("ALTER TABLE t RENAME TO u; CREATE TABLE t (LIKE u) PARTITION BY LIST (v)");
    bench.session.run("ALTER TABLE t ATTACH PARTITION u DEFAULT");
    bench.file("rows.csv", row(64).repeat((1 << 14) + 1));
    assert_eq!(really(bench, &["--json", "-q"]).summary()["lanes"]["routed_by_server"], 0);
}

fn a_mistake_in_a_small_load_is_found_where_it_is(server: Server) {
    let bench = &Bench::with_table(server);
    for (at, row, message) in [
        (1, "id,v", "rows.csv:1: column id: invalid input syntax for type integer: \"id\""),
        (9_000, "x,1", "rows.csv:9000:"),
        (10_000, "1000,b", "no partition of relation \"t\" found for row"),
        (5_000, "1", "rows.csv:5000:"),
    ] {
        let input = String::from_utf8(rows(10_000, 10)).unwrap();
        let mut lines: Vec<&str> = input.lines().collect();
        lines[at - 1] = row;
        bench.file("rows.csv", lines.join("\n"));
        really(bench, &[]).fails_empty(&[message]);
        assert_eq!(bench.count("t"), 0);
    }
    let rejects = ["--reject-file=bad", "--max-rejects=5", "--json", "-q"];
    let summary = really(bench, &rejects).summary_of(3);
    assert_eq!((&summary["rows_loaded"], bench.count("t")), (&9_999.into(), 9_999));
}

fn errors_of_a_small_load_are_those_of_any_load(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", "1,a\n2,b\nthree,c\n");
    let place = "rows.csv:3";
    let ended = load(bench, &[]);
    ended.fails(1, &[place, "invalid input syntax for type integer"]);
    assert_eq!(ended.committed(), bench.count("t"));
    bench.session.run("TRUNCATE t");
    bench.file("rows.csv", "1,a\n1000,b\n");
    // Another connection might have committed the first row by then.
    load(bench, &["-j1"]).fails_empty(&["no partition of relation \"t\" found for row"]);
    bench.file("rows.csv", "id,w\n1,a\n");
    load(bench, &["--header=match"]).fails(1, &["column name mismatch in header line"]);
    assert_eq!(bench.count("t"), 0);
    bench.file("rows.csv", "1,\"a\n");
    load(bench, &[]).fails_empty(&["unterminated CSV quoted field"]);
    bench.file("rows.csv", "1,a\n");
    bench.load(["rows.csv", "-t", "u"]).fails(1, &["relation \"u\" does not exist"]);
    assert_eq!(bench.count("t"), 0);
}

fn a_deferred_constraint_refuses_a_small_load(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(
        "CREATE TABLE p (id int PRIMARY KEY);
         CREATE TABLE t (id int REFERENCES p DEFERRABLE INITIALLY DEFERRED, v text)
             PARTITION BY RANGE (id);
         CREATE TABLE t0 PARTITION OF t FOR VALUES FROM (0) TO (10);
         INSERT INTO p VALUES (1)",
    );
    bench.file("rows.csv", "1,a\n2,b\n");
    load(bench, &[]).fails_empty(&["violates foreign key constraint"]);
    assert_eq!(bench.count("t"), 0);
}

fn rows_of_a_small_load_that_a_trigger_drops_are_counted(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.session.run(
        "CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN IF NEW.id % 2 = 0 THEN RETURN NULL; END IF; RETURN NEW; END';
         CREATE TRIGGER odd BEFORE INSERT ON t1 FOR EACH ROW EXECUTE FUNCTION odd()",
    );
    bench.file("rows.csv", "1,a\n12,b\n13,c\n");
    let summary = load(bench, &["--json", "-q", "--load-id", "l"]).summary();
    assert_eq!((&summary["rows_dropped"], &summary["rows_loaded"]), (&1.into(), &2.into()));
    assert!(!summary["fallbacks"].to_string().contains("trigger"), "{summary}");
    let again = load(bench, &["--json", "-q", "--load-id", "l"]).summary();
    let rows =
        ["rows_read", "rows_dropped", "rows_already_loaded"].map(|name| again[name].as_u64());
    assert_eq!(rows, [3, 1, 2].map(Some), "{again}");
}
