//! NDJSON: an object in each line goes to the columns of its keys, as the server's `json_populate_record` reads it.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use flate2::write::GzEncoder;

use crate::harness::{Bench, Ended, Server, on_each_server};

on_each_server!([
    values_go_to_every_kind_of_column,
    what_is_missing_has_its_default,
    keys_find_their_columns,
    bad_lines_are_bad_rows,
    bad_lines_are_no_duplicates,
    numbers_and_levels_may_be_long,
    lines_are_in_other_encodings,
    a_first_object_may_be_long,
]);

fn bench(server: Server) -> Bench {
    let bench = Bench::new(server);
    bench.session.run(
        "CREATE TYPE pair AS (n int, s text);
         CREATE TABLE t (id int NOT NULL, v text, n numeric, j json, b jsonb, a int[], m text[], p pair, ps pair[],
                         at timestamptz)
             PARTITION BY HASH (id);
         CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    );
    bench
}

fn load(bench: &Bench, text: &str, options: &[&str]) -> Ended {
    bench.file("rows.ndjson", text);
    bench.load([&["rows.ndjson", "-t", "t", "--json"], options].concat())
}

/// What the server makes of the same lines.
fn populate(bench: &Bench, text: &str) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| format!("('{}'::json)", line.replace('\'', "''"))).collect();
    bench.value(&format!(
        "SELECT string_agg(ROW(r.*)::text, E'\\n' ORDER BY id)
         FROM (VALUES {}) AS line (object), json_populate_record(NULL::t, object) AS r",
        lines.join(", ")
    ))
}

fn values_go_to_every_kind_of_column(server: Server) {
    let bench = bench(server);
    let text = r#"
{"id":1,"v":"a\tb\\N\u00e9\ud83d\ude00","n":1.50,"j":{"x": [1, null]},"b":{"y":true},"a":[1,null,3],"m":[["a","b"],["c,","\"d"]]}
{"id":2,"v":12.0e3,"n":"7","j":"text","b":"text","a":"{4,5}","m":[],"p":{"n":1,"s":"x,\"y"},"ps":[{"n":2},null,{"s":""}]}
{"at":"2026-01-02T03:04:05Z","id":3,"v":true,"n":null,"j":null,"b":null,"a":null,"p":"(9,z)","ps":null}
{"id":4,"v":{"a": 1 },"b":[ ],"j":[ ],"m":[null,"null",""]}
"#
    .trim();
    let summary = load(&bench, text, &[]).summary();
    assert_eq!(summary["rows_loaded"], 4, "{summary}");
    let stored = bench.value("SELECT string_agg(ROW(t.*)::text, E'\\n' ORDER BY id) FROM t");
    assert_eq!(stored, populate(&bench, text));
}

fn what_is_missing_has_its_default(server: Server) {
    let bench = Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (id serial, v text, d int DEFAULT 7, e int DEFAULT 8) PARTITION BY RANGE (d);
         CREATE TABLE t_7 PARTITION OF t FOR VALUES FROM (7) TO (8);
         CREATE TABLE t_9 PARTITION OF t FOR VALUES FROM (9) TO (10)",
    );
    // No object has `e`, and some have `d`.
    let text = "{\"v\":\"a\",\"d\":9}\n{\"d\":9}\n{\"v\":\"c\"}\n";
    let ended = load(&bench, text, &[]);
    if server.major() < 16 {
        ended.fails(1, &["rows.ndjson:3: ", "key \"d\" is missing, and its column has a default"]);
        let text = "{\"v\":\"a\"}\n{}\n";
        assert_eq!(load(&bench, text, &[]).summary()["rows_loaded"], 2);
        assert_eq!(bench.count("t_7 WHERE e = 8 AND d = 7"), 2);
        return;
    }
    let summary = ended.summary();
    assert_eq!(summary["lanes"]["slow"], 1, "{summary}");
    assert_eq!(summary["fallbacks"][0]["what"], "rows with a default", "{summary}");
    let stored =
        bench.value("SELECT string_agg(format('%s %s %s', v, d, e), ', ' ORDER BY id) FROM t");
    assert_eq!(stored, "a 9 8,  9 8, c 7 8");
}

fn keys_find_their_columns(server: Server) {
    let bench = bench(server);
    let text = "{\"ID\":1,\"Text\":\"x\",\"more\":{\"a\":[]}}\n{\"ID\":2}\n";
    let ended = load(&bench, text, &["--map", "Text=v"]);
    ended.fails(2, &["the input has \"more\", which is no column of the table", "--ignore-extra"]);
    let summary = load(&bench, text, &["--map", "Text=v", "--ignore-extra"]).summary();
    assert_eq!(summary["rows_loaded"], 2, "{summary}");
    assert!(
        summary["notes"].to_string().contains("field \\\"ID\\\" goes to column id"),
        "{summary}"
    );
    assert_eq!(bench.count("t WHERE id = 1 AND v = 'x' OR id = 2 AND v IS NULL"), 2);
    // A key that comes first far behind the beginning is that of a column, or refused.
    let many: String = (0..40_000).map(|id| format!("{{\"id\":{id}}}\n")).collect();
    let late = format!("{many}{{\"id\":1,\"v\":\"late\"}}\n");
    assert_eq!(load(&bench, &late, &[]).summary()["rows_loaded"], 40_001);
    assert_eq!(bench.count("t WHERE v = 'late'"), 1);
    let unknown = format!("{many}{{\"id\":1,\"w\":\"late\"}}\n");
    load(&bench, &unknown, &[]).fails(1, &["rows.ndjson:40001: ", "key \"w\" goes to no column"]);
}

fn bad_lines_are_bad_rows(server: Server) {
    let bench = bench(server);
    let bad = [
        "{\"id\":1,\"id\":2}",
        "{\"id\":1",
        "{\"id\":1} {\"id\":2}",
        "[1]",
        "{\"id\":1,\"v\":\"\\ud800\"}",
        "{\"id\":1,\"v\":\"\\u0000\"}",
        "{\"id\":01}",
        "{'id':1}",
        "{\"id\":NaN}",
        "{\"id\":1,\"a\":[[1,2],[3]]}",
        "{\"id\":\"x\"}",
    ];
    let good = |id: usize| format!("{{\"id\":{id},\"v\":\"good\"}}\n");
    let mut text = String::new();
    for (place, line) in bad.iter().enumerate() {
        text += &(good(2 * place) + "\n" + line + "\n" + &good(2 * place + 1));
    }
    let options = ["--reject-file=bad.ndjson", "--max-rejects=100"];
    let summary = load(&bench, &text, &options).summary_of(3);
    let figures = ["rows_loaded", "rows_rejected"].map(|name| summary[name].clone());
    assert_eq!(figures, [2 * bad.len(), bad.len()], "{summary}");
    assert_eq!(bench.count("t WHERE v = 'good'"), 2 * bad.len() as u64);
    let rejected = fs::read_to_string(bench.path("bad.ndjson")).unwrap();
    let (mut lines, mut all) = (rejected.lines().collect::<Vec<_>>(), bad.to_vec());
    lines.sort_unstable();
    all.sort_unstable();
    assert_eq!(lines, all, "as they stand in the input");
    let log = fs::read_to_string(bench.path("bad.ndjson.log")).unwrap();
    for said in ["duplicate key \\\"id\\\"", "not an array", "\"line\":3,"] {
        assert!(log.contains(said), "{said}: {log}");
    }
    let ended = load(&bench, &text, &[]);
    ended.fails(1, &["rows.ndjson:3: duplicate key", "No row of this load is in the table"]);
}

fn bad_lines_are_no_duplicates(server: Server) {
    for key in ["v", "v, id"] {
        let bench = bench(server);
        bench.session.run(&format!("CREATE TABLE k (v text, id int, UNIQUE ({key}))"));
        bench.file(
            "rows.ndjson",
            "{\"v\":\"a\",\"id\":1}\n{\"v\"\n{\"v\"\n{\"v\":\"a\",\"id\":1}\n",
        );
        let options = ["--on-conflict=skip", "--reject-file=bad.ndjson", "--max-rejects=9"];
        let all = [&["rows.ndjson", "-t", "k", "--json"], &options[..]].concat();
        let summary = bench.load(all).summary_of(3);
        let fate = ["inserted", "duplicate"].map(|name| summary["fate"][name].clone());
        assert_eq!(
            (fate, &summary["rows_rejected"]),
            ([1.into(), 1.into()], &2.into()),
            "{summary}"
        );
    }
}

fn numbers_and_levels_may_be_long(server: Server) {
    let bench = bench(server);
    let digits = "7".repeat(10_000);
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let text = format!("{{\"id\":1,\"n\":{digits},\"j\":{deep},\"b\":{deep},\"v\":{digits}}}\n");
    load(&bench, &text, &[]).summary();
    let same = format!("n::text = '{digits}' AND v = '{digits}' AND j::text = '{deep}'");
    assert_eq!(bench.count(&format!("t WHERE {same}")), 1);
    let deeper = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = format!("{{\"id\":1,\"b\":{deeper}}}\n");
    load(&bench, &text, &[]).fails(1, &["stack depth limit exceeded"]);
}

fn lines_are_in_other_encodings(server: Server) {
    let bench = bench(server);
    bench.file("rows.ndjson", b"{\"id\":1,\"v\":\"\xe9\"}\n");
    let ended = bench.load(["rows.ndjson", "-t", "t"]);
    ended.fails(1, &["rows.ndjson:1: ", "invalid byte sequence for encoding \"UTF8\": 0xe9"]);
    let loaded = bench.load(["rows.ndjson", "-t", "t", "--encoding=latin1", "--json"]);
    assert_eq!(loaded.summary()["rows_loaded"], 1);
    let marked = [b"\xef\xbb\xbf".as_slice(), b"{\"id\":2,\"v\":\"\xc3\xa9\"}\n"].concat();
    bench.file("rows.ndjson", marked);
    assert_eq!(bench.load(["rows.ndjson", "-t", "t", "--json"]).summary()["rows_loaded"], 1);
    assert_eq!(bench.count("t WHERE v = 'é'"), 2);
}

fn a_first_object_may_be_long(server: Server) {
    let bench = bench(server);
    // The names of columns are looked for in 256 KiB first, and then in four times as much.
    for bytes in [262_000, 262_200, 5_000_000, 17_000_000] {
        let text = format!("{{\"id\":1,\"v\":\"{}\"}}\n{{\"id\":2}}\n", "a".repeat(bytes));
        bench.file("rows.ndjson", &text);
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        bench.file("rows.ndjson.gz", encoder.finish().unwrap());
        for name in ["rows.ndjson", "rows.ndjson.gz", "-"] {
            bench.session.run("TRUNCATE t");
            let arguments = [name, "-t", "t", "--format", "ndjson", "--json"];
            let mut load = bench.start(arguments, Stdio::piped());
            load.feed(if name == "-" { text.as_bytes() } else { b"" });
            drop(load.child.stdin.take());
            assert_eq!(load.ended().summary()["rows_loaded"], 2, "{name}");
            assert_eq!(bench.value("SELECT max(length(v)) FROM t"), bytes.to_string());
        }
    }
}
