//! Tables that cannot be exchanged: refused with the reason before a row is read, or loaded in the normal way
//! with a note.

use super::Case;
use super::carried::roles;
use crate::harness::on_each_server;

on_each_server!(with super::Case::new, [obstacles, obstacles_of_many_leaves, unforeseen_additions_are_refused, plain_tables, tables_without_a_way_to_leaves, leaves_that_are_not_empty, leaves_beside_a_default_with_rows, more_leaves_than_locks, users_without_privileges,]);

const TABLE: &str = "
CREATE TABLE t (k int NOT NULL, a int, v text) PARTITION BY LIST (k);
CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES IN (2);";

const ROWS: &str = "1,1,x\n2,2,y\n";

/// Each obstacle, the statements that create it, and its name in messages.
const OBSTACLES: &[(&str, &str)] = &[
    ("CREATE RULE r AS ON DELETE TO t_1 DO INSTEAD NOTHING", "it has the rule r"),
    ("ALTER TABLE t_1 ENABLE ROW LEVEL SECURITY", "it has row security"),
    ("CREATE POLICY p ON t_1", "it has the policy p"),
    ("CREATE VIEW w AS SELECT a FROM t_1", "rule _RETURN on view public.w depends on it"),
    ("CREATE TABLE typed (x t_1)", "table public.typed depends on it"),
    ("CREATE FUNCTION g(t_1) RETURNS int LANGUAGE sql AS 'SELECT 1'", "function public.g(public.t_1) depends on it"),
    ("CREATE SEQUENCE q OWNED BY t_1.a", "sequence public.q depends on it"),
    (
        "ALTER TABLE t_1 ADD UNIQUE (a); CREATE TABLE far (a int CONSTRAINT f REFERENCES t_1 (a))",
        "the foreign key f of public.far refers to it",
    ),
    (
        "ALTER TABLE t ADD PRIMARY KEY (k), ADD CONSTRAINT self FOREIGN KEY (a) REFERENCES t (k)",
        "its foreign key self refers to the table that is loaded",
    ),
    (
        "CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "its row-level trigger g would not fire",
    ),
    (
        "CREATE TABLE other (id int PRIMARY KEY);
         ALTER TABLE t_1 ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES other; ALTER TABLE t_1 DISABLE TRIGGER ALL",
        "a trigger of its constraint f is not in its default state",
    ),
    ("CREATE PUBLICATION p FOR TABLE t_1", "the publication p publishes it"),
    ("CREATE PUBLICATION p FOR TABLE t WITH (publish_via_partition_root)", "the publication p publishes it"),
    ("CREATE PUBLICATION p FOR ALL TABLES", "the publication p publishes it"),
    ("CREATE INDEX half ON ONLY t (a)", "it lacks the index half of its parent"),
    ("CREATE INDEX ON t (a); CREATE INDEX x ON t_1 (a \
      DESC)", "its indexes t_1_a_idx and x are identical"),
    (
        "CREATE TABLE other (id int PRIMARY KEY);
         ALTER TABLE t_1 ADD CONSTRAINT x FOREIGN KEY (a) REFERENCES other;
         ALTER TABLE t ADD CONSTRAINT y FOREIGN KEY (a) REFERENCES other DEFERRABLE",
        "its foreign keys x and y are identical",
    ),
    (
        "CREATE INDEX i ON t_1 (a); UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'i'::regclass",
        "its index i is not valid",
    ),
    (
        "ALTER TABLE t_1 ADD CONSTRAINT x EXCLUDE (a WITH =) WITH (fillfactor = 50)",
        "the index of its constraint x has its own options",
    ),
    (
        "CREATE EXTENSION pg_trgm; ALTER EXTENSION pg_trgm ADD TABLE t_1",
        "table public.t_1 depends on extension pg_trgm",
    ),
    (
        "CREATE EXTENSION pg_trgm; CREATE INDEX i ON t_1 (a); ALTER INDEX i DEPENDS ON EXTENSION pg_trgm",
        "index public.i depends on extension pg_trgm",
    ),
];

fn obstacles(case: &Case) {
    for (put, named) in OBSTACLES {
        case.run(TABLE);
        case.run("SET allow_system_table_mods = on");
        case.run(put);
        let dump = case.dump();
        let refused = case.load(ROWS, &[]);
        let refusal = format!("cannot exchange public.t_1: {named}");
        refused.fails(1, &[&refusal, "\nHINT:  Remove the obstacle"]);
        case.is_untouched(&dump);
        // The plan has the same message.
        let plan = crate::harness::run(
            &[
                "plan",
                case.bench.path("rows.csv").to_str().unwrap(),
                "-t",
                "t",
                "--exchange",
                "-d",
                &case.bench.url,
            ],
            None,
        );
        assert!(plan.status == Some(1) && plan.stderr.contains(&refusal), "{plan:?}");
        case.run(
            "DROP PUBLICATION IF EXISTS p; DROP EXTENSION IF EXISTS pg_trgm CASCADE;
                  DROP TABLE IF EXISTS far, other, typed CASCADE; DROP TABLE t CASCADE",
        );
    }
}

/// Leaves that share an obstacle share a line.
fn obstacles_of_many_leaves(case: &Case) {
    for (leaves, named) in [(2, "public.t_2"), (12, "11 other leaves")] {
        case.run("CREATE TABLE t (k int, a int, v text) PARTITION BY LIST (k)");
        for leaf in 1..=leaves {
            case.run(&format!(
                "CREATE TABLE t_{leaf} PARTITION OF t FOR VALUES IN ({leaf});
                 ALTER TABLE t_{leaf} ENABLE ROW LEVEL SECURITY"
            ));
        }
        let refused = case.load(ROWS, &[]);
        let message = "cannot exchange public.t_1: it has row security; the same applies to";
        refused.fails(1, &[&format!("{message} {named} (SQLSTATE 0A000)\n")]);
        assert_eq!(refused.stderr.matches("cannot exchange").count(), 1, "{refused:?}");
        case.run("DROP TABLE t");
    }
}

/// An addition to the new table that the program did not make is noticed before the commit.
fn unforeseen_additions_are_refused(case: &Case) {
    case.run(TABLE);
    case.run(
        "CREATE FUNCTION mark() RETURNS event_trigger LANGUAGE plpgsql AS $$
         DECLARE made record;
         BEGIN
             FOR made IN SELECT objid::regclass AS name FROM pg_event_trigger_ddl_commands() LOOP
                 EXECUTE format('ALTER TABLE %s SET (fillfactor = 50)', made.name);
             END LOOP;
         END $$;
         CREATE EVENT TRIGGER mark ON ddl_command_end WHEN TAG IN ('CREATE TABLE')
             EXECUTE FUNCTION mark()",
    );
    let dump = case.dump();
    let refused = case.load(ROWS, &[]);
    refused.fails_empty(&["cannot exchange public.t_1: its table t_1 would differ", "HINT"]);
    case.is_untouched(&dump);
}

fn plain_tables(case: &Case) {
    case.run("CREATE TABLE t (a int)");
    case.load("1\n", &[]).fails(2, &["table public.t is not partitioned", "HINT"]);
}

/// Rows that must go through the root still do.
fn tables_without_a_way_to_leaves(case: &Case) {
    case.run(TABLE);
    case.run("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN null; END'");
    case.run("CREATE TRIGGER g BEFORE INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION f()");
    let summary = case.load(ROWS, &[]).summary();
    assert_eq!(summary["exchanged"], 0);
    check_fallback(&summary, "not exchanged: public.t has a statement-level trigger", 2);
}

fn check_fallback(summary: &serde_json::Value, why: &str, rows: u64) {
    let fallbacks = summary["fallbacks"].as_array().unwrap();
    let found = fallbacks.iter().find(|f| f["why"].as_str().unwrap().contains(why));
    assert_eq!(found.unwrap_or_else(|| panic!("{why}: {summary}"))["rows"], rows, "{summary}");
}

fn leaves_that_are_not_empty(case: &Case) {
    case.run(TABLE);
    // The pages of a leaf without live rows do not count as rows. Obstacles of a leaf with rows do not matter.
    case.run("INSERT INTO t VALUES (1, 0, 'old'), (2, 0, 'gone'); DELETE FROM t WHERE k = 2");
    case.run("CREATE RULE r AS ON DELETE TO t_1 DO INSTEAD NOTHING");
    let refused = case.load(ROWS, &["--exchange=require"]);
    refused.fails(1, &["rows for public.t_1 are not exchanged: it is not empty", "HINT:  "]);
    assert_eq!(case.value("SELECT string_agg(v, ' ') FROM t"), "old");
    let summary = case.load(ROWS, &[]).summary();
    assert_eq!((&summary["exchanged"], &summary["rows_loaded"]), (&1.into(), &2.into()));
    check_fallback(&summary, "not exchanged: it is not empty, so rows are copied into it", 1);
    let rows = "SELECT string_agg(tableoid::regclass || t::text, ' ' ORDER BY t) FROM t";
    assert_eq!(case.value(rows), "t_1(1,0,old) t_1(1,1,x) t_2(2,2,y)");
    case.nothing_is_left();
}

fn leaves_beside_a_default_with_rows(case: &Case) {
    case.run(TABLE);
    case.run("CREATE TABLE t_d PARTITION OF t DEFAULT; INSERT INTO t VALUES (7)");
    let summary = case.load(ROWS, &[]).summary();
    assert_eq!(summary["exchanged"], 0);
    check_fallback(&summary, "not exchanged: the DEFAULT partition public.t_d has rows", 2);
}

fn more_leaves_than_locks(case: &Case) {
    case.run("CREATE TABLE t (k int) PARTITION BY LIST (k)");
    let leaf = |k: u32| format!("CREATE TABLE t_{k} PARTITION OF t FOR VALUES IN ({k})");
    (0..500).map(leaf).for_each(|leaf| case.run(&leaf));
    let rows: String = (0..1000).map(|row| format!("{}\n", row % 500)).collect();
    let max: u64 = case
        .value(
            "SELECT current_setting('max_locks_per_transaction')::int
                    * (current_setting('max_connections')::int
                       + current_setting('max_prepared_transactions')::int) / 32",
        )
        .parse()
        .unwrap();
    assert!(max < 500, "the server of the tests has room for {max}");
    let summary = case.load(&rows, &[]).summary();
    assert_eq!(summary["exchanged"], max);
    check_fallback(
        &summary,
        "not exchanged: one transaction cannot lock more tables",
        2 * (500 - max),
    );
    assert_eq!(case.value("SELECT count(*) FROM t"), "1000");
}

fn users_without_privileges(case: &Case) {
    case.run(TABLE);
    let role = roles(case);
    case.run(&format!(
        "ALTER ROLE {role}_a LOGIN PASSWORD 'x'; GRANT ALL ON t, t_1, t_2 TO {role}_a"
    ));
    case.bench.file("rows.csv", ROWS);
    let at = case.bench.url.find("//").unwrap() + 2;
    let host = case.bench.url[at..].split_once('@').unwrap().1;
    let url = format!("postgresql://{role}_a:x@{host}");
    let load = |why: &str| {
        let refused = case.bench.load_into(&url, ["rows.csv", "-t", "t", "--exchange"]);
        refused.fails(1, &[&format!("cannot exchange public.t_1: {why}"), "HINT"]);
    };
    case.run("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    load(&format!("{role}_a may not create tables in schema public"));
    case.run(&format!("GRANT CREATE ON SCHEMA public TO {role}_a"));
    load("this user does not own it");
    case.run(&format!("ALTER TABLE t_1 OWNER TO {role}_a; ALTER TABLE t_2 OWNER TO {role}_a"));
    load("this user does not own public.t, its parent");
    case.run(&format!("ALTER TABLE t OWNER TO {role}_a"));
    let done = case.bench.load_into(&url, ["rows.csv", "-t", "t", "--exchange", "-q", "--json"]);
    assert_eq!(done.summary()["exchanged"], 2);
    // Other roles have granted privileges that this user cannot grant in their name.
    case.run(&format!(
        "TRUNCATE t; GRANT SELECT ON t_1 TO {role}_b WITH GRANT OPTION; SET ROLE {role}_b; GRANT SELECT ON t_1 TO PUBLIC; RESET ROLE"
    ));
    load(&format!("privileges on it were granted by {role}_b"));
    case.run(&format!("DROP OWNED BY {role}_a, {role}_b; DROP ROLE {role}_a, {role}_b"));
}
