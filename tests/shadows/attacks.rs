//! Realistic attacks: with the default search_path, a shadow in public is called only if it matches better
//! than the object in pg_catalog.

use super::Case;
use crate::harness::on_each_server;

on_each_server!(with super::Case::new, [attacks_by_exact_matches, recheck_of_types_by_equal_arrays, self_test_by_types_of_columns, questions_by_unnest, self_test_by_hash_partitions, verify_by_minus,]);

/// Creates a single shadow: a function, or a binary operator.
fn only(case: &Case, name: &str, arguments: &str, result: &str) {
    let is_operator = !name.starts_with(|c: char| c.is_ascii_alphabetic());
    let function = if is_operator { "evil.operator" } else { &format!("public.{name}") };
    let operator = arguments.split_once(", ").filter(|_| is_operator).map(|(left, right)| {
        format!(
            "CREATE OPERATOR public.{name} (FUNCTION = {function}, LEFTARG = {left}, RIGHTARG = {right});"
        )
    });
    let shadow = format!(
        "CREATE SCHEMA evil;
         CREATE SEQUENCE evil.calls; CREATE SEQUENCE evil.which;
         CREATE TABLE evil.shadow (number int, what text);
         INSERT INTO evil.shadow VALUES (1, '{name}({arguments})');
         CREATE FUNCTION {function}({arguments}) RETURNS {result} LANGUAGE plpgsql AS
             $$ BEGIN RAISE 'shadow called with the rights of %, % in calls', current_user, nextval('evil.calls'); END $$;
         {}",
        operator.unwrap_or_default()
    );
    case.haunt(&shadow, "\"$user\", public");
}

/// Each payload checks whether the columns still have the types for which it was encoded.
fn recheck_of_types_by_equal_arrays(case: &Case) {
    only(case, "=", "oid[], oid[]", "bool");
    case.bench.file("rows.csv", "2024-01-01,1,a,2024-01-01,1\n");
    let loaded = case.loads("t", &["rows.csv", "--few-rows=0", "--no-self-test"]);
    assert_eq!(loaded["rows_loaded"], 1);
}

fn self_test_by_types_of_columns(case: &Case) {
    only(case, "=", "oid, regtype", "bool");
    case.bench.file("rows.csv", "2024-01-01,1,a,2024-01-01,1\n");
    assert_eq!(case.loads("t", &["rows.csv", "--few-rows=0"])["rows_loaded"], 1);
}

fn questions_by_unnest(case: &Case) {
    only(case, "unnest", "text[]", "SETOF text");
    case.bench.file("asked.csv", "2,01,a,$1,b\n");
    assert_eq!(case.loads("asked", &["asked.csv", "--few-rows=0"])["lanes"]["routed_by_query"], 1);
}

fn self_test_by_hash_partitions(case: &Case) {
    only(case, "satisfies_hash_partition", "oid, int, int, int", "bool");
    case.bench.file("rows.csv", "2024-01-01,1,a,2024-01-01,1\n");
    assert_eq!(case.loads("t", &["rows.csv", "--few-rows=0"])["rows_loaded"], 1);
}

fn verify_by_minus(case: &Case) {
    only(case, "-", "numeric, bigint", "numeric");
    case.bench.session.run("INSERT INTO public.t (day, id) VALUES ('2024-01-02', 5)");
    case.bench.file("rows.csv", "2024-01-01,1,a,2024-01-01,1\n");
    let differs = case.run("verify", "t", &["rows.csv"], None);
    assert_eq!(differs.status.code(), Some(1), "{differs:?}");
}

fn attacks_by_exact_matches(case: &Case) {
    case.haunt(include_str!("attacks.sql"), "\"$user\", public");
    let row = |n: usize| format!("2024-0{}-{:02},{n},a\n", n % 2 + 1, n % 28 + 1);
    case.bench.file("rows.csv", (0..2000).map(row).collect::<String>());
    let columns = ["--columns", "day,id,name"];
    let loaded = case.loads("t", &[&["rows.csv", "--few-rows=0"], &columns[..]].concat());
    assert_eq!(loaded["rows_loaded"], 2000);
    case.succeeds("plan", "t", &[&["rows.csv", "--full"], &columns[..]].concat());
    case.succeeds("tree", "t", &[]);
    case.succeeds("verify", "t", &[&["rows.csv"], &columns[..]].concat());
    case.bench.session.run("DELETE FROM public.t WHERE id = 7");
    let differs = case.run("verify", "t", &[&["rows.csv"], &columns[..]].concat(), None);
    assert_eq!(differs.status.code(), Some(1), "{differs:?}");
    case.bench.file("ex.csv", "1,a,\"[1,2)\",1\n1001,b,\"[3,4)\",2\n");
    let columns = ["--columns", "id,name,span,other"];
    let loaded = case.loads("ex", &[&["ex.csv", "--exchange"], &columns[..]].concat());
    assert_eq!(loaded["exchanged"], 2);
    case.bench.file("grow.csv", "2024-03-01,calm,1\n2024-04-01,odd,2\n");
    let loaded = case.loads("grow", &["grow.csv", "--create-partitions"]);
    assert_eq!(loaded["rows_loaded"], 2);
}
