//! Inputs in other formats than COPY's: the table is the same, however the load is stopped, and errors in
//! them give their position.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use crate::harness::{
    Bench, Chance, Clean, FORMATS, MONTHS, Ordeal, Running, Server, Twins, inputs, kill,
    on_each_server, plain, program, write,
};

on_each_server!([
    files_are_loaded_as_what_they_hold,
    a_load_of_other_files_is_killed,
    the_first_transaction_is_a_part,
    rejected_rows_can_be_loaded_again,
    typed_rows_change_others,
    partitions_are_made_for_them,
    they_may_come_through_a_pipe,
    the_columns_of_files_are_those_of_the_table,
    statistics_say_which_partitions_may_get_rows,
    damaged_files_are_errors,
    files_of_several_formats_are_asked_about,
    options_of_copy_are_for_its_formats,
]);

const ROWS: usize = 30_000;

fn twins(server: Server, format: &str) -> Twins {
    let csv = inputs(ROWS, 3, plain);
    let mut twins = Twins::new(Bench::new(server), MONTHS, &csv);
    twins.files =
        twins.files.iter().zip(&csv).map(|(path, csv)| write(csv, path, format)).collect();
    twins
}

/// Returns the name of `format` in messages.
fn name(format: &str) -> &str {
    match format.split('.').next() {
        Some("parquet") => "parquet",
        Some("arrow") => "arrow",
        _ => "ndjson",
    }
}

fn files_are_loaded_as_what_they_hold(server: Server) {
    for format in FORMATS {
        let twins = twins(server, format);
        let summary = twins.start("l", &["-j", "2"]).ended().summary();
        twins.are_equal();
        assert_eq!(summary["rows_loaded"], ROWS, "{summary}");
        assert_eq!(summary["wire"], "binary", "{summary}");
        assert_eq!(summary["fallbacks"], serde_json::json!([]), "{format}");
        let note = format!("the input is read as {}", name(format));
        assert_eq!(summary["notes"][0], note, "{summary}");
        for command in ["plan", "verify"] {
            let mut command_line = program();
            command_line.args([command, "-t", "t", "-d", &twins.bench.url]);
            let ended = Running::start(command_line.args(&twins.files)).ended();
            assert_eq!(ended.status.code(), Some(0), "{ended:?}");
            assert!(command == "verify" || ended.stdout.contains(&note), "{ended:?}");
        }
        // Committed rows are not loaded again.
        let summary = twins.start("l", &["-j", "2"]).ended().summary();
        assert_eq!(summary["rows_already_loaded"], ROWS, "{summary}");
    }
}

fn a_load_of_other_files_is_killed(server: Server) {
    for format in FORMATS {
        let resumed = |(): ()| {
            let twins = twins(server, format);
            let url = twins.bench.url.clone();
            let mut ordeal = Ordeal::new(Clean::from_twins(twins, ROWS), Chance::new(), &url, &[]);
            ordeal.endure(5, kill).resumed
        };
        assert!((0..4).any(|_| resumed(()) > 0), "no load was killed in the middle: {format}");
    }
}

/// The first transaction has 8 MiB, even of an input whose positions are row numbers.
fn the_first_transaction_is_a_part(server: Server) {
    const ROWS: usize = 200_000;
    let csv = inputs(ROWS, 1, plain);
    for format in ["parquet", "arrow", "ndjson"] {
        let twins = Twins::new(Bench::new(server), MONTHS, &[]);
        let file = write(&csv[0], &twins.bench.folder.path().join("0.csv"), format);
        let mut load = program();
        load.args(["load", "-t", "public.t", "-d", &twins.bench.url, "-j", "1", "-q"]).arg(file);
        load.env("PGSLUICE_FAILPOINT", "payload::committed").stdin(Stdio::null());
        let ended = Running::start(&mut load).ended();
        assert_eq!(ended.status.signal(), Some(9), "{ended:?}");
        twins.bench.wait_for_sessions();
        let there = twins.bench.count("t");
        assert!(0 < there && there < ROWS as u64 / 2, "{format}: {there} rows are in");
    }
}

fn rejected_rows_can_be_loaded_again(server: Server) {
    let csv: String = (0..5000)
        .map(|row| format!("{},v{row}\n", if row % 1000 == 7 { 200 } else { row % 100 }))
        .collect();
    for format in FORMATS {
        let bench = Bench::with_table(server);
        let path = write(&format!("id,v\n{csv}"), &bench.path("rows.csv"), format);
        let file = path.file_name().unwrap().to_str().unwrap();
        let options = ["-t", "t", "--reject-file=bad.ndjson", "--max-rejects=100", "--json"];
        let summary = bench.load([&[file][..], &options].concat()).summary_of(3);
        assert_eq!(summary["rows_rejected"], 5, "{summary}");
        assert_eq!(bench.count("t"), 4995);
        let bad = fs::read_to_string(bench.path("bad.ndjson")).unwrap();
        assert_eq!(bad.lines().count(), 5, "{bad}");
        let log = fs::read_to_string(bench.path("bad.ndjson.log")).unwrap();
        let place = match name(format) {
            "ndjson" => "\"line\":1008,",
            "parquet" => "\"row_group\":2,\"line\":8,\"offset\":1007,",
            _ => "\"line\":1008,\"offset\":1007,",
        };
        assert!(log.contains(place), "{format}: {log}");
        bench.session.run("CREATE TABLE t_rest PARTITION OF t DEFAULT");
        let summary = bench.load(["bad.ndjson", "-t", "t", "--json"]).summary();
        assert_eq!(summary["rows_loaded"], 5);
        assert_eq!(bench.count("t_rest WHERE v IN ('v7', 'v1007', 'v2007', 'v3007', 'v4007')"), 5);
        // Without a reject file, the first bad row ends the load.
        let ended = bench.load([file, "-t", "t0"]);
        ended.fails(1, &["error: rows.", "\nHINT:  "]);
    }
}

fn typed_rows_change_others(server: Server) {
    let csv: String = (1..=4000).chain(1..=10).map(|id| format!("{id},new{id}\n")).collect();
    for format in FORMATS {
        let bench = Bench::new(server);
        bench.session.run(
            "CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY HASH (id);
             CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
             CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1);
             INSERT INTO t SELECT n, 'old' FROM generate_series(1, 4000) AS n WHERE n % 2 = 0",
        );
        let path = write(&format!("id,v\n{csv}"), &bench.path("rows.csv"), format);
        let file = path.to_str().unwrap();
        let summary = bench.load([file, "-t", "t", "--on-conflict=update", "--json"]).summary();
        let counts =
            ["inserted", "updated", "duplicate"].map(|name| summary["counts"][name].clone());
        assert_eq!(counts, [2000, 2000, 10], "{format}: {summary}");
        assert_eq!(bench.count("t WHERE v = 'new' || id"), 4000);
    }
}

fn partitions_are_made_for_them(server: Server) {
    for format in FORMATS {
        let bench = Bench::with_table(server);
        let path = write("id,v\n5,a\n105,b\n125,c\n", &bench.path("rows.csv"), format);
        let ended = bench.load([path.to_str().unwrap(), "-t", "t", "-q", "--create-partitions"]);
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        assert_eq!(bench.count("t"), 3);
    }
}

fn they_may_come_through_a_pipe(server: Server) {
    for format in FORMATS {
        let bench = Bench::with_table(server);
        let csv: String = (0..2000).map(|row| format!("{},v{row}\n", row % 100)).collect();
        let path = write(&format!("id,v\n{csv}"), &bench.path("rows.csv"), format);
        let option = format!("--format={}", name(format));
        let arguments = ["-", "-t", "t", &option, "--json", "--load-id", "l"];
        let bytes = fs::read(path).unwrap();
        for already in [0, 2000] {
            let mut load = bench.start(arguments, Stdio::piped());
            load.feed(&bytes);
            drop(load.child.stdin.take());
            let summary = load.ended().summary();
            assert_eq!(summary["rows_already_loaded"], already, "{format}: {summary}");
        }
        assert_eq!(bench.count("t"), 2000);
    }
}

fn the_columns_of_files_are_those_of_the_table(server: Server) {
    for format in ["parquet", "arrow"] {
        let bench = Bench::with_table(server);
        let [one, other] = [("a", "id,v\n1,x\n"), ("b", "id,w\n2,y\n")]
            .map(|(name, csv)| write(csv, &bench.path(name), format).display().to_string());
        let ended = bench.load([&*one, &*other, "-t", "t"]);
        ended.fails(
            1,
            &["b.", "has field \"w\", which matches no column of the table", "--ignore-extra"],
        );
        let ended = bench.load([&*other, "-t", "t"]);
        ended.fails(
            1,
            &["the input has field \"w\", which matches no column of the table", "--ignore-extra"],
        );
        for options in [&["--map", "w=v"][..], &["--ignore-extra"]] {
            let summary = bench.load([&[&*other, "-t", "t", "--json"], options].concat()).summary();
            assert_eq!(summary["rows_loaded"], 1);
        }
        assert_eq!(bench.count("t WHERE id = 2 AND v IS NULL OR v = 'y'"), 2);
    }
}

fn statistics_say_which_partitions_may_get_rows(server: Server) {
    let bench = Bench::with_table(server);
    for (name, csv) in [("a", "id,v\n23,x\n31,y\n"), ("b", "id,v\n40,x\n9,y\n")] {
        write(csv, &bench.path(name), "parquet");
    }
    let mut command = program();
    command.args(["plan", "-t", "t", "-d", &bench.url, "a.parquet", "b.parquet"]);
    let ended = Running::start(command.current_dir(bench.path(""))).ended();
    let message = "id ranges from 9 to 40 according to the file statistics: rows may go to 5 of 10 \
                partitions of public.t";
    assert!(ended.stdout.contains(message), "{ended:?}");
}

fn damaged_files_are_errors(server: Server) {
    let bench = Bench::with_table(server);
    let csv: String = (0..5000).map(|row| format!("{},v{row}\n", row % 100)).collect();
    for format in ["parquet", "arrow"] {
        let path = write(&format!("id,v\n{csv}"), &bench.path("rows.csv"), format);
        let file = path.file_name().unwrap().to_str().unwrap();
        let whole = fs::read(&path).unwrap();
        for length in [0, 3, 40, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            let ended = bench.load([file, "-t", "t", "-q"]);
            let message = format!("could not read {file} as {format}: ");
            ended.fails(1, &[&message]);
        }
        fs::write(&path, "id,v\n1,x\n").unwrap();
        bench.load([file, "-t", "t"]).fails(1, &[&format!("could not read {file} as {format}: ")]);
    }
    bench.file("rows.json", "[{\"id\": 1}]\n");
    bench
        .load(["rows.json", "-t", "t"])
        .fails(1, &["single JSON array", "jq -c '.[]' rows.json | "]);
    bench.file("rows.json", "{\n  \"id\": 1\n}\n");
    bench.load(["rows.json", "-t", "t"]).fails(1, &["rows.json:1: ", "jq -c . "]);
    bench.file("rows.json", "");
    let ended = bench.load(["rows.json", "-t", "t"]);
    assert!(ended.stderr.contains("the input has no rows"), "{ended:?}");
    assert_eq!(bench.count("t"), 0);
}

fn files_of_several_formats_are_asked_about(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", "1,x\n");
    write("id,v\n1,x\n", &bench.path("rows.csv"), "parquet");
    let ended = bench.load(["rows.csv", "rows.parquet", "-t", "t"]);
    ended.fails(1, &["rows.csv is csv or text, but rows.parquet is parquet", "--format"]);
    let ended = bench.load(["rows.parquet", "-t", "t", "--format=csv"]);
    ended.fails(1, &["rows.parquet is in parquet format", "--format parquet"]);
}

fn options_of_copy_are_for_its_formats(server: Server) {
    let bench = Bench::with_table(server);
    write("id,v\n1,x\n", &bench.path("rows.csv"), "parquet");
    for option in ["--header", "--delimiter=;", "--columns=id", "--null=x", "--encoding=latin1"] {
        bench.load(["rows.parquet", "-t", "t", option]).fails(2, &["parquet"]);
    }
}
