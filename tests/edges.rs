//! The beginning and the end of an input: headers of empty inputs, the end-of-data marker `\.`, and byte
//! order marks. COPY of the same bytes defines the correct result.

use std::process::Stdio;

use crate::harness::{Bench, Server, on_each_server, program};

on_each_server!([inputs_end_as_those_of_copy, byte_order_marks_are_skipped_and_reported,]);

const INPUTS: [(&str, &str); 34] = [
    ("text", "1\ta\n\\."),
    ("text", "1\ta\n\\.\n2\tb\n"),
    ("text", "1\ta\n\\.x\n2\tb\n"),
    ("text", "1\ta\\.b\n2\tb\n"),
    ("text", "1\ta\n2\tb\\."),
    ("text", "1\ta\n\\\\.\tb\n"),
    ("text", "1\ta\r\n\\.\r\n"),
    ("text", "1\ta\r\\.\r"),
    ("text", "1\ta\n\\.\r\n2\tb\n"),
    ("text", "1\ta\n\\.\r"),
    ("text", "1\ta\r\n\\.\n2\tb\n"),
    ("text", "1\ta\r\n\\.\r"),
    ("text", "\\.\r\n"),
    ("text", "\\.\r"),
    ("text", "\\.\n"),
    ("text", "\\."),
    ("csv", "1,a\n\\.\n2,b\n"),
    ("csv", "1,a\n\\.x\n2,b\n"),
    ("csv", "1,a\n\\."),
    ("csv", "1,a\\.\n2,b\n"),
    ("csv", "1,a\n2,\\.\n3,c\n"),
    ("csv", "1,a\n2,\\."),
    ("csv", "1,\"a\n\\.\nb\"\n2,b\n"),
    ("csv", "1,a\r\n\\.\r\n2,b\r\n"),
    ("csv", "1,a\n\\.\r\n2,b\n"),
    ("csv", "1,a\n\\.\r"),
    ("csv", "1,a\r\n\\.\n2,b\r\n"),
    ("csv", "\\.\r\n"),
    ("csv, header match", ""),
    ("csv, header match", "\n"),
    ("csv, header match", "\\.\n"),
    ("csv, header match", "id,v"),
    ("text, header match", ""),
    ("text, header match", "\\.\n"),
];

fn inputs_end_as_those_of_copy(server: Server) {
    let bench = Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (id text, v text) PARTITION BY HASH (v);
         CREATE TABLE l PARTITION OF t FOR VALUES WITH (MODULUS 1, REMAINDER 0);
         CREATE TABLE u (LIKE t)",
    );
    let has_match = server.major() >= 15;
    for (options, input) in INPUTS.into_iter().filter(|(o, _)| has_match || !o.contains("match")) {
        bench.session.run("TRUNCATE t, u");
        let what = format!("{}, {options}: {input:?}", server.major());
        let copy = format!("COPY u FROM STDIN (FORMAT {options})");
        let copied = bench.session.copy_in(&copy, input.as_bytes().to_vec());
        bench.file("rows", input);
        let format = options.split(',').next().unwrap();
        let header = options.contains("match").then_some("--header=match");
        let load = ["rows", "-t", "t", "--format", format, "--no-ledger"];
        let ended = bench.load(load.into_iter().chain(header));
        match copied {
            Ok(_) => {
                assert_eq!(ended.status.code(), Some(0), "{what}: {ended:?}");
                let rows = |table: &str| bench.session.rows(&format!("TABLE {table} ORDER BY id"));
                assert_eq!(rows("t"), rows("u"), "{what}");
            }
            Err(refused) => {
                let code = refused.code().unwrap().code();
                ended.fails(1, &[&format!("(SQLSTATE {code})")]);
                // Other rows may have been committed earlier, but no row before a header.
                let committed = if header.is_some() { 0 } else { ended.committed() };
                assert_eq!(bench.count("t"), committed, "{what}");
            }
        }
    }
}

fn byte_order_marks_are_skipped_and_reported(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("one.csv", "\u{feff}id,v\n1,a\n2,b\n");
    bench.file("two.csv", "id,v\n3,\u{feff}c\n");
    bench.file("three.csv", "\u{feff}id,v\n4,d\n\u{feff}5,e\n");
    let load = ["one.csv", "two.csv", "-t", "t", "--header=match"];
    let note = |file: &str| format!("{file}: the byte order mark at its beginning was skipped");
    let ended = bench.load(load);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.stderr.contains(&note("one.csv")), "{ended:?}");
    assert!(!ended.stderr.contains("two.csv: "), "{ended:?}");
    assert_eq!(bench.value("SELECT string_agg(v, ',' ORDER BY id) FROM t"), "a,b,\u{feff}c");
    // Each row has its position in the file, and a rejected row does not include the mark.
    let load = ["three.csv", "-t", "t", "--header", "--reject-file", "bad", "--max-rejects=1"];
    let ended = bench.load(load);
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    assert!(ended.stderr.contains(&note("three.csv")), "{ended:?}");
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap();
    assert_eq!(read("bad"), "id,v\n\u{feff}5,e\n");
    assert!(read("bad.log").contains("\"line\":3,\"offset\":12,"), "{}", read("bad.log"));
    // The same from standard input.
    bench.session.run("TRUNCATE t");
    let rows = format!("\u{feff}{}", "1,a\n2,b\n".repeat(3000));
    let load = ["-", "-t", "t", "--format", "csv"];
    let mut running = bench.start(load, Stdio::piped());
    running.feed(rows.as_bytes());
    running.child.stdin.take();
    let ended = running.ended();
    assert!(ended.status.success() && ended.stderr.contains(&note("<stdin>")), "{ended:?}");
    assert_eq!(bench.count("t"), 6000);
    // A killed load resumes.
    bench.session.run("TRUNCATE t");
    bench.file("rows.csv", rows);
    let load = ["rows.csv", "-t", "t", "--few-rows", "0", "--load-id=mark", "--json"];
    let mut killed = program();
    killed.args(["load", "-d", &bench.url]).args(load).current_dir(bench.folder.path());
    killed.env("PGSLUICE_FAILPOINT", "payload::committed:1");
    assert!(!killed.output().unwrap().status.success());
    let before = bench.count("t");
    let summary = bench.load(load).summary();
    assert!(before > 0 && summary["rows_already_loaded"] == before, "{before}: {summary}");
    assert_eq!(bench.count("t"), 6000);
}
