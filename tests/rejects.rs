//! Rows that the server refuses: each is in the reject file or in the table, never in both, with its position
//! and the server's reason. The reject file can be loaded.

mod lookalikes;
mod stored;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use crate::harness::{Bench, Ended, Server, on_each_server, program};

on_each_server!([
    every_row_is_in_the_table_or_in_the_file,
    rows_of_a_pipe_are_kept_as_they_came,
    bytes_are_kept_whatever_they_are,
    a_link_to_a_file_will_do,
    at_the_limit_the_load_ends,
    a_load_without_bad_rows_leaves_no_file,
    impossible_options_are_refused_beforehand,
    a_load_that_is_killed_goes_on_in_the_same_files,
]);

/// Number of rows of the input. Every hundredth is bad.
const ROWS: usize = 5_000;

/// A kind of refusal: the server's code, and a function that makes a row bad.
type Kind = (&'static str, fn(&mut Row));

const KINDS: [Kind; 10] = [
    ("22P02", |row| row.k = "x".to_owned()),
    ("22008", |row| row.d = "2024-02-30".to_owned()),
    ("22P04", |row| row.d.push_str(",1")),
    ("23502", |row| row.k.clear()),
    ("23514", |row| row.v = "bad".to_owned()),
    ("23503", |row| row.r = format!("{}", 5000 + row.id % 2)),
    ("23503", |row| row.r = "07000".to_owned()),
    ("23P01", |row| row.x = "\"[-9,-8]\"".to_owned()),
    ("P0001", |row| row.k = "13".to_owned()),
    ("23514", |row| row.id += 1_000_000),
];

/// Options that do not change the outcome.
const OPTIONS: [&[&str]; 5] = [
    &["-j", "1"],
    &["-j", "3", "--few-rows", "0"],
    &["-j", "2", "--wire", "text"],
    &["-j", "2", "--no-native"],
    &["-j", "2", "--memory", "1MB"],
];

struct Row {
    id: usize,
    k: String,
    v: String,
    r: String,
    x: String,
    d: String,
}

impl Row {
    fn new(id: usize) -> Self {
        Self {
            id,
            k: (14 + id % 7).to_string(),
            v: format!("\"v {id}\""),
            r: (id % 100).to_string(),
            x: format!("\"[{},{})\"", 2 * id, 2 * id + 1),
            d: format!("2024-02-{:02}", 1 + id % 28),
        }
    }

    fn text(&self) -> String {
        let Self { id, k, v, r, x, d } = self;
        format!("{id},{k},{v},{r},{x},{d}")
    }
}

/// Rows with a header, and the expected outcome.
struct Input {
    text: String,
    good: String,
    /// The refused rows, with the code and the valid row in its place.
    bad: BTreeMap<String, (&'static str, String)>,
}

const HEADER: &str = "id,k,v,r,x,d\n";

impl Input {
    fn new() -> Self {
        let (mut text, mut good, mut bad) = (HEADER.to_owned(), String::new(), BTreeMap::new());
        for number in 0..ROWS {
            let mut row = Row::new(number);
            let intact = row.text();
            if number % 100 == 7 {
                let (code, spoil) = KINDS[number / 100 % KINDS.len()];
                spoil(&mut row);
                bad.insert(row.text(), (code, intact));
            } else {
                good += &(intact + "\n");
            }
            text += &(row.text() + "\n");
        }
        // These rows are already in the table.
        for number in [3, ROWS - 3] {
            let row = Row::new(number).text();
            good = good.replace(&format!("\n{row}\n"), "\n");
            bad.insert(row.clone(), ("23505", row));
        }
        Self { text, good, bad }
    }
}

fn make_table(bench: &Bench, foreign_key: &str) {
    bench.session.run(&format!(
        "CREATE TABLE ref (id int PRIMARY KEY);
         INSERT INTO ref SELECT generate_series(0, 99);
         CREATE TABLE t (
             id int PRIMARY KEY, k int NOT NULL, v text CHECK (v <> 'bad'),
             r int REFERENCES ref {foreign_key}, x int4range, d date
         ) PARTITION BY RANGE (id);
         CREATE TABLE low PARTITION OF t FOR VALUES FROM (-10) TO (2500);
         CREATE TABLE high PARTITION OF t FOR VALUES FROM (2500) TO (20000);
         ALTER TABLE low ADD EXCLUDE USING gist (x WITH &&);
         ALTER TABLE high ADD EXCLUDE USING gist (x WITH &&);
         CREATE FUNCTION refuse_13() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN IF new.k = 13 THEN RAISE 'k is 13'; END IF; RETURN new; END $$;
         CREATE TRIGGER refuse_13 BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION refuse_13();
         CREATE TABLE u (LIKE t)"
    ));
    empty(bench);
}

/// Removes all rows except those with which bad rows collide.
fn empty(bench: &Bench) {
    bench.session.run(&format!(
        "TRUNCATE t;
         INSERT INTO t VALUES (-1, 1, 'before', 1, '[-9,-8]'), (15000, 1, 'before', 1, '[-9,-8]'),
             (3, 1, 'before', 1, NULL), ({ROWS} - 3, 1, 'before', 1, NULL)"
    ));
}

/// Empties the table, and removes the files of the previous load.
fn begin_anew(bench: &Bench) {
    empty(bench);
    for name in ["bad.csv", "bad.csv.log"] {
        let _ = fs::remove_file(bench.path(name));
    }
}

/// Runs a load that is killed at a failpoint.
fn kill<'a>(bench: &Bench, load: impl Iterator<Item = &'a &'a str>, point: &str) {
    let mut killed = program();
    killed.args(["load", "-d", &bench.url]).args(load);
    killed.current_dir(bench.folder.path()).env("PGSLUICE_FAILPOINT", point);
    let killed = killed.output().unwrap();
    assert_eq!(killed.status.signal(), Some(9), "{point}: {killed:?}");
}

/// Compares the results of a load that rejects rows with the expected ones.
fn compare(bench: &Bench, input: &Input, header: &str, ended: &Ended) {
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    is_whole(bench, input, header);
}

/// Checks that every row is there once, and with its reason if it is bad.
fn is_whole(bench: &Bench, input: &Input, header: &str) {
    let differences = "SELECT * FROM (TABLE u EXCEPT TABLE t) AS missing UNION ALL \
                       SELECT * FROM (SELECT * FROM t WHERE v <> 'before' EXCEPT TABLE u) AS more";
    assert_eq!(bench.session.rows(differences), Vec::<Vec<_>>::new());
    assert_eq!(bench.count("t"), 4 + (ROWS - input.bad.len()) as u64);
    let rejected = fs::read_to_string(bench.path("bad.csv")).unwrap();
    let rejected = rejected.strip_prefix(header).expect("the header");
    let mut rows: Vec<&str> = rejected.lines().collect();
    let log = fs::read_to_string(bench.path("bad.csv.log")).unwrap();
    let reasons: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), reasons.len());
    for (row, reason) in rows.iter().zip(&reasons) {
        let (code, _) = input.bad.get(*row).unwrap_or_else(|| panic!("{row} is good: {reason}"));
        assert_eq!(reason["sqlstate"], *code, "{row}: {reason}");
        let number = |name: &str| reason[name].as_u64().unwrap() as usize;
        assert!(input.text[number("offset")..].starts_with(&format!("{row}\n")), "{reason}");
        assert_eq!(input.text.lines().nth(number("line") - 1), Some(*row), "{reason}");
    }
    rows.sort_unstable();
    assert_eq!(rows, input.bad.keys().collect::<Vec<_>>());
}

fn every_row_is_in_the_table_or_in_the_file(server: Server) {
    let bench = &Bench::new(server);
    let input = Input::new();
    bench.file("rows.csv", &input.text);
    for (foreign_key, first) in [("", 0), ("DEFERRABLE INITIALLY DEFERRED", 4)] {
        bench.session.run("DROP TABLE IF EXISTS t, ref, u; DROP FUNCTION IF EXISTS refuse_13");
        make_table(bench, foreign_key);
        bench.session.copy_in("COPY u FROM STDIN (FORMAT csv)", input.good.clone().into()).unwrap();
        for options in &OPTIONS[first..] {
            empty(bench);
            let load = ["rows.csv", "-t", "t", "--header", "--reject-file", "bad.csv"];
            let load = load.iter().chain(&["--max-rejects", "2%", "--json", "-q"]);
            let ended = bench.load(load.chain(*options));
            compare(bench, &input, HEADER, &ended);
            let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
            assert_eq!(summary["rows_rejected"], input.bad.len(), "{summary}");
            fs::remove_file(bench.path("bad.csv.log")).unwrap();
            fs::rename(bench.path("bad.csv"), bench.path("good.csv")).unwrap();
        }
        // The reject file can be loaded: after repair, it completes the table.
        let repaired = fs::read_to_string(bench.path("good.csv")).unwrap();
        let repair = |row| input.bad.get(row).map_or(row, |(_, intact)| &**intact);
        let repaired: Vec<&str> = repaired.lines().map(repair).collect();
        bench.file("good.csv", repaired.join("\n"));
        bench.session.run("DELETE FROM t WHERE v = 'before'");
        bench.load(["good.csv", "-t", "t", "--header", "-q", "--json"]).summary();
        assert_eq!(
            (bench.count("t"), bench.count("u")),
            (ROWS as u64, (ROWS - input.bad.len()) as u64)
        );
    }
}

fn rows_of_a_pipe_are_kept_as_they_came(server: Server) {
    let bench = &Bench::new(server);
    let input = Input::new();
    make_table(bench, "");
    bench.session.copy_in("COPY u FROM STDIN (FORMAT csv)", input.good.clone().into()).unwrap();
    let load = ["-", "-t", "t", "--header", "--format", "csv", "--max-rejects", "200"];
    let mut load = bench.start(load.iter().chain(&["--reject-file", "bad.csv"]), Stdio::piped());
    load.feed(input.text.as_bytes());
    load.child.stdin.take();
    let ended = load.ended();
    compare(bench, &input, HEADER, &ended);
    let message =
        format!("{} rows rejected: see bad.csv, and the reasons in bad.csv.log", input.bad.len());
    assert!(ended.stderr.contains(&message), "{ended:?}");
    assert!(ended.stderr.contains("a pipe cannot be read again for rows that are rejected"));
}

fn bytes_are_kept_whatever_they_are(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run("CREATE TABLE t (id int NOT NULL, v text) PARTITION BY HASH (id)");
    bench.session.run("CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 1, REMAINDER 0)");
    bench.file("one.csv", "1,a\r\nx,\"b\r\n\"\"c\"\"\"\r\n,\r\n");
    bench.file("two.csv", " 2 ,b\n\"3\", c \"d\" \n\"y\",\"\u{e4}\"");
    let load = ["one.csv", "two.csv", "-t", "t", "--reject-file", "bad", "--max-rejects", "3"];
    let ended = bench.load(load);
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    let mut lines = fs::read(bench.path("bad")).unwrap();
    let rows: [&[u8]; 3] = [b"x,\"b\r\n\"\"c\"\"\"\n", b",\n", "\"y\",\"\u{e4}\"\n".as_bytes()];
    assert_eq!(lines.len(), rows.concat().len());
    for row in rows {
        let place = lines.windows(row.len()).position(|window| window == row).expect("the row");
        lines.drain(place..place + row.len());
    }
    assert_eq!(bench.count("t"), 3);

    bench.session.run("TRUNCATE t");
    bench.file("rows.txt", "1\ta\\\\\\N\n\\N\t\\x41\\\nb\n2\t\\N\n");
    let load = ["rows.txt", "-t", "t", "--reject-file", "bad.txt", "--max-rejects", "1"];
    assert_eq!(bench.load(load).status.code(), Some(3));
    assert_eq!(fs::read(bench.path("bad.txt")).unwrap(), b"\\N\t\\x41\\\nb\n");
    assert_eq!(bench.count("t"), 2);
}

fn a_link_to_a_file_will_do(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", "1,a\nx,b\n");
    bench.file("there", "");
    symlink("there", bench.path("bad")).unwrap();
    let load = ["rows.csv", "-t", "t", "--reject-file", "bad", "--max-rejects", "1"];
    assert_eq!(bench.load(load).status.code(), Some(3));
    assert_eq!(fs::read_to_string(bench.path("there")).unwrap(), "x,b\n");
}

fn at_the_limit_the_load_ends(server: Server) {
    let bench = &Bench::new(server);
    let input = Input::new();
    bench.file("rows.csv", &input.text);
    make_table(bench, "");
    let bad = input.bad.len();
    let load = |max: &str| {
        begin_anew(bench);
        let load = ["rows.csv", "-t", "t", "--header", "--reject-file", "bad.csv", "-q"];
        bench.load(load.iter().chain(&["--max-rejects", max]))
    };
    let share = |bad: usize| format!("{}%", bad as f64 * 100.0 / ROWS as f64);
    for max in [bad.to_string(), share(bad)] {
        assert_eq!(load(&max).status.code(), Some(3), "{max}");
    }
    for max in ["0".to_owned(), (bad - 1).to_string(), share(bad - 1)] {
        let ended = load(&max);
        ended.fails(1, &["rejected"]);
        // The reject file is consistent with the committed rows.
        let rejected = fs::read_to_string(bench.path("bad.csv")).unwrap_or_default();
        let rejected: Vec<&str> = rejected.lines().skip(1).collect();
        assert!(rejected.len() < bad && rejected.iter().all(|row| input.bad.contains_key(*row)));
        assert_eq!(bench.count("t"), 4 + ended.committed());
    }
    for (max, rows) in [("1", "1 row"), ("0", "0 rows")] {
        let message = format!("DETAIL:  No more than {rows} may be rejected.");
        load(max).fails(1, &["rows.csv:", &message]);
    }
    assert!(!bench.path("bad.csv").exists() && !bench.path("bad.csv.log").exists());
}

fn a_load_without_bad_rows_leaves_no_file(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", crate::harness::rows(1000, 10));
    let load = ["rows.csv", "-t", "t", "--reject-file", "bad", "--max-rejects", "1", "--json"];
    bench.load(load).summary();
    assert_eq!(fs::read_dir(bench.folder.path()).unwrap().count(), 1);
}

fn impossible_options_are_refused_beforehand(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", crate::harness::rows(1000, 10));
    bench.file("full", "1,a\n");
    let load = |options: &[&str]| bench.load(["rows.csv", "-t", "t"].iter().chain(options));
    load(&["--reject-file", "bad"]).fails(2, &["--max-rejects"]);
    load(&["--max-rejects", "1"]).fails(2, &["--reject-file"]);
    load(&["--reject-file", "bad", "--max-rejects", "101%"]).fails(2, &["between 0 and 100"]);
    load(&["--reject-file", "bad", "--max-rejects", "few"]).fails(2, &["a number of rows"]);
    load(&["--reject-file", "bad", "--max-rejects", "1", "--exchange"]).fails(2, &["--exchange"]);
    load(&["--reject-file", "full", "--max-rejects", "1"]).fails(
        1,
        &["file \"full\" is not empty", "HINT:  It may contain rows that another load rejected"],
    );
    load(&["--reject-file", "no/bad", "--max-rejects", "1"])
        .fails(1, &["could not write to file \"no/bad\": No such file or directory"]);
    fs::create_dir(bench.path("folder")).unwrap();
    fs::create_dir(bench.path("bad.log")).unwrap();
    assert!(Command::new("mkfifo").arg(bench.path("fifo")).status().unwrap().success());
    for (name, refused) in
        [("/dev/null", "/dev/null"), ("fifo", "fifo"), ("folder", "folder"), ("bad", "bad.log")]
    {
        let message = format!("error: \"{refused}\" is not a regular file");
        load(&["--reject-file", name, "--max-rejects", "1"])
            .fails(2, &[&message, "DETAIL:", "HINT:  Name a file that does not exist yet"]);
    }
    fs::remove_dir(bench.path("bad.log")).unwrap();
    bench.session.run(
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
         CREATE TRIGGER f AFTER INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION f()",
    );
    load(&["--reject-file", "bad", "--max-rejects", "1"])
        .fails(2, &["rows of this table cannot be rejected", "DETAIL:  The load is one COPY"]);
    assert_eq!(bench.count("t"), 0);
}

fn a_load_that_is_killed_goes_on_in_the_same_files(server: Server) {
    let bench = &Bench::new(server);
    let input = Input::new();
    bench.file("rows.csv", &input.text);
    make_table(bench, "");
    bench.session.copy_in("COPY u FROM STDIN (FORMAT csv)", input.good.clone().into()).unwrap();
    for (point, is_settled) in [
        ("rejects::written:1", false),
        ("rejects::committed:1", true),
        ("rejects::written:2", true),
        ("rejects::committed:2", true),
    ] {
        begin_anew(bench);
        let load = ["rows.csv", "-t", "t", "--header", "--few-rows", "0", "--memory", "1MB"];
        let load = load.iter().chain(&["--reject-file", "bad.csv", "--max-rejects", "2%"]);
        let named = ["--json", "-q", "--load-id", point, "-j", "1"];
        let load = load.chain(&named);
        kill(bench, load.clone(), point);
        let receipts = format!("pgsluice.receipt WHERE load = '{point}'");
        assert_eq!(bench.count(&receipts) > 0, is_settled, "{point}");
        let ended = bench.load(load.clone());
        is_whole(bench, &input, HEADER);
        let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(summary["rows_rejected"], input.bad.len(), "{summary}");
        // All rows are already loaded.
        let again = bench.load(load);
        assert_eq!(again.status.code(), Some(0), "{again:?}");
        is_whole(bench, &input, HEADER);
    }
}
