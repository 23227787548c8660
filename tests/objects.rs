//! Objects as inputs: whatever their server does, each row is in the table once, or the load ends with a clear error.
//! The tests of the Python package read the same objects from the servers of several vendors.

mod store;

use std::net::TcpListener;
use std::process::{Command, Stdio};

use self::store::{Fault, PROXIED, Store};
use crate::harness::{Bench, Ended, Running, Server, on_each_server, program, rows, write};

on_each_server!([
    an_object_is_loaded_as_the_file_is,
    passing_faults_are_waited_out,
    an_object_that_changes_is_an_error,
    answers_that_are_not_the_object_are_errors,
    a_load_that_lost_its_server_is_resumed,
    names_stand_for_objects_as_for_files,
    many_objects_are_one_load,
    one_of_many_objects_is_found,
    objects_without_a_state_are_read_once,
    a_proxy_is_used,
    columns_that_are_left_out_are_not_read,
    a_footer_is_read_once,
    bad_rows_of_objects_are_rejected,
    queries_are_not_shown,
]);

/// The number of rows of the object in most tests, about 9 MB: several requests.
const ROWS: usize = 180_000;

/// The width of their text.
const WIDTH: usize = 45;

/// Returns a load of names that lead to `store`.
fn command(bench: &Bench, store: &Store, arguments: &[&str]) -> Command {
    let mut command = program();
    command.args(["load", "-d", &bench.url, "-t", "t", "--json"]).args(arguments);
    command.envs(store.environment()).current_dir(bench.folder.path()).stdin(Stdio::null());
    command
}

fn load(bench: &Bench, store: &Store, arguments: &[&str]) -> Ended {
    Running::start(&mut command(bench, store, arguments)).ended()
}

/// A table, and a store with an object `rows.csv` for it.
fn setting(server: Server) -> (Bench, Store) {
    let (bench, store) = (Bench::with_table(server), Store::new());
    store.put("rows.csv", rows(ROWS, WIDTH));
    (bench, store)
}

fn an_object_is_loaded_as_the_file_is(server: Server) {
    let (bench, store) = setting(server);
    let summary = load(&bench, &store, &["s3://bucket/rows.csv"]).summary();
    let size = rows(ROWS, WIDTH).len();
    assert_eq!((&summary["rows_loaded"], &summary["bytes_read"]), (&ROWS.into(), &size.into()));
    assert_eq!(bench.count("t"), ROWS as u64);
    // Each byte is read once, apart from the beginning.
    let sent = store.sent() as usize;
    assert!(sent >= size && sent < size + (1 << 20), "{sent} of {size}");
    for request in store.requests() {
        assert!(request.starts_with("GET "), "{request}");
        let is_first = request.contains("bytes=0-7");
        assert!(is_first || request.to_ascii_lowercase().contains("if-match: \"1\""), "{request}");
    }
    load(&bench, &store, &["s3://bucket/rows.csv", "--once"]).fails(1, &["was loaded"]);
}

fn passing_faults_are_waited_out(server: Server) {
    let (bench, store) = setting(server);
    for fault in
        [Fault::Cut, Fault::Stall, Fault::Status(503), Fault::Status(500), Fault::Status(429)]
    {
        for before in [0, 3] {
            store.fail(fault, before, 2);
            let mut command = command(&bench, &store, &["s3://bucket/rows.csv"]);
            let ended = Running::start(command.env("AWS_READ_TIMEOUT", "1s")).ended();
            assert_eq!(ended.summary()["rows_loaded"], ROWS, "{fault:?}");
        }
    }
    assert_eq!(bench.count("t"), 10 * ROWS as u64);
    let ids = "(SELECT DISTINCT count(*) FROM t GROUP BY id) AS counts";
    assert_eq!(bench.count(ids), 1);
}

fn an_object_that_changes_is_an_error(server: Server) {
    let (bench, store) = setting(server);
    let changed = "object \"s3://bucket/rows.csv\" changed while it was being read";
    for fault in [Fault::Replace, Fault::Truncate, Fault::Delete, Fault::Status(412), Fault::Whole]
    {
        for before in [0, 3] {
            bench.session.run("TRUNCATE t");
            store.put("rows.csv", rows(ROWS, WIDTH));
            store.fail(fault, before, usize::MAX);
            let ended = load(&bench, &store, &["s3://bucket/rows.csv"]);
            ended.fails(1, &[changed, "SQLSTATE 55000", "pgsluice verify"]);
            // The message says nothing about rows if the load had not begun.
            let has_begun = ended.stderr.contains(" of this load ");
            let committed = if has_begun { ended.committed() } else { 0 };
            assert_eq!(bench.count("t"), committed, "{fault:?}");
        }
    }
}

fn answers_that_are_not_the_object_are_errors(server: Server) {
    let (bench, store) = setting(server);
    let elsewhere = Store::new();
    for (fault, message) in [
        (Fault::Page, "changed while it was being read"),
        (Fault::Redirect(elsewhere.port), "changed while it was being read"),
        (Fault::Status(403), "the server refuses access (Fault, HTTP status 403)"),
        (Fault::Code(403, "RequestTimeTooSkewed"), "the clock differs from the server's"),
        (
            Fault::Code(301, "PermanentRedirect"),
            "HINT:  Set AWS_REGION to the region of the bucket.",
        ),
        (Fault::Code(400, "ExpiredToken"), "the server does not accept the credentials"),
        (Fault::Status(400), "the server rejects the request (Fault, HTTP status 400)"),
    ] {
        store.fail(fault, 0, usize::MAX);
        load(&bench, &store, &["s3://bucket/rows.csv"]).fails(1, &[message]);
    }
    assert_eq!(bench.count("t"), 0);
    for (name, message) in [
        ("s3://bucket/none.csv", "\"s3://bucket/none.csv\" for reading: the object does not exist"),
        ("s3://bucket/none/", "the object does not exist"),
        ("s3://bucket/*.tsv", "no object matches \"s3://bucket/*.tsv\""),
        ("s3://", "it does not name a bucket"),
    ] {
        load(&bench, &store, &[name]).fails(1, &[message]);
    }
}

fn a_load_that_lost_its_server_is_resumed(server: Server) {
    let (bench, store) = setting(server);
    // Its first 8 MiB are one transaction.
    let count = 3 * ROWS;
    store.put("rows.csv", rows(count, WIDTH));
    let arguments = ["s3://bucket/rows.csv", "--load-id", "l"];
    store.fail(Fault::Status(400), 7, usize::MAX);
    let lost = load(&bench, &store, &arguments);
    lost.fails(1, &["HTTP status 400"]);
    store.fail(Fault::Cut, 1, 1);
    let summary = load(&bench, &store, &arguments).summary();
    assert_eq!(summary["rows_already_loaded"], lost.committed());
    assert_eq!(bench.count("t"), count as u64);
    assert_eq!(load(&bench, &store, &arguments).summary()["rows_loaded"], 0);
    store.put("rows.csv", rows(count, WIDTH));
    load(&bench, &store, &arguments)
        .fails(1, &["the input differs from the one that this load began with"]);
}

fn names_stand_for_objects_as_for_files(server: Server) {
    let (bench, store) = (Bench::with_table(server), Store::new());
    for key in [
        "d/a.csv",
        "d/b c%20.csv",
        "d/ä[1].csv",
        "d/x*y.csv",
        "d/_SUCCESS",
        "d/.hidden",
        "d/e/f.csv",
        "d/e/g/h.csv",
    ] {
        store.put(key, "1,x\n");
    }
    store.put("d/empty.csv", "");
    store.put("d/e/", "");
    let count = |names: &[&str]| load(&bench, &store, names).summary();
    for (names, rows) in [
        (&["s3://bucket/d/"][..], 4),
        (&["s3://bucket/d"], 4),
        (&["s3://bucket/d/*.csv"], 4),
        (&["s3://bucket/d/x*y.csv"], 1),
        (&["s3://bucket/d/ä[1].csv", "s3://bucket/d/b c%20.csv"], 2),
        (&["s3://bucket/d/_SUCCESS", "--format", "csv"], 1),
        (&["s3://bucket/d/*/*.csv"], 1),
        (&["s3://bucket/d/**/*.csv"], 6),
        (&["s3://bucket/d/a.csv", "s3://bucket/d/"], 4),
    ] {
        assert_eq!(count(names)["rows_loaded"], rows, "{names:?}");
    }
    let summary = count(&["s3://bucket/d/", "--load-id", "notes"]);
    let notes = [
        "not read in s3://bucket/d, because their names begin with _ or .: .hidden, _SUCCESS",
        "subdirectories of s3://bucket/d that are not read: e",
    ];
    assert_eq!(summary["notes"], serde_json::json!(notes));
    let twice = load(&bench, &store, &["s3://bucket/d/a.csv", "s3://bucket/d/"]);
    let warning = "given more than once, but read only once: s3://bucket/d/a.csv";
    assert!(twice.stderr.contains(warning), "{twice:?}");
}

fn many_objects_are_one_load(server: Server) {
    let (bench, store) = (Bench::with_table(server), Store::new());
    for number in 0..2_500 {
        store.put(&format!("many/{number:05}.csv"), format!("{},x\n", number % 100));
    }
    let summary = load(&bench, &store, &["s3://bucket/many/"]).summary();
    assert_eq!((&summary["rows_loaded"], bench.count("t")), (&2_500.into(), 2_500));
}

fn one_of_many_objects_is_found(server: Server) {
    let (bench, store) = (Bench::with_table(server), Store::new());
    for number in 0..100_000 {
        store.put(&format!("many/{number:06}.csv"), "1,x\n");
    }
    let summary = load(&bench, &store, &["s3://bucket/many/*99999.csv"]).summary();
    assert_eq!(summary["rows_loaded"], 1);
    let requests = store.requests();
    let lists = requests.iter().filter(|request| request.contains("list-type=2"));
    assert_eq!(lists.count(), 100, "{requests:?}");
}

fn objects_without_a_state_are_read_once(server: Server) {
    let (bench, store) = setting(server);
    store.be_plain();
    let url = format!("http://127.0.0.1:{}/bucket/rows.csv", store.port);
    let summary = load(&bench, &store, &[&url]).summary();
    assert_eq!(summary["rows_loaded"], ROWS);
    let note = format!("{url} is read once, because its server ");
    assert!(summary["notes"][0].as_str().is_some_and(|it| it.starts_with(&note)), "{summary}");
    let requests = store.requests();
    let whole = requests.iter().filter(|request| !request.contains("ange: bytes=")).count();
    assert_eq!((requests.len(), whole), (2, 1), "{requests:?}");
    // It can no longer be told whether the rest belongs to the same object.
    bench.session.run("TRUNCATE t");
    store.fail(Fault::Cut, 0, usize::MAX);
    let cut = load(&bench, &store, &[&url]);
    cut.fails(1, &["could not read from object", "the connection failed"]);
    assert_eq!(bench.count("t"), cut.committed());
}

fn a_proxy_is_used(server: Server) {
    let (bench, store) = setting(server);
    let load_by = |proxy: &str| {
        let mut command = command(&bench, &store, &["s3://bucket/rows.csv"]);
        command.env("AWS_ENDPOINT_URL", PROXIED).env("HTTP_PROXY", proxy).env_remove("NO_PROXY");
        Running::start(&mut command).ended()
    };
    let through = load_by(&format!("http://127.0.0.1:{}", store.port));
    assert_eq!(through.summary()["rows_loaded"], ROWS);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    load_by(&format!("http://user:password1@{closed}")).fails(1, &["could not connect"]);
    assert_eq!(bench.count("t"), ROWS as u64);
}

fn columns_that_are_left_out_are_not_read(server: Server) {
    let (bench, store) = (Bench::with_table(server), Store::new());
    let text = |row: usize| {
        format!("{:032x}", (row as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
    };
    let lines = (0..60_000).map(|row| format!("{},{},{}\n", row % 100, text(row), text(row + 1)));
    let csv: String = ["id,v,w\n".to_owned()].into_iter().chain(lines).collect();
    let path = write(&csv, &bench.path("rows.csv"), "parquet");
    let bytes = std::fs::read(path).unwrap();
    let size = bytes.len() as u64;
    store.put("rows.parquet", bytes);
    bench.session.run("ALTER TABLE t DROP COLUMN v");
    let summary = load(&bench, &store, &["s3://bucket/rows.parquet", "--ignore-extra"]).summary();
    assert_eq!((&summary["rows_loaded"], bench.count("t")), (&60_000.into(), 60_000));
    let sent = store.sent();
    assert!(sent < size / 2, "{sent} of {size} bytes were read");
}

fn a_footer_is_read_once(server: Server) {
    let (bench, store) = (Bench::with_table(server), Store::new());
    let file = |count: usize| {
        let names: String = (0..40).map(|number| format!(",w{number}")).collect();
        let row = |row: usize| format!("{},x{}\n", row % 100, ",".repeat(40));
        let csv: String =
            [format!("id,v{names}\n")].into_iter().chain((0..count).map(row)).collect();
        std::fs::read(write(&csv, &bench.path("rows.csv"), "parquet")).unwrap()
    };
    // Where the footer begins: its length is in front of the last four bytes.
    let footer = |bytes: &[u8]| {
        let (rest, _) = bytes.split_last_chunk::<4>().unwrap();
        let (rest, length) = rest.split_last_chunk::<4>().unwrap();
        rest.len() - u32::from_le_bytes(*length) as usize
    };
    // It lies in two blocks of the cache.
    let lies_in_two = |bytes: &Vec<u8>| footer(bytes) >> 18 != (bytes.len() - 1) >> 18;
    let bytes = (15_000..).step_by(1_000).map(file).find(lies_in_two).unwrap();
    let start = footer(&bytes);
    store.put("rows.parquet", bytes);
    load(&bench, &store, &["s3://bucket/rows.parquet", "--ignore-extra"]).summary();
    let requests = store.requests();
    let end = |request: &String| {
        let range = request.to_ascii_lowercase().split_once("range: bytes=").unwrap().1.to_owned();
        let (_, end) = range.split_once('\r').unwrap().0.split_once('-').unwrap();
        end.parse::<usize>().unwrap()
    };
    // Its last block, and then all of it.
    assert_eq!(requests.iter().filter(|request| end(request) >= start).count(), 2, "{requests:?}");
}

fn bad_rows_of_objects_are_rejected(server: Server) {
    let (bench, store) = (Bench::with_table(server), Store::new());
    let mut text = String::from_utf8(rows(50_000, WIDTH)).unwrap();
    for row in 0..20 {
        text.insert_str(text.match_indices('\n').nth(row * 2_000).unwrap().0 + 1, "x,bad\n");
    }
    store.put("bad.csv", text);
    let summary = load(
        &bench,
        &store,
        &["s3://bucket/bad.csv", "--reject-file", "r.csv", "--max-rejects", "20"],
    );
    let summary = summary.summary_of(3);
    assert_eq!((&summary["rows_loaded"], &summary["rows_rejected"]), (&50_000.into(), &20.into()));
    assert_eq!(std::fs::read_to_string(bench.path("r.csv")).unwrap(), "x,bad\n".repeat(20));
}

fn queries_are_not_shown(server: Server) {
    let (bench, store) = setting(server);
    let url = |key: &str| {
        format!("http://user:password1@127.0.0.1:{}/bucket/{key}?sig=secret1", store.port)
    };
    let good = load(&bench, &store, &[&url("rows.csv"), "--load-id", "good"]);
    assert_eq!(good.summary()["rows_loaded"], ROWS);
    let missing = load(&bench, &store, &[&url("none.csv")]);
    missing.fails(1, &["the object does not exist"]);
    store.fail(Fault::Status(403), 1, usize::MAX);
    let refused = load(&bench, &store, &[&url("rows.csv"), "--load-id", "refused"]);
    refused.fails(1, &["the server refuses access"]);
    let ledger = bench.session.rows("SELECT load::text FROM pgsluice.load");
    let shown = format!("{good:?} {missing:?} {refused:?} {ledger:?}");
    assert!(shown.contains("/bucket/rows.csv"), "{shown}");
    for secret in ["secret1", "password1"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}
