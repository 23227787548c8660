//! Refused rows: the message names file, line, byte offset and column, has PostgreSQL's SQLSTATE and text,
//! and reports the state of the table correctly.

use std::fs::OpenOptions;
use std::process::Command;

use crate::harness::{Bench, Running, Server, on_each_server, program};

on_each_server!([
    a_refused_row_has_its_place,
    an_open_quote_in_a_long_file_is_named_where_it_begins,
    a_row_that_cannot_end_is_refused_in_little_memory,
    a_refusal_without_a_line_names_the_rows_that_were_sent,
    rows_committed_before_are_counted,
    the_first_of_two_bad_rows_is_named,
    a_file_of_bad_keys_fails_at_its_first_row,
]);

/// A row that is refused, between valid rows.
struct Case {
    name: &'static str,
    format: &'static str,
    row: &'static [u8],
    parts: &'static [&'static str],
}

const fn csv(name: &'static str, row: &'static [u8], parts: &'static [&'static str]) -> Case {
    Case { name, format: "csv", row, parts }
}

const fn text(name: &'static str, row: &'static [u8], parts: &'static [&'static str]) -> Case {
    Case { name, format: "text", row, parts }
}

const CASES: [Case; 15] = [
    csv("few", b"5", &["missing data for column \"v\" (SQLSTATE 22P04)"]),
    csv("many", b"5,a,1,2", &["extra data after last expected column (SQLSTATE 22P04)"]),
    csv("key type", b"five,a,1", &["column id: ", "invalid input syntax", "(SQLSTATE 22P02)"]),
    csv("key range", b"99999999999,a,1", &["column id: ", "out of range", "(SQLSTATE 22003)"]),
    csv("payload type", b"5,a,one", &["column n: ", "invalid input syntax", "(SQLSTATE 22P02)"]),
    csv(
        "payload length",
        b"5,abcdefghijk,1",
        &["column v: ", "value too long", "(SQLSTATE 22001)"],
    ),
    csv("null", b"5,,1", &["column v: ", "violates not-null constraint (SQLSTATE 23502)"]),
    csv("utf-8 in payload", b"5,a\xff,1", &["invalid byte sequence", "(SQLSTATE 22021)"]),
    csv("utf-8 in key", b"5\xc3,a,1", &["invalid byte sequence", "(SQLSTATE 22021)"]),
    csv("nul", b"5,a\0,1", &["invalid byte sequence", "0x00 (SQLSTATE 22021)"]),
    csv(
        "no partition",
        b"777,a,1",
        &[
            "no partition of relation \"t\" found for row (SQLSTATE 23514)",
            "\nDETAIL:  Partition key of the failing row contains (id) = (777).",
        ],
    ),
    text("few", b"5\ta", &["missing data for column \"n\" (SQLSTATE 22P04)"]),
    text("octal", b"5\t\\377\t1", &["invalid byte sequence", "(SQLSTATE 22021)"]),
    text("marker", b"5\ta\\.\t1", &["end-of-copy marker", "(SQLSTATE 22P04)"]),
    text("return", b"5\ta\r\t1", &["literal carriage return found in data (SQLSTATE 22P04)"]),
];

fn a_refused_row_has_its_place(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (id int, v varchar(10) NOT NULL, n int) PARTITION BY RANGE (id);
         CREATE TABLE t0 PARTITION OF t FOR VALUES FROM (0) TO (100) PARTITION BY HASH (id);
         CREATE TABLE t00 PARTITION OF t0 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t01 PARTITION OF t0 FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    );
    for Case { name, format, row, parts } in CASES {
        let good: &[u8] = if format == "csv" { b"4,\"a\nb\",1\n" } else { b"4\ta\\\nb\t1\n" };
        let input = [good, good, row, b"\n", good].concat();
        bench.file("rows", input);
        let ended = bench.load(["rows", "-t", "t", "--format", format]);
        let place = format!("DETAIL:  The row begins at byte {}.", 2 * good.len());
        let parts: Vec<&str> =
            ["error: rows:5: "].into_iter().chain(parts.iter().copied()).collect();
        ended.fails(1, &parts).fails(1, &[&place]);
        // The other leaf may have received its rows before.
        assert_eq!(ended.committed(), bench.count("t"), "{name}");
        bench.session.run("TRUNCATE t");
    }
}

fn an_open_quote_in_a_long_file_is_named_where_it_begins(server: Server) {
    let bench = Bench::with_table(server);
    let mut input = b"1,a\n2,b\n3,\"c\n".to_vec();
    input.extend(crate::harness::rows(50_000, 100));
    bench.file("rows.csv", &input);
    let ended = bench.load(["rows.csv", "-t", "t"]);
    let message = "rows.csv:3: unterminated CSV quoted field (SQLSTATE 22P04)";
    let detail = "DETAIL:  The unclosed quote is at rows.csv:3, byte 10.";
    ended.fails(1, &[message, detail, "HINT:  An unbalanced quote"]);
    assert_eq!(ended.committed(), bench.count("t"));
    // The error may be on a later line of the row.
    bench.file("rows.csv", "1,a\n\"2\n\n\",x\"y\"\"z\n");
    bench.load(["rows.csv", "-t", "t"]).fails(1, &["rows.csv:2: ", "is at rows.csv:4, byte 11."]);
}

/// Writes `start` to a file, and extends it with a hole to `length` bytes.
fn long_file(bench: &Bench, start: &str, length: u64) {
    bench.file("rows.csv", start);
    let file = OpenOptions::new().write(true).open(bench.path("rows.csv")).unwrap();
    file.set_len(length).unwrap();
}

fn a_row_that_cannot_end_is_refused_in_little_memory(server: Server) {
    let bench = Bench::with_table(server);
    for (length, message) in [
        (300 << 20, "unterminated CSV quoted field (SQLSTATE 22P04)"),
        (1200 << 20, "row exceeds maximum allowed length (1073741823 bytes) (SQLSTATE 54000)"),
    ] {
        long_file(&bench, "1,a\n2,\"b\n", length);
        let mut load = Command::new("sh");
        // The program and its threads use about 600 MB of address space.
        load.args(["-c", "ulimit -v 1000000; exec \"$@\"", "sh"]).arg(program().get_program());
        load.args(["load", "rows.csv", "-d", &bench.url, "-t", "t", "-j1", "--memory", "1MB"]);
        let ended = Running::start(load.current_dir(bench.folder.path())).ended();
        ended.fails(1, &[&format!("rows.csv:2: {message}"), "is at rows.csv:2, byte 6."]);
        // Earlier rows may have been committed.
        assert_eq!(ended.committed(), bench.count("t"));
        bench.session.run("TRUNCATE t");
    }
    // A long row without a quote.
    long_file(&bench, "1,a\n2,", 1200 << 20);
    bench.load(["rows.csv", "-t", "t"]).fails(1, &["rows.csv:2: row exceeds", "54000"]);
}

fn a_refusal_without_a_line_names_the_rows_that_were_sent(server: Server) {
    let bench = &Bench::new(server);
    for (table, deferred) in [("now", ""), ("late", "DEFERRABLE INITIALLY DEFERRED")] {
        bench.session.run(&format!(
            "CREATE TABLE parent_{table} (id int PRIMARY KEY);
             INSERT INTO parent_{table} VALUES (1);
             CREATE TABLE {table} (id int REFERENCES parent_{table} {deferred}, v text)
                 PARTITION BY RANGE (id);
             CREATE TABLE {table}_0 PARTITION OF {table} DEFAULT"
        ));
        bench.file("rows.csv", "1,a\n2,b\n3,c\n");
        let ended = bench.load(["rows.csv", "-t", table]);
        ended.fails_empty(&[
            "violates foreign key constraint",
            "(SQLSTATE 23503)",
            "\nDETAIL:  Key (id)=(2) is not present in table",
            "\nDETAIL:  The row is one of 3 from rows.csv:1 to rows.csv:3.",
        ]);
        assert_eq!(bench.count(table), 0);
    }
}

fn rows_committed_before_are_counted(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    // Each leaf is sent before the end is read. With one connection, the refusal comes last.
    let mut input = crate::harness::rows(120_000, 100);
    let (offset, line) = (input.len(), 120_001);
    input.extend(b"5,x,y\n");
    bench.file("rows.csv", &input);
    let ended = bench.load(["rows.csv", "-t", "t", "-j", "1", "--memory", "1MiB"]);
    let place = format!("rows.csv:{line}: extra data");
    let begins = format!("DETAIL:  The row begins at byte {offset}.");
    ended.fails(1, &[&place, " rows of this load were committed before", &begins, "\nHINT:"]);
    assert!(ended.committed() > 0, "{ended:?}");
    assert_eq!(ended.committed(), bench.count("t"));
}

/// Refused rows, found by the client, the server, or both.
const BAD: [&str; 7] = ["5", "5,a,1,2", "five,a,1", "5,a,one", "5,,1", "777,a,1", "5,a\u{1},x"];

fn the_first_of_two_bad_rows_is_named(server: Server) {
    let bench = Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (id int, v text NOT NULL, n int) PARTITION BY RANGE (id);
         CREATE TABLE t0 PARTITION OF t FOR VALUES FROM (0) TO (10);
         CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (10) TO (20)",
    );
    for first in BAD {
        for second in BAD {
            let text = format!("1,a,1\n11,b,2\n{first}\n12,c,3\n{second}\n2,d,4\n");
            bench.file("rows.csv", &text);
            for options in [&[][..], &["--no-native"], &["--wire=text"]] {
                let load = [&["rows.csv", "-t", "t"], options].concat();
                bench.load(load).fails_empty(&["error: rows.csv:3: "]);
            }
        }
    }
    assert_eq!(bench.count("t"), 0);
}

fn a_file_of_bad_keys_fails_at_its_first_row(server: Server) {
    let bench = Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (at timestamptz, v text) PARTITION BY RANGE (at);
         CREATE TABLE t0 PARTITION OF t DEFAULT",
    );
    let good: String = (0..20_000).map(|row| format!("2026-01-02 03:04:05+00,{row}\n")).collect();
    let bad: String = (0..200_000).map(|row| format!("v{row},2026-01-02 03:04:05+00\n")).collect();
    bench.file("bad.csv", &bad);
    bench.file("both.csv", good + &bad);
    let before = server_errors(&bench);
    bench.load(["bad.csv", "-t", "t"]).fails_empty(&["error: bad.csv:1: "]);
    bench.load(["both.csv", "-t", "t"]).fails(1, &["error: both.csv:20001: "]);
    assert!(server_errors(&bench) - before < 5_000, "the server was asked about each key");
}

/// Returns the number of the database's transactions that ended in an error.
fn server_errors(bench: &Bench) -> u64 {
    bench.wait_for_sessions();
    bench.session.run("SELECT pg_stat_clear_snapshot()");
    let sql = "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    bench.value(sql).parse().unwrap()
}
