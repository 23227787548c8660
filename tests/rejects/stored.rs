//! A table of rejected rows receives them in the transaction of the neighbouring rows: each row is in one of
//! the two tables, never in both, however the load ends.

use super::{Input, OPTIONS, ROWS, empty, kill, make_table};
use crate::harness::{Bench, Server, on_each_server, program};

on_each_server!([
    every_row_is_in_one_of_the_tables,
    a_killed_load_goes_on_with_the_same_table,
    a_load_in_one_transaction,
    any_of_the_columns_will_do,
    bytes_are_kept_as_bytes,
    hints_of_mistakes_work,
    a_table_that_takes_no_row_ends_the_load,
    no_other_table_is_meant,
]);

const WITH_TABLE: [&str; 4] = ["--reject-table", "bad", "--max-rejects", "2%"];

/// Returns the statement in the last hint of a failure, after `before`.
fn hint<'f>(message: &'f str, before: &str) -> &'f str {
    let (_, statement) =
        message.split_once(before).unwrap_or_else(|| panic!("{before}: {message}"));
    statement.lines().next().expect("a line")
}

/// Creates the tables, including one for rejected rows from the statement in the load's hint.
fn prepared(server: Server, input: &Input) -> Bench {
    let bench = Bench::new(server);
    bench.file("rows.csv", &input.text);
    make_table(&bench, "");
    bench.session.copy_in("COPY u FROM STDIN (FORMAT csv)", input.good.clone().into()).unwrap();
    let load = ["rows.csv", "-t", "t", "--header", "--max-rejects=1", "--reject-table=bad"];
    let failed = bench.load(load);
    failed.fails(1, &["error: relation \"bad\" does not exist", "42P01"]);
    bench.session.run(hint(&failed.stderr, "HINT:  Create it: "));
    bench
}

/// Checks that every row is there once, and with its reason if it is bad.
fn is_whole(bench: &Bench, input: &Input) {
    let differences = "SELECT * FROM (TABLE u EXCEPT TABLE t) AS missing UNION ALL \
                       SELECT * FROM (SELECT * FROM t WHERE v <> 'before' EXCEPT TABLE u) AS more";
    assert_eq!(bench.session.rows(differences), Vec::<Vec<_>>::new());
    assert_eq!(bench.count("t"), 4 + (ROWS - input.bad.len()) as u64);
    let stored = bench.session.rows(
        "SELECT \"row\", sqlstate, line::text, \"offset\"::text, \"table\", source, message FROM bad",
    );
    let mut rows = Vec::new();
    for columns in stored {
        let mut columns = columns.into_iter().map(Option::unwrap);
        let mut next = || columns.next().unwrap();
        let (row, code) = (next(), next());
        assert_eq!(input.bad.get(&row).map(|(code, _)| *code), Some(&*code), "{row}");
        let (line, offset): (usize, usize) = (next().parse().unwrap(), next().parse().unwrap());
        assert!(input.text[offset..].starts_with(&format!("{row}\n")), "{row} at {offset}");
        assert_eq!(input.text.lines().nth(line - 1), Some(&*row));
        assert!(next().starts_with("public.") && next() == "rows.csv" && !next().is_empty());
        rows.push(row);
    }
    rows.sort_unstable();
    assert_eq!(rows, input.bad.keys().cloned().collect::<Vec<_>>());
}

fn every_row_is_in_one_of_the_tables(server: Server) {
    let input = Input::new();
    let bench = &prepared(server, &input);
    for options in OPTIONS {
        empty(bench);
        bench.session.run("TRUNCATE bad");
        let load = ["rows.csv", "-t", "t", "--header", "--json"];
        let ended = bench.load(load.iter().chain(&WITH_TABLE).chain(options));
        let summary = ended.summary_of(3);
        assert_eq!(summary["rows_rejected"], input.bad.len(), "{summary}");
        let message = format!("{} rows rejected: see table bad\n", input.bad.len());
        assert!(ended.stderr.contains(&message), "{ended:?}");
        is_whole(bench, &input);
    }
    bench.session.run("DELETE FROM t WHERE v = 'before'");
    let verify = |options: &[&str]| {
        let mut command = program();
        command.args(["verify", "rows.csv", "-t", "t", "--header", "--json", "-d", &bench.url]);
        let verified = command.args(options).current_dir(bench.folder.path()).output().unwrap();
        (verified.status.code(), String::from_utf8(verified.stdout).unwrap())
    };
    let (status, verified) = verify(&["--reject-table=bad"]);
    let left_out = format!("\"rows_left_out\":{},", input.bad.len());
    assert!(status == Some(0) && verified.contains(&left_out), "{verified}");
    assert_eq!(verify(&[]).0, Some(1));
    bench.session.run("ALTER TABLE bad DROP source");
    let (status, message) = verify(&["--reject-table=bad"]);
    assert!(status == Some(2) && message.contains("has no column \\\"source\\\""), "{message}");
}

fn a_killed_load_goes_on_with_the_same_table(server: Server) {
    let input = Input::new();
    let bench = &prepared(server, &input);
    for point in
        ["rejects::written:1", "rejects::committed:1", "rejects::written:2", "rejects::committed:2"]
    {
        empty(bench);
        bench.session.run("TRUNCATE bad");
        let load = ["rows.csv", "-t", "t", "--header", "--few-rows", "0", "--memory", "1MB"];
        let load = load.iter().chain(&WITH_TABLE);
        let named = ["--json", "-q", "--load-id", point, "-j", "1"];
        let load = load.chain(&named);
        kill(bench, load.clone(), point);
        let summary = bench.load(load.clone()).summary_of(3);
        assert_eq!(summary["rows_rejected"], input.bad.len(), "{summary}");
        is_whole(bench, &input);
        assert_eq!(bench.load(load).status.code(), Some(0));
        is_whole(bench, &input);
    }
}

/// Both tables are empty before the end, and a share that is loaded again stores nothing.
fn a_load_in_one_transaction(server: Server) {
    let input = Input::new();
    let bench = &prepared(server, &input);
    let load = ["rows.csv", "-t", "t", "--header", "--json", "-q"];
    let load = load.iter().chain(&WITH_TABLE);
    for options in [["--atomic", "--load-id=whole"], ["--participant=0", "--load-id=shared"]] {
        empty(bench);
        bench.session.run("TRUNCATE bad");
        for point in ["rejects::written", "atomic::committing"] {
            kill(bench, load.clone().chain(&options), point);
            assert_eq!((bench.count("t"), bench.count("bad")), (4, 0));
        }
        let mut load = load.clone().chain(&options).chain(&["--end-other"]);
        bench.load(load.by_ref()).summary_of(3);
        is_whole(bench, &input);
    }
    let again = load.chain(&["--participant=0", "--load-id=shared"]);
    bench.load(again).summary();
    is_whole(bench, &input);
}

fn any_of_the_columns_will_do(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", "1,a\nx,\"b\n\"\"c\"\"\"\n");
    bench.session.run(
        "CREATE SCHEMA s;
         CREATE TABLE s.\"Bad rows\" (number int GENERATED ALWAYS AS IDENTITY, at timestamptz NOT NULL DEFAULT now(),
             gone int, \"row\" text NOT NULL, twice text GENERATED ALWAYS AS (\"row\" || \"row\") STORED,
             \"column\" varchar, other text DEFAULT 'y', line numeric, sqlstate \"char\"[]);
         ALTER TABLE s.\"Bad rows\" DROP gone, DROP sqlstate",
    );
    let load = ["rows.csv", "-t", "t", "--max-rejects=1", "--reject-table=s.\"Bad rows\""];
    assert_eq!(bench.load(load).status.code(), Some(3));
    let stored = "SELECT \"row\", \"column\", line::text, other, number::text, (twice = \"row\" || \"row\")::text \
                  FROM s.\"Bad rows\"";
    let row = ["x,\"b\n\"\"c\"\"\"", "id", "2", "y", "1", "true"];
    assert_eq!(bench.session.rows(stored), [row.map(|text| Some(text.to_owned()))]);

    // An object is stored as an object.
    bench.session.run("CREATE TABLE objects (\"row\" jsonb); TRUNCATE t");
    bench.file("rows.ndjson", "{\"id\": 1}\n{\"id\": \"x\", \"v\": \"\u{e4}\"}\n");
    let load = ["rows.ndjson", "-t", "t", "--max-rejects=1", "--reject-table=objects"];
    assert_eq!(bench.load(load).status.code(), Some(3));
    let stored = "SELECT \"row\" ->> 'id', \"row\" ->> 'v' FROM objects";
    assert_eq!(bench.session.rows(stored), [["x", "\u{e4}"].map(|text| Some(text.to_owned()))]);
}

fn bytes_are_kept_as_bytes(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.session.run("CREATE TABLE bad (message text, \"row\" text)");
    bench.file("rows.csv", b"1,a\n2,\xff\\b\n3,c\n");
    let load = ["rows.csv", "-t", "t", "--max-rejects=1", "--reject-table=bad"];
    let failed = bench.load(load);
    failed.fails(
        1,
        &[
            "a rejected row has bytes that are not text",
            "Rejected rows were to be stored in public.bad.",
        ],
    );
    assert_eq!((bench.count("t"), bench.count("bad")), (0, 0));
    bench.session.run(hint(&failed.stderr, "HINT:  Have the table take bytes: "));
    assert_eq!(bench.load(load).status.code(), Some(3));
    let stored = "SELECT pg_catalog.encode(\"row\", 'escape') FROM bad";
    assert_eq!(bench.session.rows(stored), [[Some("2,\\377\\\\b".to_owned())]]);
    assert_eq!(bench.count("t"), 2);

    // The hint fits any type other than bytes.
    bench.session.run("CREATE TABLE objects (\"row\" jsonb); TRUNCATE t");
    let load = ["rows.csv", "-t", "t", "--max-rejects=1", "--reject-table=objects"];
    bench.session.run(hint(&bench.load(load).stderr, "HINT:  Have the table take bytes: "));
    assert_eq!(bench.load(load).status.code(), Some(3));
}

fn hints_of_mistakes_work(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("good.csv", "1,a\n");
    let load = ["good.csv", "-t", "t", "--max-rejects=1", "--reject-table=bad"];
    bench.load(load).fails(1, &["relation \"bad\" does not exist"]);
    assert_eq!((bench.count("t"), bench.count("pg_namespace WHERE nspname = 'pgsluice'")), (0, 0));
    bench.file("rows.csv", "1,a\nx,b\n");
    let load = |options: &[&str]| bench.load(["rows.csv", "-t", "t"].iter().chain(options));
    let table = "--reject-table=bad";
    load(&[table]).fails(2, &["--max-rejects"]);
    for itself in ["t", "public.t"] {
        let itself = format!("--reject-table={itself}");
        let message = ["table public.t is loaded itself", "HINT:  Name another table."];
        load(&[&itself, "--max-rejects=1"]).fails(2, &message);
    }
    load(&[table, "--max-rejects=1", "--reject-file=bad"]).fails(2, &["--reject-file"]);
    load(&[table, "--max-rejects=1", "--exchange"]).fails(2, &["--exchange"]);
    bench.session.run("CREATE TABLE bad (message text)");
    let failed = load(&[table, "--max-rejects=1"]);
    failed.fails(2, &["table public.bad has no column \"row\""]);
    bench.session.run(hint(&failed.stderr, "HINT:  Add it: "));
    assert_eq!(bench.count("t"), 0);
    assert_eq!(load(&[table, "--max-rejects=1"]).status.code(), Some(3));
    assert_eq!((bench.count("t"), bench.count("bad")), (1, 1));
}

fn a_table_that_takes_no_row_ends_the_load(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", "1,a\nx,b\n");
    bench.session.run("CREATE TABLE bad (needed int NOT NULL, \"row\" text)");
    let load = ["rows.csv", "-t", "t", "--max-rejects=1", "--reject-table=bad"];
    bench.load(load).fails(
        1,
        &["null value in column \"needed\"", "Rejected rows were to be stored in public.bad."],
    );
    assert_eq!((bench.count("t"), bench.count("bad"), bench.count("pgsluice.load")), (0, 0, 0));
}

/// An unqualified name is resolved by the search path as in SQL, and only once.
fn no_other_table_is_meant(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", "1,a\nx,b\n");
    bench
        .session
        .run("CREATE SCHEMA s; CREATE TABLE bad (\"row\" text); CREATE TABLE s.bad (\"row\" text)");
    let load = ["load", "rows.csv", "-t", "public.t", "--max-rejects=1", "--reject-table=bad"];
    let mut command = program();
    command.args(load).args(["-d", &bench.url]).current_dir(bench.folder.path());
    let ended = command.env("PGOPTIONS", "-c search_path=s,public").output().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    assert_eq!((bench.count("bad"), bench.count("s.bad")), (0, 1));
}
