//! Invalid command lines: exit status 2, before any connection is made.

use std::process::Stdio;

use crate::harness::{Bench, Running, Server, on_each_server, program};

on_each_server!([columns_that_cannot_be_loaded_are_named,]);

#[test]
fn contradictory_options_are_usage_errors() {
    let cases: [(&[&str], &str); 26] = [
        (&["--memory", "1kB"], "memory must be at least 1MiB"),
        (
            &["--memory", "much"],
            "a size must be a number with an optional unit: B, kB, MB, GB or TB",
        ),
        (&["--memory", "99999999999GB"], "the size is too large"),
        (&["-j", "0"], "number of jobs must be between 1 and 256"),
        (&["-j", "1000"], "number of jobs must be between 1 and 256"),
        (&["-j", "many"], "invalid value 'many' for '--jobs"),
        (&["--delimiter", ""], "COPY delimiter must be a single one-byte character"),
        (&["--delimiter", "ab"], "COPY delimiter must be a single one-byte character"),
        (&["--delimiter", "ä"], "COPY delimiter must be a single one-byte character"),
        (&["--delimiter", "\n"], "COPY delimiter cannot be newline or carriage return"),
        (&["--delimiter", "\""], "COPY delimiter and quote must be different"),
        (&["--quote", ""], "COPY quote must be a single one-byte character"),
        (&["--quote", ","], "COPY delimiter and quote must be different"),
        (&["--escape", "xy"], "COPY escape must be a single one-byte character"),
        (&["--null", "a,b"], "COPY delimiter character must not appear in the NULL"),
        (&["--null", "a\"b"], "CSV quote character must not appear in the NULL"),
        (&["--null", "a\nb"], "COPY null representation cannot use newline"),
        (&["--format", "text", "--quote", "x"], "COPY QUOTE requires CSV mode"),
        (&["--format", "text", "--escape", "x"], "COPY ESCAPE requires CSV mode"),
        (&["--format", "text", "--delimiter", "a"], "COPY delimiter cannot be \"a\""),
        (&["--format", "xml"], "invalid value 'xml' for '--format"),
        (&["--header=maybe"], "invalid value 'maybe' for '--header"),
        (&["--columns", ""], "invalid list of columns"),
        (&["--columns", "id,"], "invalid list of columns"),
        (&["--columns", "\"id"], "invalid list of columns"),
        (&["--no-such-option"], "unexpected argument '--no-such-option'"),
    ];
    for (options, message) in cases {
        // Nothing listens there: the arguments are checked first.
        let mut command = program();
        command.args(["load", "x.csv", "-t", "t", "-d", "host=127.0.0.1 port=1 password=geheim"]);
        let ended = Running::start(command.args(options).stdin(Stdio::null())).ended();
        ended.fails(2, &["error: ", message]);
        assert!(!ended.stderr.contains("geheim"), "{ended:?}");
    }
}

#[test]
fn missing_arguments_are_named() {
    for arguments in [&["load", "x.csv"][..], &["load", "-t", "t"], &["load"]] {
        let ended = Running::start(program().args(arguments).stdin(Stdio::null())).ended();
        ended.fails(2, &["required arguments were not provided", "Usage: pgsluice load"]);
    }
}

fn columns_that_cannot_be_loaded_are_named(server: Server) {
    let bench = Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (id int, v text, g int GENERATED ALWAYS AS (id * 2) STORED)
             PARTITION BY RANGE (id);
         CREATE TABLE t0 PARTITION OF t DEFAULT",
    );
    // Refused even for an input without rows.
    bench.file("empty.csv", "");
    let cases = [
        ("id,nope", "column \"nope\" does not exist (SQLSTATE 42703)\nHINT:  The columns are: id"),
        ("id,ID", "column \"id\" specified more than once (SQLSTATE 42701)"),
        ("id,g", "column \"g\" is a generated column (SQLSTATE 42P10)\nDETAIL:  Generated"),
    ];
    for (columns, message) in cases {
        bench.load(["empty.csv", "-t", "t", "--columns", columns]).fails(1, &[message]);
    }
    let header = bench.file("header.csv", "id,w\n1,a\n");
    let ended = bench.load([header.to_str().unwrap(), "-t", "t", "--header=match"]);
    let expected = "header.csv:1: column name mismatch in header line field 2: got \"w\", expected \"v\" (SQLSTATE 22P04)";
    ended.fails(1, &[expected]);
    assert_eq!(bench.count("t"), 0);
}
