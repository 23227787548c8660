//! `--header`: the first row is skipped if it is a header. A row of data, or column names in another order,
//! are refused before any row is loaded.

use std::process::Command;

use crate::harness::{Bench, Ended, Running, Server, on_each_server, program};

on_each_server!([
    names_in_another_order_are_refused,
    names_in_order_and_titles_are_left_out,
    the_hint_takes_fields_by_their_names,
    files_have_one_header,
    a_number_leaves_out_whatever_is_there,
    empty_files_have_no_header,
    a_name_that_comes_twice,
]);

/// Options of a small load, and of one leaf by leaf.
const WAYS: [&[&str]; 2] = [&[], &["--few-rows=0"]];

fn bench(server: Server) -> Bench {
    let bench = Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (id int NOT NULL, a text, b text, up text GENERATED ALWAYS AS (upper(a)) STORED)
             PARTITION BY HASH (id);
         CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    );
    bench
}

fn load(bench: &Bench, options: &[&str]) -> Ended {
    bench.load([&["-t", "t", "--json"], options].concat())
}

/// Runs another command with the same input.
fn run(bench: &Bench, command: &str, options: &[&str]) -> Ended {
    let mut line = program();
    line.args([command, "-t", "t", "-d", &bench.url]).args(options);
    Running::start(line.current_dir(bench.folder.path())).ended()
}

fn names_in_another_order_are_refused(server: Server) {
    let bench = bench(server);
    let message = ["column name mismatch in header line field", "another order", "--header=map"];
    for (header, columns) in [
        ("id,b,a", None),
        ("ID,\"B\",A", None),
        ("b,id", None),
        ("id,up,b", None),
        ("id,title,a", None),
        ("id,a,b", Some("id,b,a")),
        ("id,a", Some("id,b")),
    ] {
        bench.file("rows.csv", format!("{header}\n1,x,y\n"));
        let columns = columns.map(|columns| format!("--columns={columns}"));
        let given: Vec<&str> =
            ["rows.csv", "--header"].into_iter().chain(columns.as_deref()).collect();
        for way in WAYS {
            load(&bench, &[&given, way].concat()).fails(1, &message);
        }
        for command in ["plan", "verify"] {
            let ended = run(&bench, command, &given);
            assert_eq!(ended.status.code(), Some(1), "{command} {header}: {ended:?}");
            assert!(ended.stderr.contains(message[0]), "{ended:?}");
        }
        assert_eq!(bench.count("t"), 0);
    }
    bench.file("rows.txt", "id\tb\ta\n1\tx\ty\n");
    load(&bench, &["rows.txt", "--header"]).fails(1, &message);
    let pipe = format!(
        "gzip -c rows.txt | {} load - --header -t t -d '{}'",
        program().get_program().display(),
        bench.url
    );
    let mut shell = Command::new("sh");
    let ended = Running::start(shell.args(["-c", &pipe]).current_dir(bench.folder.path())).ended();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(ended.stderr.contains(message[0]), "{ended:?}");
    assert_eq!(bench.count("t"), 0);
}

fn names_in_order_and_titles_are_left_out(server: Server) {
    let bench = bench(server);
    for header in ["id,a,b", "Id,A,B", "No.,Text,Remark", "id,Text,Remark", "1,2,3"] {
        bench.file("rows.csv", format!("{header}\n1,x,y\n"));
        for way in WAYS {
            load(&bench, &[&["rows.csv", "--header"], way].concat()).summary();
            assert_eq!(bench.count("t WHERE id = 1 AND a = 'x' AND b = 'y'"), 1, "{header}");
            bench.session.run("TRUNCATE t");
        }
    }
}

fn the_hint_takes_fields_by_their_names(server: Server) {
    let bench = bench(server);
    for (text, stored) in [
        ("b,id,a\ny,1,x\n", "id = 1 AND a = 'x' AND b = 'y'"),
        ("b,id\ny,1\n", "id = 1 AND a IS NULL AND b = 'y'"),
        // The rows of this file have too few fields.
        ("id,a\n1,x\n2,z\n", "id = 1 AND a = 'x' AND b IS NULL"),
    ] {
        bench.file("rows.csv", text);
        let failed = run(&bench, "load", &["rows.csv", "--header"]);
        let hint = failed.stderr.lines().find_map(|line| line.split_once(": pgsluice "));
        let (_, command) = hint.unwrap_or_else(|| panic!("no command: {failed:?}"));
        assert!(command.ends_with("--header=map"), "{failed:?}");
        load(&bench, &["rows.csv", "--header=map"]).summary();
        assert_eq!(bench.count(&format!("t WHERE {stored}")), 1, "{text}");
        bench.session.run("TRUNCATE t");
    }
}

fn files_have_one_header(server: Server) {
    let bench = bench(server);
    bench.file("1.csv", "No.,Text,Remark\n1,x,y\n");
    for (first_row, message) in [
        ("3,x,y", "the first row of 2.csv is not the header of 1.csv"),
        ("id,a,b", "the first row of 2.csv is not the header of 1.csv"),
        ("No.,Remark,Text", "the first row is \"No.\", \"Remark\", \"Text\""),
    ] {
        bench.file("2.csv", format!("{first_row}\n4,x,y\n"));
        for way in WAYS {
            load(&bench, &[&["1.csv", "2.csv", "--header"], way].concat())
                .fails(1, &["2.csv:1: ", message, "--header=1"]);
        }
        for command in ["plan", "verify"] {
            let ended = run(&bench, command, &["1.csv", "2.csv", "--header"]);
            assert!(ended.stderr.contains(message), "{command}: {ended:?}");
        }
        assert_eq!(bench.count("t"), 0);
    }
    bench.file("2.csv", "\"No.\",Text,\"Remark\"\n2,x,y\n");
    load(&bench, &["1.csv", "2.csv", "--header"]).summary();
    assert_eq!(bench.count("t"), 2);
    let pipe = format!(
        "mkfifo p.csv && (cat 1.csv; sleep 0.2) > p.csv & sleep 0.1; printf '7,x,y\\n8,x,y\\n' |
         {} load p.csv - --format csv --header -t t -d '{}'",
        program().get_program().display(),
        bench.url
    );
    let mut shell = Command::new("sh");
    let ended = Running::start(shell.args(["-c", &pipe]).current_dir(bench.folder.path())).ended();
    assert!(ended.stderr.contains("the first row of <stdin> is not the header"), "{ended:?}");
    assert_eq!(bench.count("t WHERE id > 6"), 0);
}

fn a_number_leaves_out_whatever_is_there(server: Server) {
    let bench = bench(server);
    bench.file("1.csv", "id,b,a\n1,x,y\n");
    bench.file("2.csv", "3,x,y\n4,x,y\n");
    let id = ["1.csv", "2.csv", "--load-id=l"];
    load(&bench, &[&id[..], &["--header"]].concat()).fails(1, &["--header=1"]);
    for way in WAYS {
        load(&bench, &[&["1.csv", "2.csv", "--header=1"], way].concat()).summary();
        assert_eq!(bench.count("t WHERE a = 'x' AND b = 'y'"), 2);
        bench.session.run("TRUNCATE t");
    }
    load(&bench, &[&id[..], &["--header=1"]].concat()).summary();
    assert_eq!(bench.count("t"), 2, "both leave out one row: the load goes on");
}

fn empty_files_have_no_header(server: Server) {
    let bench = bench(server);
    bench.file("empty.csv", "");
    bench.file("full.csv", "b,id\ny,1\n");
    for files in [["empty.csv", "full.csv"], ["full.csv", "empty.csv"]] {
        for map in [&[][..], &["--map=b=b"]] {
            load(&bench, &[&files[..], &["--header=map"], map].concat()).summary();
            assert_eq!(bench.count("t WHERE id = 1 AND b = 'y'"), 1, "{files:?}");
            bench.session.run("TRUNCATE t");
        }
    }
    for header in ["--header", "--header=map"] {
        let summary = load(&bench, &["empty.csv", header]).summary();
        assert_eq!(summary["warnings"], serde_json::json!(["the input has no rows"]));
        for command in ["plan", "verify"] {
            let ended = run(&bench, command, &["empty.csv", header]);
            assert_eq!(ended.status.code(), Some(0), "{command}: {ended:?}");
        }
    }
    load(&bench, &["empty.csv", "--header=match"]).fails(1, &["wrong number of fields"]);
}

fn a_name_that_comes_twice(server: Server) {
    let bench = bench(server);
    bench.file("rows.csv", "id,b,zz,zz\n1,x,y,z\n");
    let summary = load(&bench, &["rows.csv", "--ignore-extra"]).summary();
    assert_eq!(summary["extra_names"], serde_json::json!(["zz"]));
    assert_eq!(summary["extra_names_count"], 1);
    assert_eq!(bench.count("t WHERE id = 1 AND b = 'x'"), 1);
    bench.file("rows.csv", "id,b,b\n2,x,y\n");
    let message =
        ["the input has field \"b\" more than once", "use --columns and --header instead of"];
    load(&bench, &["rows.csv", "--ignore-extra"]).fails(1, &message);
    load(&bench, &["rows.csv", "--columns=id,a,b", "--header"]).summary();
    assert_eq!(bench.count("t WHERE id = 2 AND a = 'x' AND b = 'y'"), 1);
}
