//! NDJSON: the object in each line is assigned to columns by its keys, with the values that the server's
//! `json_populate_record` returns.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use flate2::write::GzEncoder;

use crate::harness::{Bench, Ended, Running, Server, on_each_server, program};

on_each_server!([
    values_go_to_every_kind_of_column,
    missing_keys_have_their_defaults,
    keys_find_their_columns,
    an_update_leaves_columns_alone_that_no_object_has,
    an_update_refuses_keys_that_only_some_objects_have,
    objects_that_delete_may_lack_keys,
    a_list_of_keys_may_have_others,
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

/// Returns the rows that the server reads from the same lines.
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

fn missing_keys_have_their_defaults(server: Server) {
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
    assert_eq!(summary["lanes"]["routed_by_server"], 1, "{summary}");
    assert_eq!(summary["fallbacks"][0]["what"], "rows with a default", "{summary}");
    let stored =
        bench.value("SELECT string_agg(format('%s %s %s', v, d, e), ', ' ORDER BY id) FROM t");
    assert_eq!(stored, "a 9 8,  9 8, c 7 8");
}

fn keys_find_their_columns(server: Server) {
    let bench = bench(server);
    let text = "{\"ID\":1,\"Text\":\"x\",\"more\":{\"a\":[]}}\n{\"ID\":2}\n";
    let ended = load(&bench, text, &["--map", "Text=v"]);
    ended.fails(
        1,
        &["the input has field \"more\", which matches no column of the table", "--ignore-extra"],
    );
    let summary = load(&bench, text, &["--map", "Text=v", "--ignore-extra"]).summary();
    assert_eq!(summary["rows_loaded"], 2, "{summary}");
    assert!(
        summary["notes"].to_string().contains("field \\\"ID\\\" is loaded into column id"),
        "{summary}"
    );
    assert_eq!(bench.count("t WHERE id = 1 AND v = 'x' OR id = 2 AND v IS NULL"), 2);
    // A key that first appears far from the beginning belongs to a column, or is refused.
    let many: String = (0..40_000).map(|id| format!("{{\"id\":{id}}}\n")).collect();
    let late = format!("{many}{{\"id\":1,\"v\":\"late\"}}\n");
    assert_eq!(load(&bench, &late, &[]).summary()["rows_loaded"], 40_001);
    assert_eq!(bench.count("t WHERE v = 'late'"), 1);
    let unknown = format!("{many}{{\"id\":1,\"w\":\"late\"}}\n");
    load(&bench, &unknown, &[]).fails(1, &["rows.ndjson:40001: ", "key \"w\" matches no column"]);
}

/// Opens a database with a table of rows to update.
fn changing(server: Server) -> Bench {
    let bench = Bench::new(server);
    bench.session.run(
        "CREATE TABLE c (id int PRIMARY KEY, name text, total int, d int DEFAULT 7) PARTITION BY HASH (id);
         CREATE TABLE c0 PARTITION OF c FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE c1 PARTITION OF c FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    );
    bench
}

/// Loads into a table with two rows. Returns its content, or how the load failed.
fn changed(bench: &Bench, text: &str, options: &[&str]) -> Result<String, Ended> {
    bench.session.run("TRUNCATE c; INSERT INTO c VALUES (1, 'Alice', 1, 1), (2, 'Bob', 2, 2)");
    bench.file("rows.ndjson", text);
    let update = ["rows.ndjson", "-t", "c", "--json"];
    let ended = bench.load([&update[..], options].concat());
    let all = "SELECT coalesce(string_agg(concat_ws(' ', id, coalesce(name, '-'), coalesce(total, 0), d), ', ' ORDER BY id), '') FROM c";
    if ended.status.success() { Ok(bench.value(all)) } else { Err(ended) }
}

fn an_update_leaves_columns_alone_that_no_object_has(server: Server) {
    let bench = changing(server);
    let update = "--on-conflict=update";
    for (text, options, expected) in [
        ("{\"id\":1,\"total\":5}\n", &[update][..], "1 Alice 5 1, 2 Bob 2 2"),
        ("{\"id\":1,\"total\":null}\n", &[update], "1 Alice 0 1, 2 Bob 2 2"),
        ("{\"id\":3,\"total\":5}\n", &[update], "1 Alice 1 1, 2 Bob 2 2, 3 - 5 7"),
        ("{\"ID\":1,\"n\":\"A\"}\n", &[update, "--map=n=name"], "1 A 1 1, 2 Bob 2 2"),
        ("{\"id\":1,\"total\":5}\n", &[update, "--no-insert"], "1 Alice 5 1, 2 Bob 2 2"),
        ("{\"id\":1,\"total\":5}\n", &[update, "--newer=total"], "1 Alice 5 1, 2 Bob 2 2"),
        (
            "{\"id\":1,\"total\":5}\n",
            &[update, "--key=id", "--update=total"],
            "1 Alice 5 1, 2 Bob 2 2",
        ),
        ("{\"id\":1}\n", &[update, "--update=name,d"], "1 - 1, 2 Bob 2 2"),
    ] {
        let stored = changed(&bench, text, options).unwrap_or_else(|ended| panic!("{ended:?}"));
        assert_eq!(stored, expected, "{text} {options:?}");
        let mut verify = program();
        verify.args(["verify", "rows.ndjson", "-t", "c", "-d", &bench.url]).args(options);
        let verified = Running::start(verify.current_dir(bench.folder.path())).ended();
        assert_eq!(verified.status.code(), Some(0), "{text} {options:?}: {verified:?}");
    }
    let failed = changed(&bench, "{\"id\":1}\n", &[update, "--newer=total"]).unwrap_err();
    failed.fails(2, &["column total is not in the input"]);
}

fn an_update_refuses_keys_that_only_some_objects_have(server: Server) {
    let bench = changing(server);
    let update = "--on-conflict=update";
    let text = "{\"id\":1,\"total\":5}\n{\"id\":2,\"name\":\"B\"}\n";
    let failed = changed(&bench, text, &[update]).unwrap_err();
    failed.fails(
        1,
        &[
            "rows.ndjson:1: ",
            "key \"name\" is missing, and an update would set",
            "--update total,name",
        ],
    );
    assert_eq!(
        changed(&bench, text, &[update, "--update=total,name"]).unwrap(),
        "1 - 5 1, 2 B 0 2"
    );
    // Existing rows keep the columns that are not set, and new rows may lack them.
    assert_eq!(
        changed(&bench, text, &[update, "--update=total"]).unwrap(),
        "1 Alice 5 1, 2 Bob 0 2"
    );
    let rejects = [update, "--reject-file=bad.ndjson", "--max-rejects=9"];
    changed(&bench, text, &rejects).unwrap_err().summary_of(3);
    let bad = fs::read_to_string(bench.path("bad.ndjson")).unwrap();
    assert_eq!(bad.lines().count(), 2, "{bad}");
    let without_key = "{\"id\":1,\"total\":5}\n{\"total\":6}\n";
    let failed = changed(&bench, without_key, &[update, "--update=total"]).unwrap_err();
    failed.fails(
        1,
        &["rows.ndjson:2: ", "key \"id\" is missing, and rows are compared by its column"],
    );
    let late =
        format!("{}{{\"id\":2,\"name\":\"B\"}}\n", "{\"id\":1,\"total\":5}\n".repeat(20_000));
    let failed = changed(&bench, &late, &[update]).unwrap_err();
    failed.fails(1, &["rows.ndjson:20001: ", "which is not loaded", "--update total,name"]);
    let with = [update, "--update=total,name"];
    assert_eq!(changed(&bench, &late, &with).unwrap(), "1 - 5 1, 2 B 0 2");
}

fn objects_that_delete_may_lack_keys(server: Server) {
    let bench = changing(server);
    let options = ["--on-conflict=update", "--delete-when=gone"];
    let text = "{\"id\":1,\"total\":5}\n{\"id\":2,\"gone\":true}\n";
    assert_eq!(changed(&bench, text, &options).unwrap(), "1 Alice 5 1");
    let text = "{\"id\":1,\"total\":5}\n{\"id\":2,\"gone\":false}\n";
    let failed = changed(&bench, text, &options).unwrap_err();
    failed.fails(1, &["rows.ndjson:2: ", "key \"total\" is missing"]);
}

fn a_list_of_keys_may_have_others(server: Server) {
    let bench = changing(server);
    let text = "{\"id\":1,\"d\":1}\n{\"id\":2}\n";
    assert_eq!(changed(&bench, text, &["--on-conflict=delete"]).unwrap(), "");
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
    for message in ["duplicate key \\\"id\\\"", "not an array", "\"line\":3,"] {
        assert!(log.contains(message), "{message}: {log}");
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
        let counts = ["inserted", "duplicate"].map(|name| summary["counts"][name].clone());
        assert_eq!(
            (counts, &summary["rows_rejected"]),
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
    // The names of columns are searched in 256 KiB first, and then in four times as much.
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
