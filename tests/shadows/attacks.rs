//! The attacks as they are: with the usual search_path a shadow in public is called only if it fits better
//! than what pg_catalog has.

use super::{Case, Test};

pub(super) const TESTS: &[(&str, Test)] = &[("attacks_by_exact_matches", attacks_by_exact_matches)];

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
