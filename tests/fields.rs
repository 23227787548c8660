//! COPY's options for single fields, and headers of several lines: a load stores the same values as the
//! server's COPY, or refuses the input with the same SQLSTATE.

use crate::harness::{Bench, Server, on_each_server};

on_each_server!([
    fields_are_read_as_copy_reads_them,
    defaults_are_those_of_copy,
    several_lines_may_be_a_header,
    options_are_refused_as_copy_refuses_them,
]);

/// Opens a database with a table for the server's COPY and one for loads, both partitioned by a key that may be NULL.
fn bench(server: Server) -> Bench {
    let bench = Bench::new(server);
    for table in ["theirs", "ours"] {
        bench.session.run(&format!(
            "CREATE TABLE {table} (k text DEFAULT 'b', v text DEFAULT 'fresh', n int DEFAULT 7)
                 PARTITION BY LIST (k);
             CREATE TABLE {table}_a PARTITION OF {table} FOR VALUES IN ('a');
             CREATE TABLE {table}_b PARTITION OF {table} FOR VALUES IN ('b');
             CREATE TABLE {table}_empty PARTITION OF {table} FOR VALUES IN ('');
             CREATE TABLE {table}_null PARTITION OF {table} FOR VALUES IN (NULL)"
        ));
    }
    bench
}

const ROWS: &str = "SELECT replace(tableoid::regclass::text, 'theirs', 'ours'), k, v, n FROM ";

/// Loads rows with COPY and with pgsluice, as a small load and leaf by leaf, and compares the stored rows or
/// the errors.
fn same(bench: &Bench, input: &str, copy: &str, options: &[&str]) {
    let statement = format!("COPY theirs FROM STDIN WITH ({copy})");
    let theirs = bench.session.copy_in(&statement, input.as_bytes().to_vec());
    bench.file("rows", input);
    for way in [&[][..], &["--few-rows=0"]] {
        let ended = bench.load([&["rows", "-t", "ours", "-q"], options, way].concat());
        match &theirs {
            Ok(_) => assert_eq!(ended.status.code(), Some(0), "{options:?} {way:?}: {ended:?}"),
            Err(error) => {
                let code = error.code().unwrap().code();
                ended.fails(1, &[&format!("(SQLSTATE {code})")]);
            }
        }
        let [theirs, ours] = ["theirs", "ours"]
            .map(|table| bench.session.rows(&format!("{ROWS}{table} ORDER BY 1, 2, 3, 4")));
        assert_eq!(theirs, ours, "{options:?} {way:?}");
        bench.session.run("TRUNCATE ours");
    }
    bench.session.run("TRUNCATE theirs");
}

fn fields_are_read_as_copy_reads_them(server: Server) {
    let bench = bench(server);
    let input = "a,\"\",1\nb,,2\n\"\",x,3\n,y,4\n";
    for (copy, options) in [
        ("FORMAT csv", &["--format=csv"][..]),
        ("FORMAT csv, FORCE_NULL (v)", &["--format=csv", "--force-null=v"]),
        ("FORMAT csv, FORCE_NULL (k, v)", &["--format=csv", "--force-null=k,v"]),
        ("FORMAT csv, FORCE_NULL (k, v, n)", &["--format=csv", "--force-null", "*"]),
        ("FORMAT csv, FORCE_NOT_NULL (v)", &["--format=csv", "--force-not-null=v"]),
        ("FORMAT csv, FORCE_NOT_NULL (k)", &["--format=csv", "--force-not-null=k"]),
        ("FORMAT csv, FORCE_NOT_NULL (k, v, n)", &["--format=csv", "--force-not-null", "*"]),
        (
            "FORMAT csv, FORCE_NULL (v), FORCE_NOT_NULL (k)",
            &["--format=csv", "--force-null=v", "--force-not-null=k"],
        ),
    ] {
        same(&bench, input, copy, options);
    }
    let ended = bench.load(["rows", "-t", "ours", "--format=csv", "--force-null=none"]);
    ended.fails(1, &["column \"none\"", "(SQLSTATE 42703)"]);
    assert_eq!(bench.count("ours"), 0);
}

fn defaults_are_those_of_copy(server: Server) {
    let bench = bench(server);
    let csv = "a,\\D,1\n\\D,x,\\D\n\"\\D\",y,2\n";
    let text = "a\t\\D\t1\n\\D\tx\t\\D\nb\t\\N\t3\n";
    if server.major() < 16 {
        bench.file("rows", csv);
        let ended = bench.load(["rows", "-t", "ours", "--format=csv", "--default=\\D"]);
        ended.fails(2, &["COPY DEFAULT needs PostgreSQL 16 or later", "(SQLSTATE 0A000)", "HINT"]);
        assert_eq!(bench.count("ours"), 0);
        return;
    }
    same(&bench, csv, "FORMAT csv, DEFAULT '\\D'", &["--format=csv", "--default=\\D"]);
    same(&bench, text, "FORMAT text, DEFAULT '\\D'", &["--default=\\D"]);
    bench
        .session
        .run("ALTER TABLE ours ALTER v DROP DEFAULT; ALTER TABLE theirs ALTER v DROP DEFAULT");
    same(&bench, csv, "FORMAT csv, DEFAULT '\\D'", &["--format=csv", "--default=\\D"]);
}

fn several_lines_may_be_a_header(server: Server) {
    let bench = bench(server);
    for lines in 0..3 {
        let header = ["# by hand\n", "k,v,n\n"][..lines].concat();
        bench.file("rows.csv", format!("{header}a,x,1\nb,y,2\n"));
        let ended = bench.load(["rows.csv", "-t", "ours", "-q", &format!("--header={lines}")]);
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        assert_eq!(bench.count("ours"), 2);
        bench.session.run("TRUNCATE ours");
    }
    bench.file("rows.csv", "# by hand\nk,v,n\na,x,1\nb,y,bad\n");
    let ended = bench.load([
        "rows.csv",
        "-t",
        "ours",
        "-q",
        "--header=2",
        "--reject-file=bad.csv",
        "--max-rejects=1",
    ]);
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    let rejected = std::fs::read_to_string(bench.path("bad.csv")).unwrap();
    assert_eq!(rejected, "# by hand\nk,v,n\nb,y,bad\n");
}

fn options_are_refused_as_copy_refuses_them(server: Server) {
    let bench = bench(server);
    bench.file("rows", "a\tb\t1\n");
    for (options, message) in [
        (&["--force-null=v"][..], "COPY FORCE_NULL requires CSV mode"),
        (&["--force-not-null=v"], "COPY FORCE_NOT_NULL requires CSV mode"),
        (
            &["--default=a\tb"],
            "COPY delimiter character must not appear in the DEFAULT specification",
        ),
        (&["--default=\\N"], "NULL specification and DEFAULT specification cannot be the same"),
        (
            &["--format=csv", "--default=\""],
            "CSV quote character must not appear in the DEFAULT specification",
        ),
    ] {
        bench.load([&["rows", "-t", "ours"], options].concat()).fails(2, &[message]);
    }
}
