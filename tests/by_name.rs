//! Columns by name: each field goes to the column that the header names, in any order. Fields that match no
//! column are refused or ignored.

use std::process::{Command, Stdio};

use crate::harness::{Bench, Ended, Running, Server, on_each_server, program, wait_until};

on_each_server!([
    fields_go_to_the_columns_of_their_names,
    fields_that_are_no_columns_are_left_out,
    names_may_differ,
    names_without_a_column_are_refused_before_a_row_is_read,
    a_pipe_has_a_header_as_well,
    a_silent_pipe_is_not_waited_for,
    all_inputs_have_the_same_header,
    rejected_rows_are_an_input,
    a_load_is_resumed_by_the_same_names_only,
    rows_may_be_deleted_by_a_field_of_a_name,
    rows_of_another_length_are_refused,
]);

/// Row counts of a small load and of a larger one.
const COUNTS: [usize; 2] = [20, 30_000];

fn bench(server: Server) -> Bench {
    let bench = Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (id int NOT NULL, day date DEFAULT '2026-01-01', \"Full name\" text)
             PARTITION BY HASH (id);
         CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    );
    bench
}

fn file(bench: &Bench, header: &str, count: usize, row: impl Fn(usize) -> String) {
    let rows: String = (0..count).map(|id| row(id) + "\n").collect();
    bench.file("rows.csv", format!("{header}\n{rows}"));
}

fn load(bench: &Bench, options: &[&str]) -> Ended {
    bench.load([&["rows.csv", "-t", "t", "--json"], options].concat())
}

/// Returns the number of rows with the expected values.
fn good(bench: &Bench) -> u64 {
    bench.count("t WHERE day = date '2026-01-01' + id % 7 AND \"Full name\" = 'n' || id")
}

fn day(id: usize) -> String {
    format!("2026-01-0{}", 1 + id % 7)
}

fn fields_go_to_the_columns_of_their_names(server: Server) {
    let bench = bench(server);
    for count in COUNTS {
        file(&bench, "Full name,id,day", count, |id| format!("n{id},{id},{}", day(id)));
        load(&bench, &["--header=map"]).summary();
        assert_eq!(good(&bench), count as u64);
        bench.session.run("TRUNCATE t");
        // Columns that are missing in the input get their defaults.
        file(&bench, "Full name,id", count, |id| format!("n{id},{id}"));
        load(&bench, &["--header=map"]).summary();
        assert_eq!(bench.count("t WHERE day = '2026-01-01'"), count as u64);
        bench.session.run("TRUNCATE t");
    }
}

fn fields_that_are_no_columns_are_left_out(server: Server) {
    let bench = bench(server);
    for options in [&[][..], &["--wire=text"], &["--few-rows=0", "-j2"], &["--no-native"]] {
        for count in COUNTS {
            file(&bench, "x,id,\"y z\",Full name,day,w", count, |id| {
                format!("\"a,\"\"{id}\",{id},\"line\nbreak\",\"n{id}\",{},", day(id))
            });
            let summary = load(&bench, &[options, &["--ignore-extra"]].concat()).summary();
            assert_eq!(summary["notes"], serde_json::json!(["ignored fields: x, y z, w"]));
            assert_eq!(good(&bench), count as u64, "{options:?}");
            let mut verify = program();
            verify.args(["verify", "rows.csv", "-t", "t", "--ignore-extra", "-d", &bench.url]);
            let verified = Running::start(verify.current_dir(bench.folder.path())).ended();
            assert_eq!(verified.status.code(), Some(0), "{verified:?}");
            bench.session.run("TRUNCATE t");
        }
    }
    let text = "w\tFull name\tid\tday\na\\\tb\tn3\t3\t2026-01-04\n";
    bench.file("rows.txt", text);
    bench.load(["rows.txt", "-t", "t", "--ignore-extra", "--json"]).summary();
    assert_eq!(good(&bench), 1);
}

fn names_may_differ(server: Server) {
    let bench = bench(server);
    for count in COUNTS {
        file(&bench, "kunde=name,ID,DAY", count, |id| format!("n{id},{id},{}", day(id)));
        let summary = load(&bench, &["--map", "kunde=name=\"Full name\""]).summary();
        let notes =
            ["field \"ID\" is loaded into column id", "field \"DAY\" is loaded into column day"];
        assert_eq!(summary["notes"], serde_json::json!(notes));
        assert_eq!(good(&bench), count as u64);
        bench.session.run("TRUNCATE t");
    }
    let mut plan = program();
    plan.args(["plan", "rows.csv", "-t", "t", "--map", "kunde=name=\"Full name\""]);
    let plan = plan.args(["-d", &bench.url]).current_dir(bench.folder.path());
    let planned = Running::start(plan).ended();
    assert!(planned.stdout.contains("field \"ID\" is loaded into column id"), "{planned:?}");
    assert!(planned.stdout.contains("columns  Full name, id, day"), "{planned:?}");
}

fn names_without_a_column_are_refused_before_a_row_is_read(server: Server) {
    let bench = bench(server);
    for (header, options, message) in [
        (
            "id,nope",
            &["--header=map"][..],
            &["the input has field \"nope\"", "(SQLSTATE 42703)"][..],
        ),
        ("id,id", &["--header=map"], &["the input has field \"id\" more than once", "42701"]),
        ("id;day", &["--header=map"], &["no column of the table", "--delimiter ';'"]),
        (
            "id,days",
            &["--header=map"],
            &["If the column has another name in the input: ", "--map days=day"],
        ),
        ("id,x", &["--map=y=day"], &["the input has no field \"y\"", "It has: id, x."]),
        (
            "id,x",
            &["--map=x=nope"],
            &["column \"nope\" does not exist", "The columns are: id, day"],
        ),
        ("a,b", &["--ignore-extra"], &["the input has field \"a\", which matches no column"]),
    ] {
        for count in COUNTS {
            file(&bench, header, count, |id| format!("{id},2026-01-01"));
            load(&bench, options).fails(1, message);
        }
    }
    bench.file("rows.csv", ",,\n1,,\n");
    load(&bench, &["--header=map"]).fails(1, &["does not begin with column names"]);
    file(&bench, "id", 1, |id| id.to_string());
    load(&bench, &["--header=map", "--columns=id"])
        .fails(2, &["--columns is for fields in a fixed"]);
    load(&bench, &["--header", "--map=x=id"]).fails(2, &["need --header=map"]);
    assert_eq!(bench.count("t"), 0);
}

fn a_pipe_has_a_header_as_well(server: Server) {
    let bench = bench(server);
    for count in COUNTS {
        file(&bench, "x,Full name,id,day", count, |id| format!(",n{id},{id},{}", day(id)));
        for program_line in ["cat rows.csv", "gzip -c rows.csv"] {
            let mut shell = Command::new("sh");
            let load = program();
            let load = load.get_program().display();
            let line = format!(
                "{program_line} | {load} load - -t t --format csv --ignore-extra --json -d '{}'",
                bench.url
            );
            let shell = shell.args(["-c", &line]).current_dir(bench.folder.path());
            Running::start(shell).ended().summary();
            assert_eq!(good(&bench), count as u64);
            bench.session.run("TRUNCATE t");
        }
    }
}

fn a_silent_pipe_is_not_waited_for(server: Server) {
    let bench = bench(server);
    let load = bench.start(["-", "-t", "t", "--header=map"], Stdio::piped());
    let status = format!("/proc/{}/status", load.child.id());
    // Without this, the load would end before it starts to wait.
    wait_until("a program that handles SIGINT", || {
        let status = std::fs::read_to_string(&status).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0)
    });
    load.signal("-INT");
    assert_eq!(load.ended().status.code(), Some(130));
}

fn all_inputs_have_the_same_header(server: Server) {
    let bench = bench(server);
    bench.file("a.csv", "id,day\n1,2026-01-01\n");
    bench.file("b.csv", "day,id\n2026-01-01,2\n");
    let ended = bench.load(["a.csv", "b.csv", "-t", "t", "--header=map"]);
    ended
        .fails(1, &["b.csv:1: column name mismatch in header line field 1", "header as the first"]);
    assert_eq!(bench.count("t"), 0);
    bench.file("b.csv", "id,day\n2,2026-01-01\n");
    bench.load(["a.csv", "b.csv", "-t", "t", "--header=map", "--json"]).summary();
    assert_eq!(bench.count("t"), 2);
}

fn rejected_rows_are_an_input(server: Server) {
    let bench = bench(server);
    for options in [&[][..], &["--wire=text"]] {
        file(&bench, "x,Full name,id,day", 5000, |id| {
            let bad = if id % 1000 == 7 { "bad" } else { "" };
            format!("{id},n{id},{bad}{id},{}", day(id))
        });
        let rejecting = ["--ignore-extra", "--reject-file=bad.csv", "--max-rejects=9"];
        let summary = load(&bench, &[&rejecting[..], options].concat()).summary_of(3);
        assert_eq!(summary["rows_rejected"], 5, "{summary}");
        let bad = std::fs::read_to_string(bench.path("bad.csv")).unwrap();
        assert!(
            bad.starts_with("Full name,id,day\n") && bad.contains("\nn7,bad7,2026-01-01\n"),
            "{bad}"
        );
        bench.file("mended.csv", bad.replace(",bad", ","));
        bench.load(["mended.csv", "-t", "t", "--ignore-extra", "--json"]).summary();
        assert_eq!(good(&bench), 5000);
        bench.session.run("TRUNCATE t");
        for file in ["bad.csv", "bad.csv.log"] {
            std::fs::remove_file(bench.path(file)).unwrap();
        }
    }
}

fn a_load_is_resumed_by_the_same_names_only(server: Server) {
    let bench = bench(server);
    file(&bench, "a,b", 3000, |id| format!("{id},{}", id + 1));
    let id = ["--load-id=l", "--ignore-extra"];
    load(&bench, &[&id[..], &["--map=a=id"]].concat()).summary();
    let again = load(&bench, &[&id[..], &["--map=a=id"]].concat()).summary();
    assert_eq!(again["rows_already_loaded"], 3000);
    load(&bench, &[&id[..], &["--map=b=id"]].concat())
        .fails(1, &["this load was begun with --map \"a=id\", and is resumed with --map \"b=id\""]);
}

fn rows_may_be_deleted_by_a_field_of_a_name(server: Server) {
    let bench = bench(server);
    bench.session.run("ALTER TABLE t ADD PRIMARY KEY (id)");
    bench.session.run("INSERT INTO t SELECT n FROM generate_series(0, 9) AS n");
    file(&bench, "gone,day,x,id", 10, |id| format!("{},{},,{id}", id % 2 == 0, day(id)));
    let options = ["--ignore-extra", "--on-conflict=update", "--delete-when=gone"];
    let summary = load(&bench, &options).summary();
    assert_eq!((&summary["counts"]["deleted"], &summary["rows_loaded"]), (&5.into(), &9.into()));
    assert_eq!(bench.count("t WHERE id % 2 = 1"), 5);
}

fn rows_of_another_length_are_refused(server: Server) {
    let bench = bench(server);
    for row in ["1", "1,2026-01-01", "1,2026-01-01,n,x,y"] {
        for header in ["id,day,Full name,x", "id,day,x,Full name", "x,id,day,Full name"] {
            bench.file("rows.csv", format!("{header}\n{row}\n"));
            load(&bench, &["--ignore-extra"]).fails(1, &["rows.csv:", "(SQLSTATE 22P0"]);
        }
    }
    assert_eq!(bench.count("t"), 0);
}
