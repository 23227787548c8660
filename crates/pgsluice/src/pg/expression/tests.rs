//! Translation of expressions as PostgreSQL 13 to 18 deparse them.

use super::*;

const LIBC: Collation = Collation { oid: 100, ascii: false };
const C: Collation = Collation { oid: 950, ascii: true };

fn scope() -> Scope {
    let timestamp = KeyType::Timestamp { precision: 6 };
    let columns = [
        ("a", KeyType::Int4, None),
        ("b", KeyType::Int8, None),
        ("Id", KeyType::Uuid, None),
        ("name", KeyType::Text, Some(LIBC)),
        ("code", KeyType::Text, Some(C)),
        ("tag", KeyType::Varchar { max: Some(9) }, Some(LIBC)),
        ("day", KeyType::Date, None),
        ("created", timestamp, None),
        ("at", KeyType::Timestamptz { precision: 6, zone: None }, None),
    ];
    let column = |(place, (name, ty, collation))| {
        let expr = Expr::column(place, ty).expect("a type of expressions");
        (String::from(name), Operand { expr, collation })
    };
    let columns = columns.into_iter().enumerate().map(column).collect();
    Scope { columns, database: LIBC, utc: true }
}

fn types(list: &str) -> Vec<Option<KeyType>> {
    let exprs = translate(list, &scope());
    exprs.into_iter().map(|expr| expr.map(|expr| expr.ty().clone())).collect()
}

fn parse(list: &str) -> Option<KeyType> {
    let types = types(list);
    assert!(types.len() < 2, "{list}");
    types.into_iter().next().flatten()
}

#[test]
fn expressions_have_the_types_that_the_server_gives_them() {
    let numeric = KeyType::Numeric { scale: None };
    let timestamp = KeyType::Timestamp { precision: 6 };
    for (text, ty) in [
        ("lower(\"left\"((\"Id\")::text, 1))", KeyType::Text),
        ("lower(code)", KeyType::Text),
        ("lower((name COLLATE \"C\"))", KeyType::Text),
        ("lower(COALESCE(code, ''::text))", KeyType::Text),
        ("SUBSTRING(name FROM 2 FOR 3)", KeyType::Text),
        ("SUBSTRING(tag FROM (a)::smallint)", KeyType::Text),
        ("\"substring\"(name, 2)", KeyType::Text),
        ("substr(name, '-1'::integer, a)", KeyType::Text),
        ("((a + b) % '10'::bigint)", KeyType::Int8),
        ("(- a)", KeyType::Int4),
        ("mod(a, 7)", KeyType::Int4),
        ("abs((a)::smallint)", KeyType::Int2),
        ("date_trunc('month'::text, created)", timestamp.clone()),
        ("date_trunc('month'::text, (day)::timestamp without time zone)", timestamp.clone()),
        ("date_part('hour'::text, day)", KeyType::Float8),
        ("EXTRACT(year FROM created)", numeric.clone()),
        ("(EXTRACT(isodow FROM created))::integer", KeyType::Int4),
        ("(at AT TIME ZONE 'UTC'::text)", timestamp.clone()),
        ("timezone('Etc/GMT-2'::text, at)", timestamp.clone()),
        (
            "date_bin('1 day 02:00:00'::interval, created, \
             '2000-01-01 00:00:00'::timestamp without time zone)",
            timestamp,
        ),
    ] {
        assert_eq!(parse(text), Some(ty), "{text}");
    }
}

#[test]
fn unknown_functions_are_left_to_the_server() {
    for text in [
        "",
        "a; SELECT a",
        "a AS b",
        "*",
        "other",
        "lower(name)",
        "lower(COALESCE(code, name))",
        "lower((name COLLATE public.\"C\"))",
        "lower((name COLLATE \"de-x-icu\"))",
        "public.lower(code)",
        "\"LOWER\"(code)",
        "\"coalesce\"(a, a)",
        "lower(DISTINCT code)",
        "lower(code) OVER ()",
        "(a OPERATOR(public.+) a)",
        "(a + name)",
        "(a % b)",
        "(a || a)",
        "(+ a)",
        "abs(name)",
        "abs(a, a)",
        "COALESCE(a, b)",
        "(name)::character varying(3)",
        "(name)::public.text",
        "(name)::\"TEXT\"",
        "(created)::timestamp(0) without time zone",
        "(at)::date",
        "(name)::date",
        "'a'",
        "E'a'::text",
        "\"left\"(name, b)",
        "\"left\"(name, 1, 1)",
        "SUBSTRING(name FROM 'x'::text)",
        "SUBSTRING(name FOR 2)",
        "SUBSTRING(\"Id\" FROM 2)",
        "\"substring\"(tag, 2)",
        "date_trunc('months'::text, created)",
        "date_trunc(name, created)",
        "date_trunc('day'::text, at)",
        "date_part('julian'::text, created)",
        "EXTRACT(hour FROM day)",
        "(at AT TIME ZONE 'Europe/Berlin'::text)",
        "(at AT TIME ZONE 'GMT'::text)",
        "(at AT TIME ZONE name)",
        "date_bin('1 mon'::interval, created, '2000-01-01'::timestamp without time zone)",
        "date_bin('00:00:00'::interval, created, '2000-01-01'::timestamp without time zone)",
        "date_bin('1 day'::interval, created, 'infinity'::timestamp without time zone)",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
}

#[test]
fn a_list_has_one_entry_for_each() {
    assert_eq!(types("(a + 1), f(a), code"), [Some(KeyType::Int4), None, Some(KeyType::Text)]);
    assert_eq!(types("(a + "), []);
}

#[test]
fn utc_is_a_zone_only_where_the_session_says_so() {
    let scope = Scope { utc: false, ..scope() };
    let zones = "(at AT TIME ZONE 'UTC'::text), (at AT TIME ZONE 'Etc/UTC'::text)";
    let known: Vec<bool> = translate(zones, &scope).iter().map(Option::is_some).collect();
    assert_eq!(known, [false, true]);
}

#[test]
fn only_zones_that_never_changed_are_fixed() {
    assert_eq!(fixed_zone("UTC"), Some(0));
    assert_eq!(fixed_zone("Etc/GMT+5"), Some(-18_000));
    assert_eq!(fixed_zone("Etc/GMT-14"), Some(50_400));
    assert_eq!(fixed_zone("Europe/Berlin"), None);
    assert_eq!(fixed_zone("GMT0BST"), None);
}
