//! Deparsed expressions whose names pgsluice qualifies: the server reads them as before, even with a
//! search_path that hides everything of pg_catalog. This covers keys, partition constraints, checks, indexes
//! and types of all trees and expressions in the tests.

use pgsluice::pg::qualified::{qualify, qualify_type};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::expressions::list;
use crate::expressions::rows::COLUMNS;
use crate::harness::trees::{Case, names};
use crate::harness::{Scratch, Server, Session, on_each_server};
use crate::random::tree::trees;
use crate::random::values::TYPES;

on_each_server!(each crate::qualified::check, [expressions, cases, random_trees,]);

/// Number of random trees to check.
const RANDOM_TREES: usize = 60;

/// The settings under which the loader reads the catalogue.
const EXACT: &str =
    "SET search_path = pg_catalog, pg_temp; SET datestyle = 'ISO'; SET timezone = 'UTC';
                     SET intervalstyle = 'postgres'; SET standard_conforming_strings = on";

/// All deparsed texts, by table; only some for tables with very many leaves.
const TEXTS: &str = "
WITH own AS (
    SELECT *, row_number() OVER (PARTITION BY COALESCE(pg_partition_root(oid), oid) ORDER BY oid) AS place
    FROM pg_class
    WHERE relkind IN ('r', 'p') AND relnamespace::regnamespace::text
          NOT IN ('pg_catalog', 'information_schema', 'evil', 'pg_toast')
)
SELECT oid::regclass::text, what, text FROM own, LATERAL (
    SELECT 'constraint', pg_get_partition_constraintdef(oid) WHERE relispartition
    UNION ALL
    SELECT 'key', format('ROW(%s) IS NULL', pg_get_expr(partexprs, oid)) FROM pg_partitioned_table
    WHERE partrelid = oid AND partexprs IS NOT NULL
    UNION ALL
    SELECT 'check', pg_get_expr(conbin, oid) FROM pg_constraint WHERE conrelid = own.oid AND contype = 'c'
    UNION ALL
    SELECT 'index', format('ROW(%s) IS NULL', pg_get_expr(indexprs, oid)) FROM pg_index
    WHERE indrelid = own.oid AND indexprs IS NOT NULL
    UNION ALL
    SELECT 'index', pg_get_expr(indpred, oid) FROM pg_index WHERE indrelid = own.oid AND indpred IS NOT NULL
    UNION ALL
    SELECT 'type', format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = own.oid AND attnum > 0 AND NOT attisdropped
) AS thing (what, text)
WHERE place <= 40 AND text IS NOT NULL ORDER BY own.oid";

fn check(name: &str, server: Server) {
    let scratch = server.scratch();
    match name {
        "expressions" => make_expressions(&scratch.session(), server.major()),
        "cases" => make_cases(&scratch, server),
        _ => make_random_trees(&scratch.session()),
    }
    compare(&scratch);
}

fn make_expressions(session: &Session, major: u32) {
    let columns: Vec<String> = COLUMNS.iter().map(|(name, ty, _)| format!("{name} {ty}")).collect();
    let columns = columns.join(", ");
    for (number, text) in list::expressions(major).iter().enumerate() {
        session.run(&format!("CREATE TABLE t_{number} ({columns}) PARTITION BY HASH (({text}))"));
    }
}

/// Creates the cases. Skips those that the server does not support or that need their own database.
fn make_cases(scratch: &Scratch, server: Server) {
    let names = names();
    let make = |(number, name): (usize, &String)| {
        let (case, session) = (Case::read(name), scratch.session());
        let side = format!("side_{number}");
        session.run(&format!("CREATE SCHEMA {side}; SET search_path = {side}"));
        let skipped = case.skipped(server, &session).is_some();
        !skipped && session.try_run(&case.schema(&side, scratch.url())).is_ok()
    };
    let made = names.iter().enumerate().filter(|case| make(*case)).count();
    assert!(made > names.len() * 3 / 4, "only {made} of {} cases were made", names.len());
}

fn make_random_trees(session: &Session) {
    session.run(TYPES);
    let mut runner = TestRunner::deterministic();
    for number in 0..RANDOM_TREES {
        let tree = trees().new_tree(&mut runner).expect("a tree").current();
        let schema = format!("CREATE SCHEMA s_{number}; SET search_path = s_{number}");
        session.run(&format!("{schema}; {}", tree.sql()));
    }
}

/// Creates a view of each table with the original texts, and another with the qualified texts, created where
/// unqualified names cannot be found. The server must parse both to the same expressions.
fn compare(scratch: &Scratch) {
    let session = scratch.session();
    session.run(include_str!("shadows/everything.sql"));
    session.run(EXACT);
    let texts = session.rows(TEXTS);
    let texts: Vec<[String; 3]> = texts
        .into_iter()
        .map(|row| [0, 1, 2].map(|column| row[column].clone().expect("a text")))
        .collect();
    assert!(texts.len() > 100);
    for (number, texts) in texts.chunk_by(|a, b| a[0] == b[0]).enumerate() {
        let table = &texts[0][0];
        let both =
            texts.iter().filter_map(|[_, what, text]| Some((expect(what, text)?, text, what)));
        let both: Vec<(String, &String, &String)> = both.collect();
        let plain = both.iter().map(|(_, text, what)| match &***what {
            "type" => format!("NULL::{text}"),
            _ => format!("({text})"),
        });
        let view = |name: &str, columns: Vec<String>| {
            let columns = columns.iter().enumerate().map(|(n, column)| format!("{column} AS c{n}"));
            let columns = columns.collect::<Vec<_>>().join(", ");
            format!("CREATE VIEW public.{name}_{number} AS SELECT {columns} FROM ONLY {table}")
        };
        let plain = view("plain", plain.collect());
        let qualified = view("qualified", both.iter().map(|(text, ..)| text.clone()).collect());
        session.run(&plain);
        session.run(&format!("SET search_path = evil, pg_catalog; {qualified}; {EXACT}"));
    }
    let differing = "SELECT p.definition, q.definition FROM pg_views p
                     JOIN pg_views q ON q.viewname = replace(p.viewname, 'plain', 'qualified')
                     WHERE p.viewname LIKE 'plain%' AND p.definition <> q.definition";
    assert_eq!(session.rows(differing), [[None, None]; 0]);
    let called = session.rows("SELECT is_called FROM evil.calls");
    assert_eq!(called, [[Some("f".to_owned())]]);
}

/// Returns the qualified text. Returns `None` if SQL has no way to qualify a name in it.
fn expect(what: &str, text: &str) -> Option<String> {
    let expected = match what {
        "type" => qualify_type(text).map(|ty| format!("NULL::{ty}")),
        _ => qualify(text).map(|text| format!("({text})")),
    };
    let by_name = ["NULLIF(", "IS DISTINCT FROM", "CASE "].iter().any(|word| text.contains(word));
    assert!(expected.is_some() || by_name, "{what}: {text}");
    expected
}
