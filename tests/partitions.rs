//! Missing partitions: `plan --full` lists them, `load --create-partitions` creates them, and they equal
//! partitions that the server would have.

mod failed;

use std::path::PathBuf;

use tempfile::TempDir;

use crate::harness::{Outcome, Scratch, Server, Session, on_each_server, run};

on_each_server!([
    the_number_of_new_partitions_is_limited,
    a_step_is_checked_whatever_is_missing,
    containers,
    lists,
    months_with_hashes_below,
    numbers_and_steps,
    ends_of_types,
    says_what_cannot_be_made,
    standard_input_is_read_once,
    the_plan_can_be_run,
    times,
]);

struct Case {
    scratch: Scratch,
    session: Session,
    file: PathBuf,
    _folder: TempDir,
}

impl Case {
    fn new(server: Server, tree: &str, rows: &str) -> Self {
        let scratch = server.scratch();
        let session = scratch.session();
        session.run(tree);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.csv");
        std::fs::write(&file, rows).unwrap();
        Self { scratch, session, file, _folder: folder }
    }

    fn run(&self, command: &str, more: &[&str]) -> Outcome {
        let file = self.file.to_str().unwrap();
        run(&[&[command, file, "-t", "t", "-d", self.scratch.url()], more].concat(), None)
    }

    fn plan(&self, more: &[&str]) -> String {
        let plan = self.run("plan", &[&["--full"], more].concat());
        assert_eq!(plan.status, Some(0), "{}", plan.stderr);
        plan.stdout
    }

    fn load(&self, more: &[&str]) -> Outcome {
        self.run("load", &[&["-q", "--create-partitions"], more].concat())
    }

    /// Returns the leaves and intermediate tables below `t` with their bounds, by name.
    fn tree(&self) -> Vec<String> {
        let sql = "SELECT c.oid::regclass || ' ' || pg_get_expr(c.relpartbound, c.oid)
                   FROM pg_partition_tree('t') p JOIN pg_class c ON c.oid = p.relid
                   WHERE p.level > 0 ORDER BY c.oid::regclass::text COLLATE \"C\"";
        self.session.rows(sql).into_iter().map(|mut row| row.remove(0).unwrap()).collect()
    }

    /// Loads with new partitions. Returns their bounds.
    fn made(&self, more: &[&str]) -> Vec<String> {
        let before = self.tree();
        let load = self.load(more);
        assert_eq!(load.status, Some(0), "{}", load.stderr);
        let mut tree = self.tree();
        tree.retain(|table| !before.contains(table));
        let rows = std::fs::read_to_string(&self.file).unwrap().lines().count();
        let loaded = self.session.rows("SELECT count(*) FROM t")[0][0].clone().unwrap();
        assert_eq!(loaded, rows.to_string());
        tree
    }
}

const MONTHS: &str = "
CREATE TABLE t (day date, id int) PARTITION BY RANGE (day);
CREATE TABLE t_history PARTITION OF t FOR VALUES FROM (MINVALUE) TO ('2024-01-01');
CREATE TABLE t_2024_01 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')
    PARTITION BY HASH (id);
CREATE TABLE t_2024_01_h0 PARTITION OF t_2024_01 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE t_2024_01_h1 PARTITION OF t_2024_01 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE t_2024_03 PARTITION OF t FOR VALUES FROM ('2024-03-01') TO ('2024-04-01')
    PARTITION BY HASH (id);
CREATE TABLE t_2024_03_h0 PARTITION OF t_2024_03 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE t_2024_03_h1 PARTITION OF t_2024_03 FOR VALUES WITH (MODULUS 2, REMAINDER 1)";

fn months_with_hashes_below(server: Server) {
    let rows = "2024-01-05,1\n2024-02-01,2\n2024-02-29,3\n2027-12-31,4\n1999-01-01,5\n";
    let case = Case::new(server, MONTHS, rows);
    let plan = case.plan(&[]);
    for part in [
        "missing  public.t_2024_02: 2 rows\n",
        "missing  public.t_2027_12: 1 row\n",
        "CREATE TABLE \"public\".\"t_2024_02\" PARTITION OF \"public\".\"t\" \
         FOR VALUES FROM (E'2024-02-01') TO (E'2024-03-01') PARTITION BY HASH (id);\n",
    ] {
        assert!(plan.contains(part), "{part}\n{plan}");
    }
    assert_eq!(case.load(&[]).status, Some(0));
    case.session.run("TRUNCATE t");
    assert!(case.made(&[]).is_empty(), "made once");
    let tree = case.tree();
    for table in [
        "t_2024_02 FOR VALUES FROM ('2024-02-01') TO ('2024-03-01')",
        "t_2024_02_h0 FOR VALUES WITH (modulus 2, remainder 0)",
        "t_2024_02_h1 FOR VALUES WITH (modulus 2, remainder 1)",
        "t_2027_12 FOR VALUES FROM ('2027-12-01') TO ('2028-01-01')",
    ] {
        assert!(tree.iter().any(|found| found == table), "{table}: {tree:#?}");
    }
    assert_eq!(tree.len(), 13);
}

/// psql can run the DDL that the plan prints.
fn the_plan_can_be_run(server: Server) {
    let case = Case::new(server, MONTHS, "2024-02-01,2\n2031-05-05,3\n");
    let plan = case.plan(&[]);
    let statements = plan.lines().filter(|line| line.starts_with("CREATE TABLE"));
    statements.for_each(|statement| case.session.run(statement));
    assert!(!case.plan(&[]).contains("missing"));
    assert_eq!(case.run("load", &["-q"]).status, Some(0));
}

fn numbers_and_steps(server: Server) {
    let tree = "CREATE TABLE t (id bigint) PARTITION BY RANGE (id);
                CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (1) TO (1001);
                CREATE TABLE t_1001 PARTITION OF t FOR VALUES FROM (1001) TO (2001)";
    let rows = "1\n0\n-999\n-1000\n2001\n3000\n3001\n";
    assert_eq!(
        Case::new(server, tree, rows).made(&[]),
        [
            "t_2001 FOR VALUES FROM ('2001') TO ('3001')",
            "t_3001 FOR VALUES FROM ('3001') TO ('4001')",
            "t__1999 FOR VALUES FROM ('-1999') TO ('-999')",
            "t__999 FOR VALUES FROM ('-999') TO ('1')",
        ]
    );
    // Another step starts at its own multiples, and ends where an existing partition begins.
    assert_eq!(
        Case::new(server, tree, "0\n2500\n6000\n").made(&["--step", "5000"]),
        [
            "t_0 FOR VALUES FROM ('0') TO ('1')",
            "t_2001 FOR VALUES FROM ('2001') TO ('5000')",
            "t_5000 FOR VALUES FROM ('5000') TO ('10000')",
        ]
    );
}

/// There is no bound beyond the last value of a type.
fn ends_of_types(server: Server) {
    for (ty, min, max) in [
        ("smallint", i64::from(i16::MIN), i64::from(i16::MAX)),
        ("integer", i32::MIN.into(), i32::MAX.into()),
        ("bigint", i64::MIN, i64::MAX),
    ] {
        let tree = format!(
            "CREATE TABLE t (id {ty}) PARTITION BY RANGE (id);
             CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (0) TO (1000)"
        );
        let rows = format!("{min}\n1000\n{max}\n");
        let last = max / 1000 * 1000;
        let mut expected = [
            format!("t__{} FOR VALUES FROM ({min}) TO ({})", min.unsigned_abs(), -last),
            "t_1000 FOR VALUES FROM (1000) TO (2000)".to_owned(),
            format!("t_{last} FOR VALUES FROM ({last}) TO (MAXVALUE)"),
        ];
        expected.sort_unstable();
        // The server quotes some of the numbers.
        let made = Case::new(server, &tree, &rows).made(&[]);
        assert_eq!(
            made.iter().map(|bound| bound.replace('\'', "")).collect::<Vec<_>>(),
            expected,
            "{ty}"
        );
    }
}

fn times(server: Server) {
    let tree = "CREATE TABLE t (at timestamptz) PARTITION BY RANGE (at);
                CREATE TABLE t_20240325 PARTITION OF t
                    FOR VALUES FROM ('2024-03-25 00:00') TO ('2024-04-01 00:00')";
    // A week has 167 hours when the clocks change, according to the server's calendar.
    let case = Case::new(server, "SET timezone = 'Europe/Berlin'", "2024-03-24 12:00:00+00\n");
    case.scratch.set("timezone", "Europe/Berlin");
    case.session.run(tree);
    case.session.run(
        "CREATE TABLE t_20240401 PARTITION OF t
                      FOR VALUES FROM ('2024-04-01 00:00') TO ('2024-04-08 00:00')",
    );
    assert_eq!(
        case.made(&[]),
        ["t_20240318 FOR VALUES FROM ('2024-03-18 00:00:00+01') TO ('2024-03-25 00:00:00+01')"]
    );
    let tree = "CREATE TABLE t (at timestamptz) PARTITION BY RANGE (at)";
    let case = Case::new(server, tree, "2024-02-29 23:59:59+00\ninfinity\n");
    case.scratch.set("timezone", "UTC");
    assert!(case.plan(&["--step", "hour"]).contains("t_2024_02_29_23"));
    let refused = case.run("plan", &["--full", "--step=-1 hour"]);
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("the step \"-1 hour\" is not positive"), "{}", refused.stderr);
    let tree = "CREATE TABLE t (at timestamp(3)) PARTITION BY RANGE (at)";
    let rows = "2024-02-29 23:59:59.999\n0044-03-15 00:00:00\n";
    assert_eq!(
        Case::new(server, tree, rows).made(&["--step", "month"]),
        [
            "t_0044_03_01 FOR VALUES FROM ('0044-03-01 00:00:00') TO ('0044-04-01 00:00:00')",
            "t_2024_02_01 FOR VALUES FROM ('2024-02-01 00:00:00') TO ('2024-03-01 00:00:00')",
        ]
    );
}

fn lists(server: Server) {
    let tree = "CREATE TABLE t (land text, id int) PARTITION BY LIST (land);
                CREATE TABLE land_de PARTITION OF t FOR VALUES IN ('DE') PARTITION BY RANGE (id);
                CREATE TABLE land_de_0 PARTITION OF land_de FOR VALUES FROM (0) TO (10)";
    let rows = "DE,1\nFR,2\nFR,13\n,4\n\"it's \\ \"\"odd\"\"\",5\n";
    assert_eq!(
        Case::new(server, tree, rows).made(&[]),
        [
            "land_fr FOR VALUES IN ('FR')",
            "land_fr_0 FOR VALUES FROM (0) TO (10)",
            "land_fr_10 FOR VALUES FROM (10) TO (20)",
            "land_it_s____odd_ FOR VALUES IN ('it''s \\ \"odd\"')",
            "land_it_s____odd__0 FOR VALUES FROM (0) TO (10)",
            "t_null FOR VALUES IN (NULL)",
            "t_null_0 FOR VALUES FROM (0) TO (10)",
        ]
    );
}

/// All spellings of one value need a single partition, and types without steps are not counted.
fn containers(server: Server) {
    let tree = "CREATE TABLE t (k jsonb, a int[]) PARTITION BY LIST (k);
                CREATE TABLE t_1 PARTITION OF t FOR VALUES IN ('1') PARTITION BY LIST (a);
                CREATE TABLE t_1_one PARTITION OF t_1 FOR VALUES IN ('{1}')";
    let rows = "1.0,\"{2,NULL}\"\n1,\"{ +2 , null }\"\n1,{1}\n";
    assert_eq!(
        Case::new(server, tree, rows).made(&[]),
        ["t_1__2_null_ FOR VALUES IN ('{2,NULL}')"]
    );
    let rows = "\"{\"\"b\"\":1,\"\"a\"\":2}\",{}\n\"{\"\"a\"\":2.0,\"\"b\"\":1}\",{}\n";
    assert_eq!(
        Case::new(server, "CREATE TABLE t (k jsonb, a int[]) PARTITION BY LIST (k)", rows)
            .made(&[]),
        ["t___a___2___b___1_ FOR VALUES IN ('{\"a\": 2, \"b\": 1}')"]
    );
    let tree = "CREATE TABLE t (k numeric(8,2)[]) PARTITION BY RANGE (k);
                CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('{1}') TO ('{2}')";
    let plan = Case::new(server, tree, "{3}\n").plan(&["--step", "1"]);
    assert!(plan.contains("; cannot be created: "), "{plan}");
}

fn says_what_cannot_be_made(server: Server) {
    for (tree, rows, why) in [
        ("RANGE (a)", "1,1\n", "specify --step"),
        ("RANGE (a)", ",1\n", "only a DEFAULT partition accepts NULL"),
        ("RANGE (a, b)", "1,1\n", "its key is not a single column that is read natively"),
        ("LIST ((a % b))", "1,2\n", "its key is not a single column that is read natively"),
        ("HASH (a)", "1,1\n", "its hash partitions are incomplete"),
    ] {
        let tree = format!("CREATE TABLE t (a int, b int) PARTITION BY {tree}");
        let case = Case::new(server, &tree, rows);
        let plan = case.plan(&[]);
        let message = |line: &str| line.contains("; cannot be created: ") && line.contains(why);
        assert!(plan.lines().any(message), "{plan}");
        let load = case.load(&[]);
        assert_eq!(load.status, Some(1));
        assert!(load.stderr.contains(why), "{}", load.stderr);
        assert!(case.tree().is_empty());
    }
}

fn standard_input_is_read_once(server: Server) {
    let case = Case::new(server, MONTHS, "2024-02-01,2\n");
    let url = case.scratch.url();
    let arguments = ["-", "--format", "csv", "-t", "t", "-d", url];
    let load = run(&[&["load", "--create-partitions"], &arguments[..]].concat(), Some(&case.file));
    assert_eq!(load.status, Some(2));
    assert!(load.stderr.contains("reads the input twice"), "{}", load.stderr);
    let plan = run(&[&["plan", "--full"], &arguments[..]].concat(), Some(&case.file));
    assert!(plan.stdout.contains("missing  public.t_2024_02: 1 row\n"), "{}", plan.stdout);
}

fn the_number_of_new_partitions_is_limited(server: Server) {
    let tree = "CREATE TABLE t (n int, v text) PARTITION BY LIST (v);
                CREATE TABLE t_a PARTITION OF t FOR VALUES IN ('a')";
    let rows: String = (0..120).map(|n| format!("{n},it's #{n}\n")).collect();
    let case = Case::new(server, tree, &rows);
    let refused = case.load(&[]);
    assert_eq!(refused.status, Some(1), "{}", refused.stderr);
    let message = "the input needs 120 new partitions, more than 100 (SQLSTATE 54000)";
    assert!(refused.stderr.contains(message), "{}", refused.stderr);
    assert!(refused.stderr.contains("--max-new-partitions 120"), "{}", refused.stderr);
    assert_eq!(case.tree().len(), 1);
    let loaded = case.load(&["--max-new-partitions=120"]);
    assert_eq!(loaded.status, Some(0), "{}", loaded.stderr);
    assert_eq!(case.tree().len(), 121);
    let names = case.session.rows("SELECT relname FROM pg_class WHERE relname ~ '^t_.*[^a-z0-9_]'");
    assert!(names.is_empty(), "{names:?}");
}

fn a_step_is_checked_whatever_is_missing(server: Server) {
    let tree = "CREATE TABLE t (n int) PARTITION BY RANGE (n);
                CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (0) TO (10)";
    let case = Case::new(server, tree, "1\n");
    for (step, message) in [
        ("fortnight", "the step \"fortnight\" is neither a number nor an interval"),
        ("-1 month", "the step \"-1 month\" is not positive"),
        ("0", "the step \"0\" is n"),
    ] {
        let refused = case.load(&[&format!("--step={step}")]);
        assert_eq!(refused.status, Some(2), "{step}: {}", refused.stderr);
        assert!(refused.stderr.contains(message), "{step}: {}", refused.stderr);
    }
    for step in ["month", "7 days", "10", "quarters"] {
        let loaded = case.load(&[&format!("--step={step}")]);
        assert_eq!(loaded.status, Some(0), "{step}: {}", loaded.stderr);
    }
}
