//! Columns whose types differ between source and target: they get the values that COPY would store from the text.

use super::case::{Case, notes};
use crate::harness::{Bench, Server, literal, on_each_server};

on_each_server!([
    columns_of_other_types,
    columns_of_the_same_types,
    a_column_that_differs_is_named,
    a_value_that_does_not_fit,
    intervals_without_end,
]);

/// Types that only the source has.
const OF_SOURCE: &str = "
CREATE SCHEMA there;
CREATE TYPE there.mood AS ENUM ('low', 'high', 'a b');
CREATE TYPE there.pair AS (a int, b text);
CREATE DOMAIN there.whole AS int";

/// Types that only the target has: its enum has another order and more labels.
const OF_TARGET: &str = "
CREATE TYPE public.mood AS ENUM ('a b', 'high', 'none', 'low');
CREATE TYPE public.pair AS (a bigint, b varchar(9));
CREATE DOMAIN public.whole AS bigint CHECK (VALUE <> 13)";

/// A source type, its values, and a target type.
const PAIRS: [(&str, &[&str], &str); 39] = [
    ("int", &["1", "-2147483648", "2147483647"], "bigint"),
    ("bigint", &["1", "-2147483648"], "int"),
    ("smallint", &["-32768"], "numeric(9,3)"),
    ("int", &["0", "1"], "text"),
    ("numeric", &["NaN", "0.000", "1e50", "-1.50"], "text"),
    ("numeric", &["NaN", "0.1", "1e-30"], "double precision"),
    ("real", &["0.1", "NaN", "-Infinity", "3.4e38", "-0"], "double precision"),
    ("double precision", &["0.5", "NaN", "1e-30"], "real"),
    ("double precision", &["0.1", "1e300", "NaN"], "numeric"),
    ("varchar(9)", &["", "a\tb", "a\nb", "\\N", "\\", "é"], "text"),
    ("text", &["", "a\rb", "\\.", "日本"], "varchar(9)"),
    ("char(8)", &["", "a", "a b"], "text"),
    ("text", &["", "a", "a    "], "char(8)"),
    ("name", &["", "a b", "é"], "text"),
    ("text", &["a b", ""], "name"),
    ("\"char\"", &["a", ""], "text"),
    ("json", &["{\"b\": 1, \"a\": [null, \"\\u00e9\"], \"b\": 2}", "null"], "jsonb"),
    ("jsonb", &["{\"b\": 1, \"a\": [null, \"\\\\\\\"\"]}", "1.50"], "json"),
    ("text", &["{\"a\": 1}", "[]"], "jsonb"),
    ("there.mood", &["low", "high", "a b"], "public.mood"),
    ("there.mood[]", &["{low,NULL}", "{\"a b\"}", "{{high},{low}}", "{}"], "public.mood[]"),
    ("there.mood", &["low", "a b"], "text"),
    ("there.pair", &["(1,a)", "(,)", "(2,\"a \"\"b\")"], "public.pair"),
    ("there.pair[]", &["{\"(1,a)\",\"(,\\\"x y\\\")\"}", "{NULL}"], "public.pair[]"),
    ("there.whole", &["1", "-7"], "public.whole"),
    ("there.whole", &["1", "-7"], "int"),
    ("int[]", &["{1,NULL}", "[2:3]={1,2}", "{{1},{2}}", "{}"], "bigint[]"),
    ("int4range", &["[1,5)", "empty", "(,)"], "int8range"),
    ("money", &["1.50", "-92233720368547758.08"], "money"),
    ("money", &["1.50", "-0.07"], "text"),
    ("xml", &["<a b=\"1\">x</a>", "text"], "text"),
    ("xml", &["<a/>"], "xml"),
    ("date", &["2024-02-29", "infinity", "0044-03-15 BC"], "timestamp"),
    ("timestamp", &["2024-02-29 23:59:59.999999", "-infinity"], "date"),
    ("timestamptz", &["2024-02-29 23:00:00.5+05", "infinity"], "timestamp"),
    ("timestamp", &["2024-02-29 23:00:00.5", "-infinity"], "timestamptz"),
    (
        "interval",
        &["-178000000 years", "1 mon -1 day 00:00:00.000001", "1 year -1 sec"],
        "interval",
    ),
    ("bit(3)", &["101"], "varbit"),
    ("bytea", &["\\x", "\\x00ff5c"], "text"),
];

/// Types on both sides, with values that are easily damaged.
const SAME: [(&str, &[&str]); 24] = [
    ("text", &["\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1b}\u{7f}", "\\N", "\\.", "é\u{301}\u{10ffff}", ""]),
    ("char(5)", &["a", "", "b c"]),
    ("boolean", &["t", "f"]),
    ("bytea", &["\\x", "\\x000a0d5cff"]),
    ("\"char\"", &["", "a", "~"]),
    ("name", &["", "a b"]),
    ("real", &["-0", "NaN", "1e-45", "-Infinity"]),
    ("double precision", &["-0", "NaN", "5e-324", "1.7976931348623157e308", "Infinity"]),
    ("numeric", &["NaN", "0.0000", "-1e100", "123456789012345678901234567890.10"]),
    ("date", &["infinity", "-infinity", "4713-01-01 BC", "5874897-12-31"]),
    ("time", &["24:00:00", "00:00:00.000001"]),
    ("timetz", &["24:00:00+15:59", "12:00:00-15:59:59"]),
    ("timestamptz", &["infinity", "4713-01-01 00:00:00+00 BC", "294276-12-31 23:59:59.999999+00"]),
    ("inet", &["10.0.0.1/8", "::ffff:1.2.3.4/128", "fe80::/10"]),
    ("macaddr8", &["08:00:2b:01:02:03:04:05"]),
    ("point", &["(1e300,-0)", "(NaN,Infinity)"]),
    ("path", &["[(0,0),(1,1)]", "((0,0),(1,1))"]),
    ("tsvector", &["'a b':1A,2 'c'", ""]),
    ("tsquery", &["'a' & !( 'b' | 'c':A )", ""]),
    ("jsonb", &["{\"a\": 1e400, \"b\": [{}, \"\\u0001\"]}", "\"\""]),
    ("varbit", &["", "1", "101010101"]),
    ("int[]", &["[0:1]={1,NULL}", "{{{1}},{{2}}}", "{}"]),
    ("numrange", &["empty", "(,)", "[0.00,1]"]),
    ("pg_lsn", &["FFFFFFFF/FFFFFFFF", "0/0"]),
];

/// Creates the source `old`, whose column `c` has each of `values` and NULL `times` times.
pub(super) fn fill(case: &Case, source: &str, values: &[&str], times: usize) {
    let listed: String = values.iter().map(|value| literal(value) + ", ").collect();
    case.source().session.run(&format!(
        "DROP TABLE IF EXISTS public.old;
         CREATE TABLE public.old AS SELECT (row_number() OVER ())::int AS id, c::{source} AS c
         FROM unnest(ARRAY[{listed}NULL]) AS c, generate_series(1, {times})"
    ));
}

/// Creates `t`, with a column `c` of type `target`, partitioned by `id`.
fn make(case: &Case, target: &str) {
    case.make(&format!(
        "DROP TABLE IF EXISTS t;
         CREATE TABLE t (c {target}, id int) PARTITION BY HASH (id);
         CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)"
    ));
}

fn columns_of_other_types(server: Server) {
    for case in Case::both(server) {
        case.source().session.run(OF_SOURCE);
        case.bench.session.run(OF_TARGET);
        for (number, (source, values, target)) in PAIRS.into_iter().enumerate() {
            fill(&case, source, values, if number % 2 == 0 { 1 } else { 200 });
            make(&case, target);
            case.copy("public.old", "id, c");
            case.load("public.old", &[]).summary();
            case.agree(&format!("{source} to {target}"));
        }
    }
}

fn columns_of_the_same_types(server: Server) {
    for case in Case::both(server) {
        for (number, (source, values)) in SAME.into_iter().enumerate() {
            fill(&case, source, values, if number % 2 == 0 { 200 } else { 1 });
            make(&case, source);
            case.copy("public.old", "id, c");
            let summary = case.load("public.old", &[]).summary();
            case.agree(source);
            assert!(!notes(&summary).contains("as text"), "{source}: {summary}");
        }
    }
}

fn a_column_that_differs_is_named(server: Server) {
    for case in Case::both(server) {
        fill(&case, "int", &["1", "2"], 200);
        make(&case, "bigint");
        let summary = case.load("public.old", &[]).summary();
        assert!(notes(&summary).contains("read as text: column c is "), "{summary}");
        let planned = case.run("plan", "public.old", &[]);
        assert!(planned.stdout.contains("read as text: column c is "), "{planned:?}");
    }
}

fn a_value_that_does_not_fit(server: Server) {
    for case in Case::both(server) {
        for (source, value, target, sqlstate) in [
            ("bigint", "2147483648", "int", "22003"),
            ("text", "abcdefghij", "varchar(9)", "22001"),
            ("text", "one", "int", "22P02"),
            ("numeric", "12345678.5", "numeric(9,2)", "22003"),
            ("text", "none", "boolean", "22P02"),
        ] {
            for times in [1, 400] {
                fill(&case, source, &[value], times);
                make(&case, target);
                // Rows are sent leaf by leaf, so any row may be the first to fail.
                let place =
                    if times == 1 { "public.old, ctid (0,1): " } else { "public.old, ctid (" };
                let ended = case.load("public.old", &["-j1"]);
                ended.fails_empty(&[place, &format!("(SQLSTATE {sqlstate})")]);
            }
        }
    }
}

/// Servers before 17 have no infinite intervals, and must not receive the bytes of one.
fn intervals_without_end(server: Server) {
    let case = Case::elsewhere(server);
    let knows = |bench: &Bench| bench.value("SHOW server_version_num").as_str() >= "170000";
    let value = if knows(case.source()) { "infinity" } else { "178000000 years" };
    fill(&case, "interval", &[value, "1 day"], 200);
    make(&case, "interval");
    let ended = case.load("public.old", &["-j1"]);
    if value == "infinity" && !knows(&case.bench) {
        ended.fails_empty(&["public.old, ctid (", "(SQLSTATE 22007)"]);
    } else {
        ended.summary();
        case.copy("public.old", "id, c");
        case.agree(value);
    }
}
