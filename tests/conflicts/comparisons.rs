//! Keys whose index has another collation or operator class than the column: a load does what the server does
//! row by row, with the index as the arbiter.

use super::row_counts;
use crate::harness::{Bench, Server, on_each_server};

on_each_server!([
    keys_are_compared_as_their_index_compares_them,
    a_row_that_another_index_rejects_is_an_error,
    indexes_that_no_statement_can_tell_apart_are_refused,
]);

/// A collation that ignores case, if the server has ICU, and an operator class that does so on every server.
const CASELESS: &str = "
DO $$ BEGIN
    CREATE COLLATION public.ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
EXCEPTION WHEN feature_not_supported THEN NULL; END $$;
CREATE FUNCTION lt(text, text) RETURNS bool LANGUAGE sql IMMUTABLE STRICT AS 'SELECT lower($1) < lower($2)';
CREATE FUNCTION eq(text, text) RETURNS bool LANGUAGE sql IMMUTABLE STRICT AS 'SELECT lower($1) = lower($2)';
CREATE FUNCTION cmp(text, text) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS
    'SELECT (lower($1) > lower($2))::int - (lower($1) < lower($2))::int';
CREATE OPERATOR <~ (LEFTARG = text, RIGHTARG = text, FUNCTION = lt);
CREATE OPERATOR =~ (LEFTARG = text, RIGHTARG = text, FUNCTION = eq);
CREATE OPERATOR CLASS caseless FOR TYPE text USING btree AS
    OPERATOR 1 <~, OPERATOR 3 =~, FUNCTION 1 cmp(text, text);
CREATE DOMAIN public.word AS text";

/// Keys of the rows, as the file spells them.
const WORDS: [&str; 10] = ["a", "A", "b", "B", "a", "é", "x ", "x", "B", "É"];

/// A column with a key.
struct Keyed {
    /// Type and collation of the column `k`.
    column: &'static str,
    /// Tail of `CREATE UNIQUE INDEX ON`.
    indexes: &'static [&'static str],
    /// Collation of the index that identifies duplicates.
    collation: &'static str,
}

const CASES: [Keyed; 13] = [
    Keyed {
        column: "text COLLATE ci",
        indexes: &["t_1 (id, k COLLATE \"C\")"],
        collation: "\"C\"",
    },
    Keyed { column: "text COLLATE ci", indexes: &["t (k COLLATE \"C\", id)"], collation: "\"C\"" },
    Keyed {
        column: "text COLLATE ci",
        indexes: &["t_1 (id, k COLLATE \"POSIX\" text_pattern_ops) INCLUDE (v)"],
        collation: "\"POSIX\"",
    },
    Keyed {
        column: "varchar(5) COLLATE ci",
        indexes: &["t (id, k COLLATE \"C\" varchar_ops)"],
        collation: "\"C\"",
    },
    Keyed {
        column: "char(3) COLLATE ci",
        indexes: &["t (id, k COLLATE \"C\")"],
        collation: "\"C\"",
    },
    Keyed {
        column: "name COLLATE ci",
        indexes: &["t_1 (id, k COLLATE \"C\")"],
        collation: "\"C\"",
    },
    Keyed { column: "word COLLATE ci", indexes: &["t (id, k COLLATE \"C\")"], collation: "\"C\"" },
    Keyed {
        column: "text COLLATE ci",
        indexes: &["t_1 (id, k COLLATE \"C\")", "t (id, v)", "t_1 (id, k, v)"],
        collation: "\"C\"",
    },
    Keyed { column: "text", indexes: &["t_1 (id, k text_pattern_ops)"], collation: "\"C\"" },
    Keyed { column: "char(3)", indexes: &["t (id, k bpchar_pattern_ops)"], collation: "\"C\"" },
    Keyed {
        column: "text COLLATE \"C\"",
        indexes: &["t_1 (id, k COLLATE \"POSIX\")", "t (id, k)"],
        collation: "\"C\"",
    },
    Keyed {
        column: "text",
        indexes: &["t_1 (id, k) WHERE v = 'old'", "t (id, k)"],
        collation: "\"C\"",
    },
    Keyed { column: "word", indexes: &["t (id, k COLLATE \"POSIX\")"], collation: "\"POSIX\"" },
];

/// Options, and whether they insert, update and delete rows.
const ACTIONS: [(&[&str], [bool; 3]); 4] = [
    (&["--on-conflict=skip", "--key=id,k"], [true, false, false]),
    (&["--on-conflict=update", "--key=id,k", "--update=v"], [true, true, false]),
    (&["--on-conflict=update", "--key=id,k", "--update=v", "--no-insert"], [false, true, false]),
    (&["--on-conflict=delete", "--key=id,k"], [false, false, true]),
];

fn bench(server: Server) -> Bench {
    let bench = Bench::new(server);
    bench.session.run(CASELESS);
    let rows = WORDS.iter().zip(0..).map(|(word, value)| format!("1,{word},new {value}\n"));
    bench.file("rows.csv", rows.collect::<String>());
    bench
}

fn has_icu(bench: &Bench) -> bool {
    bench.value("SELECT to_regcollation('public.ci') IS NOT NULL") == "t"
}

fn make(bench: &Bench, schema: &str, case: &Keyed) {
    let Keyed { column, indexes, .. } = case;
    let indexes: String =
        indexes.iter().map(|index| format!("CREATE UNIQUE INDEX ON {index};")).collect();
    bench.session.run(&format!(
        "SET client_min_messages = warning; DROP SCHEMA IF EXISTS {schema} CASCADE;
         CREATE SCHEMA {schema}; SET search_path = {schema}, public;
         CREATE TABLE t (id int, k {column}, v text) PARTITION BY LIST (id);
         CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1); {indexes}
         INSERT INTO t VALUES (1, 'A', 'old'), (1, 'É', 'older'); RESET search_path"
    ));
}

/// Returns the statement that does for one row what the load does.
fn one_by_one(
    case: &Keyed,
    [inserts, updates, deletes]: [bool; 3],
    word: &str,
    value: usize,
) -> String {
    let collation = case.collation;
    let same = format!("id = 1 AND k = ('{word}'::{} COLLATE {collation})", ty(case));
    let row = format!("INSERT INTO twin.t_1 VALUES (1, '{word}', 'new {value}')");
    match (inserts, updates, deletes) {
        (true, true, _) => format!(
            "WITH old AS (UPDATE twin.t SET v = 'new {value}' WHERE {same} RETURNING 1)
             INSERT INTO twin.t SELECT 1, '{word}', 'new {value}' WHERE NOT EXISTS (SELECT FROM old)"
        ),
        (true, ..) => format!("{row} ON CONFLICT DO NOTHING"),
        (_, true, _) => format!("UPDATE twin.t SET v = 'new {value}' WHERE {same}"),
        _ => format!("DELETE FROM twin.t WHERE {same}"),
    }
}

/// Returns the type of the column, without its collation.
fn ty(case: &Keyed) -> &str {
    case.column.split(' ').next().unwrap()
}

fn keys_are_compared_as_their_index_compares_them(server: Server) {
    let bench = bench(server);
    let has_icu = has_icu(&bench);
    if !has_icu {
        server.skip("the server is built without ICU");
    }
    let cases = CASES.iter().filter(|case| has_icu || !case.column.contains("ci"));
    for case in cases {
        for (options, action) in ACTIONS {
            make(&bench, "ours", case);
            make(&bench, "twin", case);
            for (word, value) in WORDS.iter().zip(0..) {
                bench.session.run(&one_by_one(case, action, word, value));
            }
            let rows = |schema: &str| {
                let rows = format!("SELECT k::text COLLATE \"C\", v FROM {schema}.t ORDER BY 1, 2");
                bench.session.rows(&rows)
            };
            let context = format!("{} {:?} {options:?}", case.column, case.indexes);
            let load = ["rows.csv", "-t", "ours.t", "-q", "--json"];
            let ended = bench.load(load.iter().chain(options));
            let row_counts = row_counts(&ended, 0);
            assert_eq!(rows("ours"), rows("twin"), "{context}: {row_counts:?}");
            let of = |counts: &str| row_counts.get(counts).copied().unwrap_or_default();
            let there = rows("twin").len() as u64;
            assert_eq!(2 + of("inserted") - of("deleted"), there, "{context}: {row_counts:?}");
            assert_eq!(
                row_counts.values().sum::<u64>(),
                WORDS.len() as u64,
                "{context}: {row_counts:?}"
            );
        }
    }
}

fn a_row_that_another_index_rejects_is_an_error(server: Server) {
    let bench = bench(server);
    let caseless: &[&str] = &["t_1 (id, k)", "t_1 (id, k caseless)"];
    let collated: &[&str] = &["t_1 (id, k)", "t_1 (id, k COLLATE ci)"];
    let column = "text COLLATE \"C\"";
    for indexes in [caseless, collated].iter().take(if has_icu(&bench) { 2 } else { 1 }) {
        let case = Keyed { column, indexes, collation: "\"C\"" };
        for (options, _) in &ACTIONS[..2] {
            make(&bench, "ours", &case);
            let ended = bench.load(["rows.csv", "-t", "ours.t"].iter().chain(*options));
            ended.fails(1, &["rows.csv:", "t_1_id_k_idx1", "(SQLSTATE 23505)"]);
            assert_eq!(bench.count("ours.t"), 2, "{indexes:?} {options:?}");
        }
    }
}

fn indexes_that_no_statement_can_tell_apart_are_refused(server: Server) {
    let bench = bench(server);
    let mut cases = vec![
        (
            "CREATE UNIQUE INDEX ON ours.t (id, k COLLATE \"C\"); CREATE UNIQUE INDEX ON ours.t (id, k COLLATE \"POSIX\")",
            "several unique indexes of ours.t_1 compare the key in different ways (SQLSTATE 42P10)",
        ),
        (
            "CREATE UNIQUE INDEX ON ours.t_1 (id, k COLLATE \"C\"); CREATE TABLE ours.t_2 PARTITION OF ours.t FOR VALUES IN (2);
             CREATE UNIQUE INDEX ON ours.t_2 (id, k COLLATE \"POSIX\")",
            "ours.t_1 and ours.t_2 compare the key in different ways (SQLSTATE 42P10)",
        ),
        (
            "CREATE UNIQUE INDEX ON ours.t (id, k caseless)",
            "cannot compare the values of column k: operator class caseless is not the default of \
             the type (SQLSTATE 0A000)",
        ),
    ];
    if server.major() >= 15 {
        cases.push((
            "CREATE UNIQUE INDEX ON ours.t (id, k); CREATE UNIQUE INDEX ON ours.t_1 (k, id) NULLS NOT DISTINCT",
            "two unique indexes of ours.t_1 differ only in how they compare NULLs (SQLSTATE 42P10)",
        ));
    }
    for (indexes, message) in cases {
        make(&bench, "ours", &Keyed { column: "text", indexes: &[], collation: "" });
        bench.session.run(indexes);
        for (options, _) in ACTIONS {
            let ended = bench.load(["rows.csv", "-t", "ours.t"].iter().chain(options));
            ended.fails(2, &[message]);
        }
    }
}
