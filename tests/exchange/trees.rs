//! Trees of every kind: each row is where `COPY root` puts it.

use super::Case;
use crate::harness::on_each_server;

on_each_server!(with super::Case::new, [hash_with_primary_keys, range_with_gaps, list_with_default, three_levels, leaves_with_dropped_columns, hostile_names, keys_that_the_server_evaluates, rows_of_every_lane, identity_of_the_root, generated_columns, partitions_that_are_made_first,]);

fn numbered(rows: u32, row: impl Fn(u32) -> String) -> String {
    (0..rows).map(|number| format!("{}\n", row(number))).collect()
}

fn hash_with_primary_keys(case: &Case) {
    case.run(
        "CREATE TABLE t (id bigint PRIMARY KEY, v text) PARTITION BY HASH (id);
         CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER 0);
         CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER 1);
         CREATE TABLE t_2 PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER 2);
         CREATE TABLE t_3 PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER 3);
         CREATE INDEX ON t (v, id)",
    );
    // Several payloads for each leaf.
    let rows = numbered(40_000, |id| format!("{id},{}", "x".repeat(1 + id as usize % 400)));
    assert_eq!(case.same_as_copy(&rows, &["-j", "2", "--memory", "2MB"]), 4);
}

fn range_with_gaps(case: &Case) {
    case.run(
        "CREATE TABLE t (at timestamptz NOT NULL, n numeric(10, 2), k varchar(5) COLLATE \"C\")
             PARTITION BY RANGE (at, k);
         CREATE TABLE t_old PARTITION OF t FOR VALUES FROM (MINVALUE, MINVALUE) TO ('2020-01-01', 'b');
         CREATE TABLE t_20 PARTITION OF t FOR VALUES FROM ('2020-01-01', 'b') TO ('2021-01-01 00:00+02', 'q');
         CREATE TABLE t_idle PARTITION OF t FOR VALUES FROM ('2023-01-01', '') TO ('2024-01-01', MAXVALUE)",
    );
    let rows = "2019-05-05 00:00Z,1,a\n2020-01-01 00:00Z,2,a\n2020-01-01 00:00Z,3,b\n2020-12-31 00:00Z,,zz\n";
    case.run("SET timezone = 'UTC'");
    assert_eq!(case.same_as_copy(rows, &[]), 2, "a leaf without rows is left alone");
}

fn list_with_default(case: &Case) {
    case.run(
        "CREATE TABLE t (k text, n int NOT NULL) PARTITION BY LIST (k);
         CREATE TABLE t_d PARTITION OF t DEFAULT;
         CREATE TABLE t_ab PARTITION OF t FOR VALUES IN ('a', 'b');
         CREATE TABLE t_n PARTITION OF t FOR VALUES IN (NULL, 'it''s');
         CREATE INDEX ON t (n)",
    );
    assert_eq!(case.same_as_copy("a,1\nb,2\n,3\nit's,4\nother,5\n\"\",6\n", &[]), 3);
}

fn three_levels(case: &Case) {
    case.run(
        "CREATE TABLE t (d date, k int, id int, PRIMARY KEY (d, k, id)) PARTITION BY RANGE (d);
         CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2020-01-01') TO ('2021-01-01') PARTITION BY LIST (k);
         CREATE TABLE t_1_a PARTITION OF t_1 FOR VALUES IN (1, 2) PARTITION BY HASH (id);
         CREATE TABLE t_1_a_0 PARTITION OF t_1_a FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t_1_a_1 PARTITION OF t_1_a FOR VALUES WITH (MODULUS 2, REMAINDER 1);
         CREATE TABLE t_1_d PARTITION OF t_1 DEFAULT;
         CREATE TABLE t_d PARTITION OF t DEFAULT PARTITION BY LIST (k);
         CREATE TABLE t_d_1 PARTITION OF t_d FOR VALUES IN (1);
         CREATE TABLE t_d_d PARTITION OF t_d DEFAULT",
    );
    let rows = numbered(2000, |id| format!("20{}-05-05,{},{id}", 19 + id % 3, id % 4));
    assert_eq!(case.same_as_copy(&rows, &[]), 5);
}

fn leaves_with_dropped_columns(case: &Case) {
    case.run(
        "CREATE TABLE t (gone int, a int, b text, c int) PARTITION BY RANGE (a);
         ALTER TABLE t DROP gone;
         CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (0) TO (10);
         CREATE TABLE t_1 (x int, c int, y int, b text, a int);
         ALTER TABLE t_1 DROP x, DROP y;
         ALTER TABLE t ATTACH PARTITION t_1 FOR VALUES FROM (10) TO (20);
         CREATE INDEX ON t (c, b)",
    );
    assert_eq!(case.same_as_copy("1,one,11\n12,two,22\n", &[]), 2);
}

fn hostile_names(case: &Case) {
    case.run(
        r#"CREATE SCHEMA "S "" $1 'x'";
         CREATE TABLE t ("a""b" int, "sel ect" text DEFAULT E'it''s \\ "q"') PARTITION BY LIST ("a""b");
         CREATE TABLE "S "" $1 'x'"."L \ 'eaf' ON x USING (" PARTITION OF t FOR VALUES IN (1);
         CREATE INDEX "in ON x USING dex" ON "S "" $1 'x'"."L \ 'eaf' ON x USING (" ("sel ect") WHERE "a""b" > 0;
         CREATE UNIQUE INDEX "o'ther" ON t ("a""b", lower("sel ect"));
         ALTER TABLE "S "" $1 'x'"."L \ 'eaf' ON x USING (" ADD CONSTRAINT "c %s ""k" CHECK ("a""b" < 5);
         COMMENT ON TABLE "S "" $1 'x'"."L \ 'eaf' ON x USING (" IS E'it''s \\ %s $1';
         COMMENT ON COLUMN "S "" $1 'x'"."L \ 'eaf' ON x USING ("."a""b" IS 'semi; -- colon'"#,
    );
    assert_eq!(case.same_as_copy("1,x\n1,y\n", &[]), 1);
}

fn keys_that_the_server_evaluates(case: &Case) {
    case.run(
        "CREATE TABLE t (id int, v text) PARTITION BY HASH ((id # 0));
         CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    );
    let rows = numbered(500, |id| format!("{id},x"));
    assert_eq!(case.same_as_copy(&rows, &[]), 2);
}

/// Rows that the server routes go to the old leaves first, and are then moved.
fn rows_of_every_lane(case: &Case) {
    case.run(
        "CREATE CAST (text AS date) WITH INOUT;
         CREATE TABLE t (k date, r int, UNIQUE (k, r)) PARTITION BY LIST (k);
         CREATE TABLE t_a PARTITION OF t FOR VALUES IN ('2020-01-01');
         CREATE TABLE t_x PARTITION OF t FOR VALUES IN ('2020-01-02') PARTITION BY RANGE (r);
         CREATE TABLE t_x_0 PARTITION OF t_x FOR VALUES FROM (0) TO (500);
         CREATE TABLE t_x_500 PARTITION OF t_x FOR VALUES FROM (500) TO (1000)",
    );
    // The second spelling of each date is left to the server, which cannot be asked because of the cast.
    let spelled = ["2020-01-01", "2020-01-02", "1 Jan 2020", "2 Jan 2020"];
    let rows = numbered(1000, |r| format!("{},{r}", spelled[r as usize % 4]));
    assert_eq!(case.same_as_copy(&rows, &[]), 3);
    case.run("TRUNCATE t");
    let summary = case.load(&rows, &[]).summary();
    assert_eq!(summary["lanes"]["routed_by_server"], 500);
    let moved = summary["fallbacks"].as_array().unwrap().iter().find(|f| f["what"] == "rows moved");
    assert_eq!(moved.unwrap()["rows"], 500, "{summary}");
    case.run("TRUNCATE t");
    // All rows take the slow lane, so nothing is built or exchanged.
    assert_eq!(case.same_as_copy(&rows, &["--no-native"]), 0);
}

fn identity_of_the_root(case: &Case) {
    case.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, k int) PARTITION BY LIST (k);
         CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
         CREATE TABLE t_2 PARTITION OF t FOR VALUES IN (2)",
    );
    assert_eq!(case.same_as_copy("7,1\n8,2\n", &[]), 2);
    if case.server.major() >= 17 {
        case.run("TRUNCATE t");
        let refused = case.load("1\n", &["--columns", "k"]);
        refused
            .fails(1, &["cannot exchange public.t_1: the input leaves out its identity column id"]);
        case.run("INSERT INTO t_1 (k) VALUES (1)");
        assert_eq!(case.value("SELECT id FROM t"), "1");
    }
}

fn generated_columns(case: &Case) {
    case.run(
        "CREATE TABLE t (k int, twice int GENERATED ALWAYS AS (k * 2) STORED, v text DEFAULT 'd')
             PARTITION BY LIST (k);
         CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
         CREATE TABLE t_2 PARTITION OF t FOR VALUES IN (2);
         ALTER TABLE t_2 ALTER v SET DEFAULT 'other'",
    );
    let summary = case.load("1\n1\n", &["--columns", "k"]).summary();
    assert_eq!(summary["exchanged"], 1);
    assert_eq!(case.value("SELECT string_agg(t::text, ' ') FROM t"), "(1,2,d) (1,2,d)");
}

fn partitions_that_are_made_first(case: &Case) {
    case.run(
        "CREATE TABLE t (d date, id int, PRIMARY KEY (d, id)) PARTITION BY RANGE (d);
         CREATE TABLE t_2020_01 PARTITION OF t FOR VALUES FROM ('2020-01-01') TO ('2020-02-01')",
    );
    let rows = "2020-01-01,1\n2020-02-01,2\n2020-02-29,3\n2020-03-01,4\n";
    let summary = case.load(rows, &["--create-partitions"]).summary();
    assert_eq!((&summary["exchanged"], &summary["rows_loaded"]), (&3.into(), &4.into()));
    let placed = "SELECT string_agg(tableoid::regclass || ' ' || id, ', ' ORDER BY id) FROM t";
    assert_eq!(case.value(placed), "t_2020_01 1, t_2020_02 2, t_2020_02 3, t_2020_03 4");
    case.nothing_is_left();
}
