//! All commands, while the first schema of the search_path has a shadow of everything in pg_catalog.

use super::Case;
use crate::harness::on_each_server;

on_each_server!(with super::Case::new, [load, load_of_keys_that_are_asked, load_with_rejects, resume, atomic, exchange, create_partitions, plan_tree_and_verify,]);

fn haunted(case: &Case) {
    case.haunt(include_str!("everything.sql"), "evil, pg_catalog, public");
}

/// Returns rows for `t`. The server is asked about the spelling of some of them.
fn rows(count: usize) -> String {
    let row = |n: usize| {
        let day = match n % 4 {
            0 => format!("2024-01-{:02}", n % 31 + 1),
            1 => format!("\"January {}, 2024\"", n % 31 + 1),
            2 => format!("202402{:02}", n % 29 + 1),
            _ => format!("2024-02-{:02}", n % 29 + 1),
        };
        let name = ["a", "it's", "", "b"][n % 4];
        format!("{day}, {n},{name},2024-01-01 0{}:00:00 Europe/Berlin,{n}.5\n", n % 9)
    };
    (0..count).map(row).collect()
}

fn asked_rows(count: usize) -> String {
    let row = |n: usize| {
        let (bits, label) = (format!("{:b}", n % 200), ["x", "Äpfel", "mm", "n"][n % 4]);
        format!("{n},{bits},{label}{n},${n}.25,note\n")
    };
    (0..count).map(row).collect()
}

fn load(case: &Case) {
    haunted(case);
    case.bench.file("few.csv", rows(20));
    assert_eq!(case.loads("t", &["few.csv"])["rows_loaded"], 20);
    case.bench.file("rows.csv", rows(4000));
    for options in [
        &["--few-rows=0"][..],
        &["--few-rows=0", "--wire=text", "-j", "3"],
        &["--no-native"],
        &["--columns", "day,id,name,at,amount", "--no-ledger", "-j", "1"],
    ] {
        let summary = case.loads("public.t", &[&["rows.csv"], options].concat());
        assert_eq!(summary["rows_loaded"], 4000, "{options:?}");
    }
    assert_eq!(case.bench.count("public.t"), 16_020);
    case.bench.file("some.csv", (0..100).map(|n| format!("{n},x\n")).collect::<String>());
    for options in [&["some.csv"][..], &["some.csv", "--few-rows=0"]] {
        let summary = case.loads("drops", options);
        assert_eq!((&summary["rows_loaded"], &summary["rows_dropped"]), (&50.into(), &50.into()));
        assert_eq!(case.loads("counted", options)["rows_loaded"], 100);
        assert_eq!(case.loads("seen", options)["rows_loaded"], 100);
    }
    let list = case.succeeds("ledger", "", &["list"]);
    assert_eq!(list.stdout.matches("finished").count(), 10, "{list:?}");
}

fn load_of_keys_that_are_asked(case: &Case) {
    haunted(case);
    case.bench.file("asked.csv", asked_rows(4000));
    let summary = case.loads("asked", &["asked.csv", "--few-rows=0"]);
    assert_eq!(
        (&summary["rows_loaded"], &summary["lanes"]["routed_by_server"]),
        (&4000.into(), &1000.into())
    );
    // The plan reports each key that the server is not asked about, and the reason.
    let plan = case.succeeds("plan", "asked", &["asked.csv"]);
    assert!(plan.stdout.contains("the server cannot be asked with names"), "{plan:?}");
    let verify = case.succeeds("verify", "asked", &["asked.csv"]);
    assert!(verify.stdout.contains("not checked against their bounds: 2 leaves"), "{verify:?}");
}

fn load_with_rejects(case: &Case) {
    haunted(case);
    let row = |n: usize| match n % 500 {
        0 => "x,1,2024-01-01\n".to_owned(),
        1 => format!("-{n},1,2024-01-01\n"),
        2 => format!("{n},1234,2024-01-01\n"),
        3 => format!("{n},1,1800-01-01\n"),
        4 => "666,1,2024-01-01\n".to_owned(),
        5 => "7,1,2024-01-01\n".to_owned(),
        _ => format!("{n},{},2024-01-01\n", n % 1000),
    };
    case.bench.file("refs.csv", (1000..4000).map(row).collect::<String>());
    for jobs in ["1", "3"] {
        case.bench.session.run("TRUNCATE public.refs");
        let file = format!("bad{jobs}");
        let options = ["refs.csv", "--reject-file", &file, "--max-rejects=100", "-j", jobs];
        let options = [&options[..], &["--json", "-q"]].concat();
        let summary = case.run("load", "refs", &options, None).summary_of(3);
        assert_eq!(
            (&summary["rows_loaded"], &summary["rows_rejected"]),
            (&2965.into(), &35.into())
        );
    }
}

fn resume(case: &Case) {
    haunted(case);
    for (table, file, content) in
        [("t", "rows.csv", rows(4000)), ("asked", "asked.csv", asked_rows(4000))]
    {
        case.bench.file(file, content);
        let options = [file, "--few-rows=0", "--load-id", table, "-j", "1", "--json", "-q"];
        let killed = case.run("load", table, &options, Some("payload::committed:2"));
        assert_eq!(killed.status.code(), None, "{killed:?}");
        let show = case.succeeds("ledger", "", &["show", table]);
        assert!(show.stdout.contains("unfinished"), "{show:?}");
        // The tree has changed, so the routing of earlier rows is determined again.
        let another = "CREATE TABLE IF NOT EXISTS public.t_3 PARTITION OF public.t DEFAULT";
        case.bench.session.run(another);
        let summary = case.loads(table, &[file, "--few-rows=0", "--load-id", table]);
        assert!(summary["rows_already_loaded"].as_u64() > Some(0), "{summary}");
        assert_eq!(case.bench.count(&format!("public.{table}")), 4000);
        case.succeeds("ledger", "", &["forget", table]);
    }
}

fn atomic(case: &Case) {
    haunted(case);
    case.bench.file("rows.csv", rows(4000));
    let options = ["rows.csv", "--atomic", "--few-rows=0", "--load-id=x"];
    let killed = case.run("load", "t", &[&options[..], &["-q"]].concat(), Some("atomic::ready"));
    assert_eq!(killed.status.code(), None, "{killed:?}");
    assert_eq!(case.loads("t", &options)["rows_loaded"], 4000);
    case.succeeds("ledger", "", &["forget", "x"]);
    assert_eq!(case.bench.count("public.t"), 4000);
}

fn exchange(case: &Case) {
    haunted(case);
    let row = |n: usize| format!("{n},n{n},\"[{n},{})\",{}\n", n + 1, n % 1000);
    case.bench.file("ex.csv", (0..3000).map(row).collect::<String>());
    let columns = ["--columns", "id,name,span,other"];
    let options = [&["ex.csv", "--exchange", "--few-rows=0"], &columns[..]].concat();
    case.succeeds("plan", "ex", &options);
    let killed = [&options[..], &["--load-id=dies", "-q"]].concat();
    let killed = case.run("load", "ex", &killed, Some("exchange::committing"));
    assert_eq!(killed.status.code(), None, "{killed:?}");
    let summary = case.loads("ex", &options);
    assert_eq!((&summary["rows_loaded"], &summary["exchanged"]), (&3000.into(), &2.into()));
    let indexes = "SELECT count(*) FROM pg_index WHERE indrelid IN ('public.ex_0'::regclass, 'public.ex_1'::regclass) AND indisvalid";
    assert_eq!(case.bench.value(indexes), "9");
    case.succeeds("verify", "ex", &[&["ex.csv"], &columns[..]].concat());
}

fn create_partitions(case: &Case) {
    haunted(case);
    let row = |n: usize| {
        let mood = ["calm", "angry", "odd", ""][n % 4];
        format!("2024-0{}-1{},{mood},{n}\n", n % 5 + 1, n % 10)
    };
    case.bench.file("grow.csv", (0..1000).map(row).collect::<String>());
    let plan = case.succeeds("plan", "grow", &["grow.csv", "--full"]);
    assert!(plan.stdout.contains("CREATE TABLE"), "{plan:?}");
    let summary = case.loads("grow", &["grow.csv", "--create-partitions"]);
    assert_eq!(summary["rows_loaded"], 1000);
    assert_eq!(summary["partitions_created"].as_array().map(Vec::len), Some(6), "{summary}");
}

fn plan_tree_and_verify(case: &Case) {
    haunted(case);
    case.bench.file("rows.csv", rows(500));
    case.loads("t", &["rows.csv"]);
    case.succeeds("plan", "t", &["rows.csv"]);
    case.succeeds("plan", "t", &["rows.csv", "--full", "--atomic"]);
    case.succeeds("tree", "t", &[]);
    case.succeeds("tree", "asked", &[]);
    case.succeeds("verify", "t", &["rows.csv"]);
    case.bench.file("some.csv", rows(100));
    case.succeeds("verify", "t", &["some.csv", "--subset"]);
    case.bench.session.run(
        "DELETE FROM public.t WHERE id % 100 = 7; UPDATE public.t SET name = 'z' WHERE id = 3",
    );
    let differs = case.run("verify", "t", &["rows.csv", "--json"], None);
    assert_eq!(differs.status.code(), Some(1), "{differs:?}");
    let audit: serde_json::Value = serde_json::from_str(&differs.stdout).unwrap();
    let sum = |what: &str| -> u64 {
        audit["leaves"].as_array().unwrap().iter().map(|leaf| leaf[what].as_u64().unwrap()).sum()
    };
    assert_eq!((sum("missing"), sum("surplus"), sum("misplaced")), (6, 1, 0), "{audit}");
}
