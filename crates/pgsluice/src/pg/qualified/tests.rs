//! Deparsed texts of every kind, and the same texts qualified.

use super::{qualify, qualify_type};

#[track_caller]
fn becomes(deparsed: &str, expected: &str) {
    assert_eq!(qualify(deparsed).as_deref(), Some(expected), "{deparsed}");
}

#[test]
fn partition_constraints() {
    becomes(
        "((a IS NOT NULL) AND (a >= '2020-01-01'::date) AND (a < '2021-01-01'::date))",
        "((a IS NOT NULL) AND (a OPERATOR(pg_catalog.>=) '2020-01-01'::pg_catalog.date) \
         AND (a OPERATOR(pg_catalog.<) '2021-01-01'::pg_catalog.date))",
    );
    becomes(
        "((a IS NULL) OR (a = ANY (ARRAY[1, '-2'::integer])))",
        "((a IS NULL) OR (a OPERATOR(pg_catalog.=) ANY (ARRAY[1, '-2'::integer])))",
    );
    becomes(
        "satisfies_hash_partition('16384'::oid, 8, 3, \"A b\", lower(b))",
        "pg_catalog.satisfies_hash_partition('16384'::pg_catalog.oid, 8, 3, \"A b\", \
         pg_catalog.lower(b))",
    );
    for text in ["(x OPERATOR(s.=) s.f(y) AND true)", "((x OPERATOR(s.=) y) OR (OPERATOR(s.-) y))"]
    {
        becomes(text, text);
    }
}

#[test]
fn names_of_the_system() {
    for (deparsed, expected) in [
        ("\"left\"(b, 2)", "pg_catalog.\"left\"(b, 2)"),
        ("EXTRACT(year FROM d)", "EXTRACT(year FROM d)"),
        ("(d AT TIME ZONE 'UTC'::text)", "(d AT TIME ZONE 'UTC'::pg_catalog.text)"),
        ("(- a)", "(OPERATOR(pg_catalog.-) a)"),
        ("(a !)", "(a OPERATOR(pg_catalog.!))"),
        ("(ROW(a, b) < ROW(1.5, 2))", "(ROW(a, b) OPERATOR(pg_catalog.<) ROW(1.5, 2))"),
        ("COALESCE(a, f(x => 1))", "COALESCE(a, pg_catalog.f(x => 1))"),
        ("(b)::text COLLATE \"C\"", "(b)::pg_catalog.text COLLATE pg_catalog.\"C\""),
        ("b COLLATE s.\"C\"", "b COLLATE s.\"C\""),
        (
            "CASE\n    WHEN (a > 1) THEN 1\n    ELSE 2\nEND",
            "CASE\n    WHEN (a OPERATOR(pg_catalog.>) 1) THEN 1\n    ELSE 2\nEND",
        ),
        (
            "('a = b'::text || '('::text)",
            "('a = b'::pg_catalog.text OPERATOR(pg_catalog.||) '('::pg_catalog.text)",
        ),
        (
            "E'\\\\''' || B'01'::\"bit\"",
            "E'\\\\''' OPERATOR(pg_catalog.||) B'01'::pg_catalog.\"bit\"",
        ),
        ("(a[1:2])[1]", "(a[1:2])[1]"),
        ("(c).part", "(c).part"),
    ] {
        becomes(deparsed, expected);
    }
}

#[test]
fn types() {
    for keyword in [
        "integer",
        "bigint",
        "smallint",
        "real",
        "double precision",
        "boolean",
        "numeric",
        "numeric(10,2)",
        "character(3)",
        "character varying",
        "character varying(5)[]",
        "bit(3)",
        "bit varying(3)",
        "timestamp without time zone",
        "timestamp(3) with time zone[]",
        "time(0) with time zone",
        "interval",
        "interval(3)",
        "interval day to second(3)",
        "interval year to month",
        "s.text",
        "\"S\".\"T\"(3)[]",
    ] {
        assert_eq!(qualify_type(keyword).as_deref(), Some(keyword));
        becomes(
            &format!("((a)::{keyword} = b)"),
            &format!("((a)::{keyword} OPERATOR(pg_catalog.=) b)"),
        );
    }
    for (bare, expected) in [
        ("text[]", "pg_catalog.text[]"),
        ("\"char\"", "pg_catalog.\"char\""),
        ("bpchar", "pg_catalog.bpchar"),
        ("geometry(3,4)", "pg_catalog.geometry(3,4)"),
    ] {
        assert_eq!(qualify_type(bare).as_deref(), Some(expected));
    }
    assert_eq!(qualify_type("text; DROP TABLE t"), None);
}

#[test]
fn definitions() {
    becomes(
        "SET default_tablespace TO ''; CREATE UNIQUE INDEX \"x=y\" ON s.t USING btree \
         (lower(b) COLLATE \"C\" text_pattern_ops DESC NULLS LAST, ((a + 1)) int4_ops, c s.ops) \
         INCLUDE (d) NULLS NOT DISTINCT WITH (fillfactor='70', x = 1) TABLESPACE z WHERE (a < 9)",
        "SET default_tablespace TO ''; CREATE UNIQUE INDEX \"x=y\" ON s.t USING btree \
         (pg_catalog.lower(b) COLLATE pg_catalog.\"C\" pg_catalog.text_pattern_ops DESC NULLS LAST, \
         ((a OPERATOR(pg_catalog.+) 1)) pg_catalog.int4_ops, c s.ops) INCLUDE (d) NULLS NOT DISTINCT \
         WITH (fillfactor='70', x = 1) TABLESPACE z WHERE (a OPERATOR(pg_catalog.<) 9)",
    );
    let key = "ALTER TABLE s.t ADD CONSTRAINT c FOREIGN KEY (a) REFERENCES s.u(b) MATCH FULL \
               ON DELETE SET NULL (a) DEFERRABLE NOT VALID";
    becomes(key, key);
    becomes(
        "ALTER TABLE s.t ADD CONSTRAINT c EXCLUDE USING gist (r WITH &&, b WITH OPERATOR(s.=)) \
         WHERE ((b <> ''::text)) DEFERRABLE",
        "ALTER TABLE s.t ADD CONSTRAINT c EXCLUDE USING gist (r WITH OPERATOR(pg_catalog.&&), \
         b WITH OPERATOR(s.=)) WHERE ((b OPERATOR(pg_catalog.<>) ''::pg_catalog.text)) DEFERRABLE",
    );
}

#[test]
fn analyze_stays_a_statement_of_its_own() {
    becomes("ANALYZE \"s\".\"t\"", "ANALYZE \"s\".\"t\"");
}

#[test]
fn unqualifiable_sql_is_left_unchanged() {
    for deparsed in [
        "(a IS DISTINCT FROM b)",
        "NULLIF(a, b)",
        "CASE a\n    WHEN 1 THEN 2\nEND",
        "XMLSERIALIZE(CONTENT x AS text)",
        "JSON_VALUE(j, '$' RETURNING integer)",
        "count(*)",
        "ROW(t.*)",
        "CREATE INDEX i ON t USING gist (c ops (siglen='32'))",
        "'open",
        "a {b}",
    ] {
        assert_eq!(qualify(deparsed), None, "{deparsed}");
    }
}
