//! Inputs that are missing, unreadable, empty, or not ordinary files.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;

use flate2::write::GzEncoder;
use serde_json::Value;

use crate::harness::{Bench, Ended, Running, Server, on_each_server, program};

on_each_server!([
    missing_inputs_are_named,
    unreadable_inputs_are_named,
    inputs_without_rows_load_nothing,
    a_pipe_with_a_name_is_opened_once,
    entries_that_cannot_be_read_end_the_load,
    files_of_spark_are_left_out_of_a_directory,
    a_file_that_is_given_twice_is_loaded_once,
    foreign_files_are_refused_by_name,
    a_header_that_is_no_text_is_refused,
]);

/// Runs a command other than `load` in the folder.
fn run<I: AsRef<OsStr>>(
    bench: &Bench,
    command: &str,
    arguments: impl IntoIterator<Item = I>,
) -> Ended {
    let mut line = program();
    line.args([command, "-d", &bench.url]).args(arguments).current_dir(bench.folder.path());
    Running::start(line.stdin(Stdio::null())).ended()
}

fn missing_inputs_are_named(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("good.csv", "1,a\n");
    fs::create_dir(bench.path("empty")).unwrap();
    let no_such_file = "for reading: No such file or directory\nHINT:";
    let cases: [(&[&str], i32, &[&str]); 7] = [
        (&["good.csv", "no.csv"], 1, &["could not open file \"no.csv\"", no_such_file]),
        (&["no/x.csv"], 1, &[no_such_file]),
        (&["good.csv/x.csv"], 1, &["Not a directory"]),
        (&[""], 1, &[no_such_file]),
        (&["empty"], 1, &["directory \"empty\" has no files", "\nHINT:"]),
        (&["good.csv", "x*.csv"], 1, &["no file matches \"x*.csv\""]),
        (&["-", "-"], 2, &["standard input can be given only once"]),
    ];
    for (files, status, parts) in cases {
        bench.load(files.iter().copied().chain(["-t", "t"])).fails(status, parts);
    }
    assert_eq!(bench.count("t"), 0);
}

fn unreadable_inputs_are_named(server: Server) {
    const NOBODY: u32 = 65534;
    let bench = Bench::with_table(server);
    let folder = Permissions::from_mode(0o755);
    fs::set_permissions(bench.folder.path(), folder).unwrap();
    let closed = bench.file("closed.csv", "1,a\n");
    fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
    fs::create_dir(bench.path("closed")).unwrap();
    bench.file("closed/a.csv", "1,a\n");
    fs::set_permissions(bench.path("closed"), Permissions::from_mode(0o000)).unwrap();
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    for name in ["closed.csv", "closed", "closed/*.csv"] {
        let mut command = program();
        command.args(["load", "-t", "t", "-d", &bench.url]).arg(bench.path(name));
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.current_dir("/").stdin(Stdio::null());
        let ended = Running::start(&mut command).ended();
        ended.fails(1, &["could not open file", "for reading: Permission denied"]);
    }
    fs::set_permissions(bench.path("closed"), Permissions::from_mode(0o700)).unwrap();
}

fn inputs_without_rows_load_nothing(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("empty.csv", "");
    bench.file("header.csv", "id,v\n");
    for files in [
        &["empty.csv", "--header"][..],
        &["header.csv", "--header=match"],
        &["empty.csv", "header.csv", "--header"],
    ] {
        let ended = bench.load(files.iter().chain(&["-t", "t", "--json", "-q"]));
        assert_eq!(ended.summary()["rows_read"], 0);
        assert_eq!(ended.stderr, "pgsluice: warning: the input has no rows\n");
    }
    // The header does not match, and COPY refuses it too.
    bench
        .load(["header.csv", "empty.csv", "-t", "t", "--header=match"])
        .fails(1, &["empty.csv:1: wrong number of fields in header line: got 1, expected 2"]);
    let ended = bench.load(["/dev/null", "-t", "t", "--json"]);
    let summary = ended.summary();
    assert_eq!((&summary["leaves"], &summary["first_row"]), (&0.into(), &Value::Null));
    let ended = bench.load(["-", "-t", "t", "--json"]);
    assert_eq!(ended.summary()["rows_loaded"], 0, "standard input is closed");
}

fn a_pipe_with_a_name_is_opened_once(server: Server) {
    let bench = Bench::with_table(server);
    let pipe = bench.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = thread::spawn(move || {
        // Opening blocks until the program opens the pipe. If the program closed it again, the second write
        // would fail.
        let mut pipe = File::options().write(true).open(pipe).unwrap();
        pipe.write_all(b"1,a\n").unwrap();
        thread::sleep(std::time::Duration::from_millis(300));
        pipe.write_all(b"2,b\n").unwrap();
    });
    let ended = bench.load(["pipe", "-t", "t", "--format", "csv", "--json", "-q"]);
    assert_eq!(ended.summary()["rows_loaded"], 2);
    writer.join().unwrap();
}

fn entries_that_cannot_be_read_end_the_load(server: Server) {
    let bench = Bench::with_table(server);
    fs::create_dir(bench.path("days")).unwrap();
    bench.file("days/1.csv", "1,a\n");
    symlink("nowhere.csv", bench.path("days/2.csv")).unwrap();
    let message = [
        "could not open file \"days/2.csv\" for reading: No such file or directory",
        "DETAIL:  It is a symbolic link to \"nowhere.csv\".",
    ];
    for name in ["days", "days/*.csv", "days/2.csv"] {
        for command in ["load", "plan", "verify"] {
            run(&bench, command, [name, "-t", "t"]).fails(1, &message);
        }
    }
    assert_eq!(bench.count("t"), 0);
}

fn files_of_spark_are_left_out_of_a_directory(server: Server) {
    let bench = Bench::with_table(server);
    fs::create_dir_all(bench.path("out/_delta_log")).unwrap();
    for (name, text) in [
        ("out/_SUCCESS", ""),
        ("out/_metadata", "PAR1"),
        ("out/.part-0.csv.crc", "crc"),
        ("out/_delta_log/0.json", "{}"),
        ("out/part-0.csv", "id,v\n1,a\n"),
        ("out/part-1.csv", "id,v\n2,b\n"),
    ] {
        bench.file(name, text);
    }
    let ended = bench.load(["out", "-t", "t", "--header=map", "--json"]);
    let summary = ended.summary();
    assert_eq!(summary["rows_loaded"], 2);
    let note = "not read in out, because their names begin with _ or .: \
                .part-0.csv.crc, _SUCCESS, _delta_log, _metadata";
    assert_eq!(summary["notes"], serde_json::json!([note]));
    let planned = run(&bench, "plan", ["out", "-t", "t", "--header=map"]);
    assert!(planned.stdout.contains(note), "{planned:?}");
    // A file that is named explicitly is read.
    bench.load(["out/_metadata", "-t", "t"]).fails(1, &["_metadata"]);
}

fn a_file_that_is_given_twice_is_loaded_once(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("a.csv", "1,a\n");
    bench.file("b.csv", "2,b\n");
    let warning = "pgsluice: warning: given more than once, but read only once: a.csv";
    for files in [&["*.csv", "a.csv"][..], &["a.csv", "a.csv", "b.csv"], &["a*", "?.csv"]] {
        bench.session.run("TRUNCATE t");
        let ended = bench.load(files.iter().chain(&["-t", "t", "-q", "--json"]));
        assert_eq!(ended.summary()["rows_loaded"], 2, "{files:?}");
        assert!(ended.stderr.contains(warning), "{ended:?}");
        let verified = run(&bench, "verify", files.iter().chain(&["-t", "t"]));
        assert!(verified.stderr.contains(warning), "{verified:?}");
        assert_eq!(verified.status.code(), Some(0), "{verified:?}");
        let planned = run(&bench, "plan", files.iter().chain(&["-t", "t"]));
        assert!(planned.stdout.contains("given more than once, but read only once"), "{planned:?}");
    }
    fs::hard_link(bench.path("a.csv"), bench.path("c.csv")).unwrap();
    bench.load(["*.csv", "-t", "t"]).fails(1, &["\"a.csv\" and \"c.csv\" are two links"]);
    assert_eq!(bench.count("t"), 2);
}

/// The beginnings of files in other formats, and the names of the formats in messages.
const FOREIGN: [(&[u8], &str); 9] = [
    (b"Obj\x01\x02\x16avro.schema\xe0\x01", "an Avro file"),
    (b"ORC\x11\0\0\n\x06\x12\x04\x08\x03P\0+\0\0", "an ORC file"),
    (b"ORC\n\x06\x12\x04\x08\x03P\0\n\x12", "an ORC file"),
    (b"SQLite format 3\0\x10\0\x01\x01", "an SQLite database"),
    (b"\x12\x1f@X\xf2\xc4\xec\x12DUCK\x40\0\0\0\0\0\0\0", "a DuckDB database"),
    (b"PGDMP\x01\x10\0\x04\x08\x01", "a pg_dump archive"),
    (b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\xff\xff", "in COPY's binary format"),
    (b"--\n-- PostgreSQL database dump\n--\n\n", "a pg_dump SQL script"),
    (b"BZh11AY&SY\x12\x34\x56", "compressed with bzip2"),
];

fn foreign_files_are_refused_by_name(server: Server) {
    let bench = Bench::with_table(server);
    for (bytes, name) in FOREIGN {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        bench.file("plain", bytes);
        bench.file("packed", encoder.finish().unwrap());
        for options in [&[][..], &["--header"], &["--header=map"]] {
            for file in ["plain", "packed"] {
                let options: &[&str] = options;
                let load = [&[file, "-t", "t"], options].concat();
                bench.load(load).fails(1, &[&format!("{file} is {name}"), "\nHINT:  "]);
            }
            let mut piped = bench.start([&["-", "-t", "t"], options].concat(), Stdio::piped());
            piped.feed(bytes);
            drop(piped.child.stdin.take());
            piped.ended().fails(1, &[&format!("<stdin> is {name}"), "\nHINT:  "]);
        }
        bench.file("good.csv", "1,a\n");
        let two = ["good.csv", "plain", "-t", "t", "--delimiter", ",", "--atomic"];
        bench.load(two).fails(1, &[&format!("plain is {name}")]);
    }
    assert_eq!(bench.count("t"), 0);
    // With an explicit format, the lines are read as data.
    bench.session.run("CREATE TABLE lines (line text) PARTITION BY HASH (line)");
    bench
        .session
        .run("CREATE TABLE l0 PARTITION OF lines FOR VALUES WITH (MODULUS 1, REMAINDER 0)");
    bench.file("dump.sql", "--\n-- PostgreSQL database dump\n--\n");
    let ended = bench.load(["dump.sql", "-t", "lines", "--format", "text", "--json"]);
    assert_eq!(ended.summary()["rows_loaded"], 3);
}

fn a_header_that_is_no_text_is_refused(server: Server) {
    let bench = Bench::with_table(server);
    for (file, message) in [
        (
            &b"\x01\x02 unknown \0 bytes"[..],
            "x:1: invalid byte sequence for encoding \"UTF8\": 0x00",
        ),
        (b"id,v\0\n1,a\n", "x:1: invalid byte sequence for encoding \"UTF8\": 0x00"),
    ] {
        bench.file("x", file);
        bench.load(["x", "-t", "t", "--header", "--format=csv"]).fails_empty(&[message]);
        let copied = bench.session.copy_in("COPY t FROM STDIN (FORMAT csv, HEADER)", file.to_vec());
        assert_eq!(copied.unwrap_err().code().unwrap().code(), "22021");
    }
}
