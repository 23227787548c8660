//! Compressed inputs: the table is the same as from uncompressed ones, however the load is stopped, and
//! errors about damaged data give their position.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use flate2::write::GzEncoder;

use crate::harness::{
    Bench, Chance, Clean, MONTHS, Ordeal, Running, Server, Twins, inputs, kill, on_each_server,
    plain, program, rows,
};

on_each_server!([
    compressed_files_are_loaded_as_what_they_hold,
    compressed_input_may_come_through_a_pipe,
    a_load_of_compressed_files_is_killed,
    bad_rows_of_compressed_files_are_rejected,
    compressed_rows_change_others,
    a_few_rows_may_be_compressed,
    truncated_input_is_an_error_with_its_place,
    bytes_behind_gzip_data_are_an_error,
    a_name_that_is_not_true,
    partitions_are_made_for_compressed_rows,
]);

const ROWS: usize = 60_000;

/// A compression method, and the suffix of its file names.
type Way = (fn(&[u8]) -> Vec<u8>, &'static str);

const WAYS: [Way; 2] = [(gzip, "gz"), (zstd, "zst")];

fn gzip(text: &[u8]) -> Vec<u8> {
    // Two members, as in two files that were concatenated.
    let (one, other) = text.split_at(text.len() / 3);
    let member = |part: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap()
    };
    [member(one), member(other)].concat()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    let (one, other) = text.split_at(text.len() / 3);
    let frame = |part: &[u8]| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap()
    };
    [frame(one), frame(other)].concat()
}

/// Replaces a file with its compressed form, under another name.
fn compress(path: &Path, (way, suffix): Way) -> std::path::PathBuf {
    let compressed = path.with_extension(format!("csv.{suffix}"));
    fs::write(&compressed, way(&fs::read(path).unwrap())).unwrap();
    fs::remove_file(path).unwrap();
    compressed
}

fn twins(server: Server, way: Way) -> Twins {
    let mut twins = Twins::new(Bench::new(server), MONTHS, &inputs(ROWS, 3, plain));
    twins.files = twins.files.iter().map(|path| compress(path, way)).collect();
    twins
}

fn compressed_files_are_loaded_as_what_they_hold(server: Server) {
    for way in WAYS {
        let twins = twins(server, way);
        let Twins { bench, .. } = &twins;
        let summary = twins.start("l", &["-j", "2"]).ended().summary();
        twins.are_equal();
        let bytes: u64 = twins.files.iter().map(|file| file.metadata().unwrap().len()).sum();
        assert_eq!(summary["bytes_read"], bytes, "{summary}");
        let name = if way.1 == "gz" { "gzip" } else { "zstd" };
        let note = format!("3 inputs are compressed with {name}");
        assert_eq!(summary["notes"], serde_json::json!([note]));
        for command in ["plan", "verify"] {
            let mut command_line = program();
            command_line.args([command, "-t", "t", "--header", "-d", &bench.url]);
            let ended = Running::start(command_line.args(&twins.files)).ended();
            assert_eq!(ended.status.code(), Some(0), "{ended:?}");
            assert!(command == "verify" || ended.stdout.contains(&note), "{ended:?}");
        }
    }
}

fn compressed_input_may_come_through_a_pipe(server: Server) {
    for (way, _) in WAYS {
        let bench = Bench::new(server);
        bench.make_table();
        let compressed = way(&rows(50_000, 100));
        let arguments = ["-", "-t", "t", "--format=csv", "--json", "--load-id", "l", "-j", "2"];
        let load = |options: &[&str]| {
            let mut load = bench.start(arguments.iter().chain(options), Stdio::piped());
            load.feed(&compressed);
            drop(load.child.stdin.take());
            load.ended()
        };
        assert_eq!(load(&[]).summary()["rows_loaded"], 50_000);
        assert_eq!(load(&[]).summary()["rows_already_loaded"], 50_000);
        assert_eq!(bench.count("t"), 50_000);
    }
}

fn a_load_of_compressed_files_is_killed(server: Server) {
    for way in WAYS {
        let resumed = |(): ()| {
            let twins = twins(server, way);
            let url = twins.bench.url.clone();
            let mut ordeal = Ordeal::new(Clean::from_twins(twins, ROWS), Chance::new(), &url, &[]);
            ordeal.endure(6, kill).resumed
        };
        assert!((0..3).any(|_| resumed(()) > 0), "no load was killed in the middle");
    }
}

fn bad_rows_of_compressed_files_are_rejected(server: Server) {
    let bench = Bench::new(server);
    bench.make_table();
    let mut text = b"id,v\n".to_vec();
    for row in 0..20_000 {
        let bad = if row % 1000 == 7 { "x" } else { "" };
        text.extend(format!("{}{bad},v{row}\n", row % 100).into_bytes());
    }
    let options = ["-t", "t", "--header", "--reject-file=bad.csv", "--max-rejects=100", "--json"];
    for (way, suffix) in WAYS {
        let file = format!("rows.csv.{suffix}");
        bench.file(&file, way(&text));
        let summary = bench.load([&[&*file][..], &options].concat()).summary_of(3);
        assert_eq!((&summary["rows_rejected"], &summary["wire"]), (&20.into(), &"text".into()));
        let bad = fs::read_to_string(bench.path("bad.csv")).unwrap();
        assert!(bad.starts_with("id,v\n7x,v7\n") || bad.contains("\n7x,v7\n"), "{bad}");
        assert_eq!(bad.lines().count(), 21, "{bad}");
        let log = fs::read_to_string(bench.path("bad.csv.log")).unwrap();
        let place = "\"line\":9,\"offset\":40,";
        assert!(log.contains(place), "{log}");
        assert_eq!(bench.count("t"), 19_980);
        bench.session.run("TRUNCATE t");
        fs::remove_file(bench.path("bad.csv")).unwrap();
        fs::remove_file(bench.path("bad.csv.log")).unwrap();
    }
}

fn compressed_rows_change_others(server: Server) {
    let bench = Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY HASH (id);
         CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1);
         INSERT INTO t SELECT n, 'old' FROM generate_series(1, 20000) AS n WHERE n % 2 = 0",
    );
    let text: String = (1..=20_000).chain(1..=10).map(|id| format!("{id},new{id}\n")).collect();
    bench.file("rows.csv.zst", zstd(text.as_bytes()));
    let ended = bench.load(["rows.csv.zst", "-t", "t", "--on-conflict=update", "--json"]);
    let summary = ended.summary();
    let counts = ["inserted", "updated", "duplicate"].map(|name| summary["counts"][name].clone());
    assert_eq!(counts, [10_000, 10_000, 10], "{summary}");
    assert_eq!(bench.count("t WHERE v = 'new' || id"), 20_000);
}

fn a_few_rows_may_be_compressed(server: Server) {
    let bench = Bench::new(server);
    bench.make_table();
    for (way, suffix) in WAYS {
        let file = format!("few.csv.{suffix}");
        bench.file(&file, way(b"1,a\n2,b\n"));
        let ended = bench.load([&*file, "-t", "t", "--json"]);
        let summary = ended.summary();
        assert_eq!((&summary["rows_loaded"], &summary["leaves"]), (&2.into(), &0.into()));
        // They contain more bytes than a small load may have.
        bench.file(&file, way(&b"1,a\n".repeat(2_000_000)));
        let summary = bench.load([&*file, "-t", "t", "--json"]).summary();
        assert_eq!((&summary["rows_loaded"], &summary["leaves"]), (&2_000_000.into(), &1.into()));
        bench.session.run("TRUNCATE t");
    }
}

fn truncated_input_is_an_error_with_its_place(server: Server) {
    let bench = Bench::new(server);
    bench.make_table();
    let text: Vec<u8> = (0..400_000)
        .flat_map(|row: usize| {
            let number = row.wrapping_mul(2_654_435_761) % 1_000_003;
            format!("{},{number}\n", row % 100).into_bytes()
        })
        .collect();
    for (way, suffix) in WAYS {
        let name = if suffix == "gz" { "gzip" } else { "zstd" };
        let file = format!("rows.csv.{suffix}");
        let whole = way(&text);
        bench.file(&file, &whole[..whole.len() * 9 / 10]);
        let ended = bench.load([&*file, "-t", "t"]);
        let message = format!("its {name} data is truncated");
        ended.fails(1, &[&format!("error: {file}:"), &message, "The row begins at byte "]);
        let mut damaged = whole.clone();
        let place = whole.len() / 2;
        damaged[place..place + 8].fill(0x55);
        bench.file(&file, &damaged);
        let ended = bench.load([&*file, "-t", "t"]);
        ended.fails(1, &[&format!("error: {file}:"), &format!("its {name} data is damaged: ")]);
        bench.file(&file, "");
        bench.load([&*file, "-t", "t"]).fails(1, &["data is truncated"]);
        // An all-or-nothing load leaves no rows.
        bench.session.run("TRUNCATE t");
        bench.file(&file, &whole[..whole.len() - 2]);
        bench.load([&*file, "-t", "t", "--atomic"]).fails(1, &["data is truncated"]);
        assert_eq!(bench.count("t"), 0);
    }
}

fn bytes_behind_gzip_data_are_an_error(server: Server) {
    let bench = Bench::with_table(server);
    let whole = gzip(b"1,a\n2,b\n3,c\n");
    bench.file("padded.csv.gz", [&whole[..], &[0; 10_240]].concat());
    let ended = bench.load(["padded.csv.gz", "-t", "t", "--json"]);
    assert_eq!(ended.summary()["rows_loaded"], 3);
    let message =
        format!("its gzip data ends before byte {}, followed by other bytes", whole.len());
    for garbage in [&b"4,d\n"[..], b"\x1f", b"\x1f\x8b", b"x"] {
        let bytes = [&whole[..], garbage].concat();
        bench.file("rows.csv.gz", &bytes);
        let ended = bench.load(["rows.csv.gz", "-t", "t"]);
        ended.fails(1, &["error: "]);
        let is_member = garbage[0] == 0x1f;
        assert!(is_member || ended.stderr.contains(&message), "{ended:?}");
        let mut piped = bench.start(["-", "-t", "t", "--format=csv"], Stdio::piped());
        piped.feed(&bytes);
        drop(piped.child.stdin.take());
        piped.ended().fails(1, &["error: "]);
    }
    assert_eq!(bench.count("t"), 3);
}

fn a_name_that_is_not_true(server: Server) {
    let bench = Bench::new(server);
    bench.make_table();
    bench.file("rows.csv.gz", rows(100, 10));
    let ended = bench.load(["rows.csv.gz", "-t", "t"]);
    let hint = "\nHINT:  Load it as is: cat rows.csv.gz | pgsluice load - -t t";
    ended.fails(1, &["rows.csv.gz is not compressed with gzip, although its name says so"]);
    assert!(ended.stderr.contains("cat rows.csv.gz | pgsluice load"), "{hint}: {ended:?}");
    // The content decides, not the name of the file.
    bench.file("rows.csv", zstd(&rows(100, 10)));
    assert_eq!(bench.load(["rows.csv", "-t", "t", "-q"]).status.code(), Some(0));
    assert_eq!(bench.count("t"), 100);
}

fn partitions_are_made_for_compressed_rows(server: Server) {
    let bench = Bench::new(server);
    bench.make_table();
    bench.file("rows.csv.gz", gzip(b"5,a\n105,b\n125,c\n"));
    let ended = bench.load(["rows.csv.gz", "-t", "t", "-q", "--create-partitions"]);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert_eq!(bench.count("t"), 3);
}
