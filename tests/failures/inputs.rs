//! Inputs that are missing, may not be read, are empty, or are no ordinary files.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;

use crate::harness::{Bench, Running, Server, on_each_server, program};

on_each_server!([
    what_cannot_be_found_is_named,
    what_may_not_be_read_is_named,
    inputs_without_rows_load_nothing,
    a_pipe_with_a_name_is_opened_once,
]);

fn what_cannot_be_found_is_named(server: Server) {
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

fn what_may_not_be_read_is_named(server: Server) {
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
    // Its header does not match: COPY says so as well.
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
        // Opens when the program does; were it to close it again, the second write would fail.
        let mut pipe = File::options().write(true).open(pipe).unwrap();
        pipe.write_all(b"1,a\n").unwrap();
        thread::sleep(std::time::Duration::from_millis(300));
        pipe.write_all(b"2,b\n").unwrap();
    });
    let ended = bench.load(["pipe", "-t", "t", "--format", "csv", "--json", "-q"]);
    assert_eq!(ended.summary()["rows_loaded"], 2);
    writer.join().unwrap();
}
