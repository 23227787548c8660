//! The id of a load: the load that it finds, conflicts that are refused, and other loads with the same id.

use std::process::{Command, Stdio};

use crate::harness::{
    Bench, Ended, MONTHS, Running, Server, Twins, WAITS, inputs, on_each_server, plain, program,
    rows, wait_until,
};

on_each_server!([
    a_finished_load_is_not_loaded_again,
    a_load_that_is_not_the_same_is_refused,
    an_error_names_the_command_that_resumes,
    the_later_of_two_runs_is_refused,
    two_runs_that_begin_at_once_are_one,
    another_run_is_ended_as_asked,
    a_load_that_runs_is_not_forgotten,
    several_loads_make_the_ledger_at_once,
    without_a_ledger_nothing_is_made_and_nothing_resumed,
    who_may_not_make_a_schema_is_told_what_to_do,
    a_schema_of_somebody_elses_is_left_alone,
    one_statement_is_in_as_a_whole_or_not_at_all,
    ids_that_make_no_sense,
]);

const ROWS: usize = 40_000;

fn twins(server: Server) -> Twins {
    Twins::new(Bench::new(server), MONTHS, &inputs(ROWS, 2, plain))
}

fn ledger(bench: &Bench, arguments: &[&str]) -> Ended {
    let mut command = program();
    command.arg("ledger").args(arguments).args(["-d", &bench.url]);
    Running::start(command.stdin(Stdio::null())).ended()
}

fn a_finished_load_is_not_loaded_again(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    for (id, count) in [("few", 20), ("many", 2000)] {
        bench.session.run("TRUNCATE t");
        bench.file("rows.csv", rows(count, 10));
        let load = || bench.load(["rows.csv", "-t", "t", "--json", "--load-id", id]).summary();
        assert_eq!(load()["rows_loaded"], count);
        for _ in 0..2 {
            let again = load();
            assert_eq!((&again["rows_loaded"], &again["load_id"]), (&0.into(), &id.into()));
            assert_eq!(again["rows_already_loaded"], count);
        }
        assert_eq!(bench.count("t"), count as u64);
        let message = bench.load(["rows.csv", "-t", "t", "--load-id", id]).stderr;
        let rows = if count == 20 { "20" } else { "2,000" };
        let said_rows = format!(
            "load {id} has already finished: {rows} rows loaded into public.t; nothing was done"
        );
        assert!(message.contains(&said_rows), "{message}");
    }
}

fn a_load_that_is_not_the_same_is_refused(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.session.run("CREATE TABLE u (LIKE t)");
    bench.file("rows.csv", rows(2000, 10));
    bench.file("other.csv", rows(2001, 10));
    let load = |more: &[&str]| {
        let given = ["--load-id", "it's \"one\""];
        bench.load(["rows.csv", "-t", "t"].iter().chain(&given).chain(more))
    };
    assert_eq!(load(&[]).status.code(), Some(0));
    for (options, before, now) in [
        (&["--delimiter=;"][..], "with --delimiter \",\"", "with --delimiter \";\""),
        (&["--null=x"], "with --null \"\"", "with --null \"x\""),
        (&["--header"], "without --header", "with --header"),
        (&["--header=2"], "without --header", "with --header \"2\""),
        (&["--quote='"], "with --quote \"\"\"", "with --quote \"'\""),
        (&["--format=text"], "with --format \"csv\"", "with --format \"text\""),
        (&["--no-native"], "without --no-native", "with --no-native"),
        (&["--force-null=v"], "without --force-null", "with --force-null \"v\""),
        (
            &["--columns=v,id"],
            "with columns \"id integer, v text\"",
            "with columns \"v text, id integer\"",
        ),
    ] {
        let message =
            format!("this load was begun {before}, and is resumed {now} (SQLSTATE 55000)");
        load(options).fails(1, &[&message, "\nHINT:", "pgsluice ledger forget 'it'\\''s \"one\"'"]);
    }
    let id = ["--load-id", "it's \"one\""];
    let refused = bench.load(["other.csv", "-t", "t"].iter().chain(&id));
    refused
        .fails(1, &["the input differs from the one that this load began with", "other.csv had "]);
    let refused = bench.load(["rows.csv", "other.csv", "-t", "t"].iter().chain(&id));
    refused.fails(1, &["The number of inputs was 1 and is now 2."]);
    let refused = bench.load(["rows.csv", "-t", "u"].iter().chain(&id));
    refused.fails(1, &["this load was begun into another table"]);
    let url = format!("{}?options=-c%20DateStyle%3DSQL", bench.url);
    let refused = bench.load_into(&url, ["rows.csv", "-t", "t"].iter().chain(&id));
    refused.fails(
        1,
        &["begun with DateStyle \"ISO, MDY\", and is resumed with DateStyle \"SQL, MDY\""],
    );
    bench.session.run("ALTER TABLE t ALTER v TYPE varchar(99)");
    let message = [
        "with columns \"id integer, v text\", and is resumed",
        "with columns \"id integer, v character varying(99)\"",
    ];
    load(&[]).fails(1, &message);
    assert_eq!((bench.count("t"), bench.count("u")), (2000, 0));
}

fn an_error_names_the_command_that_resumes(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.session.run("ALTER TABLE t ADD CHECK (v <> 'bad')");
    let mut content = rows(60_000, 100);
    content.extend(b"7,bad\n");
    bench.file("rows.csv", content);
    let options = ["rows.csv", "-t", "t", "--memory", "1MiB", "--load-id", "l"];
    let resumes = "--load-id l --reject-file bad.csv --max-rejects 100";
    let first = bench.load(options);
    first.fails(1, &["violates check constraint", "committed before", resumes]);
    assert_eq!(first.committed(), bench.count("t"));
    let listed = ledger(bench, &["list"]).stdout;
    assert!(listed.contains("\nl     public.t  unfinished  "), "{listed}");
    bench.session.run("ALTER TABLE t DROP CONSTRAINT t_v_check");
    let summary = bench.load(options.iter().chain(&["--json"])).summary();
    assert_eq!(summary["rows_already_loaded"], first.committed());
    assert_eq!(bench.count("t"), 60_001);
    let distinct = bench.value("SELECT count(*) FROM t WHERE id = 7 AND v = 'bad'");
    assert_eq!(distinct, "1");
}

fn the_later_of_two_runs_is_refused(server: Server) {
    let twins = twins(server);
    let Twins { bench, .. } = &twins;
    bench.session.run("BEGIN; LOCK TABLE t_3_1 IN SHARE MODE");
    let options = ["--memory", "1MiB", "-j", "2"];
    let first = twins.start("l", &options);
    wait_until("waiting for a lock", || {
        bench.value(&format!("SELECT count(*) FROM {WAITS} AND locktype = 'relation'")) != "0"
    });
    let host = String::from_utf8(Command::new("hostname").output().unwrap().stdout).unwrap();
    twins.start("l", &options).ended().fails(
        1,
        &[
            "error: load l is being run by another process (SQLSTATE 55006)\n",
            "DETAIL:  User \"postgres\" has been running it on \"",
            host.trim(),
            &format!("\", as process {}, since 20", first.child.id()),
            "\nDETAIL:  It runs in server process ",
            ", for 127.0.0.1, since 20",
            "\nHINT:  Wait until it ends.",
            "--end-other",
        ],
    );
    bench.session.run("COMMIT");
    first.ended().summary();
    twins.are_equal();
}

fn two_runs_that_begin_at_once_are_one(server: Server) {
    let twins = twins(server);
    let runs = [(); 4].map(|()| twins.start("l", &["-j", "2"])).map(Running::ended);
    for run in &runs {
        match run.status.code() {
            Some(0) => _ = run.summary(),
            _ => _ = run.fails(1, &["load l is being run by another process (SQLSTATE 55006)"]),
        }
    }
    assert!(runs.iter().any(|run| run.status.code() == Some(0)), "{runs:?}");
    twins.are_equal();
}

/// The process of a run is stopped, but its sessions are still open.
fn another_run_is_ended_as_asked(server: Server) {
    let twins = twins(server);
    let Twins { bench, .. } = &twins;
    let options = ["--memory", "1MiB", "-j", "2"];
    bench.session.run("BEGIN; LOCK TABLE t_3_1 IN SHARE MODE");
    let first = twins.start("l", &options);
    wait_until("waiting for a lock", || bench.count(WAITS) > 0);
    let waiting = bench.value(&format!("SELECT min(pid) FROM {WAITS}"));
    first.signal("-STOP");
    let second = twins.start("l", &[&options[..], &["--end-other"]].concat());
    wait_until("the end of its sessions", || {
        bench.count(&format!("{WAITS} AND pid = {waiting}")) == 0
    });
    bench.session.run("COMMIT");
    second.ended().summary();
    first.signal("-CONT");
    first.ended().fails(1, &["terminating connection due to administrator command"]);
    twins.are_equal();
}

fn a_load_that_runs_is_not_forgotten(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    let arguments = ["-", "-t", "t", "--format", "csv", "--load-id", "l", "-q"];
    let mut load = bench.start(arguments, Stdio::piped());
    load.feed(&rows(120_000, 100));
    wait_until("a commit", || bench.count("t") > 0);
    ledger(bench, &["forget", "l"]).fails(1, &["load l is running (SQLSTATE 55006)"]);
    let listed = ledger(bench, &["list"]).stdout;
    assert!(listed.contains("\nl     public.t  running  "), "{listed}");
    let shows = |parts: &[&str]| {
        let shown = ledger(bench, &["show", "l"]).stdout;
        parts.iter().for_each(|part| assert!(shown.contains(part), "{part}: {shown}"));
    };
    shows(&["load     l, running\n", "\nreceipt  public.t"]);
    drop(load.child.stdin.take());
    assert_eq!(load.ended().status.code(), Some(0));
    shows(&["load     l, finished\n", "term     delimiter: ,", "\nrun      pgsluice "]);
    let left = ["tree", "receipt", "block", "reject", "witness"]
        .map(|table| bench.count(&format!("pgsluice.{table}")));
    assert_eq!((bench.count("pgsluice.load"), left), (1, [0; 5]));
    assert_eq!(ledger(bench, &["forget", "l"]).status.code(), Some(0));
    ledger(bench, &["show", "l"]).fails(1, &["load l is not in the ledger (SQLSTATE 02000)"]);
    ledger(bench, &["forget", "l"]).fails(1, &["load l is not in the ledger"]);
    assert_eq!(ledger(bench, &["list", "--json"]).stdout, "[]\n");
    let left = ["load", "tree", "receipt", "block", "witness"]
        .map(|t| bench.count(&format!("pgsluice.{t}")));
    assert_eq!(left, [0; 5]);
}

fn several_loads_make_the_ledger_at_once(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", rows(1000, 10));
    let loads: Vec<Running> =
        (0..6).map(|_| bench.start(["rows.csv", "-t", "t"], Stdio::null())).collect();
    for load in loads {
        let ended = load.ended();
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    }
    assert_eq!((bench.count("t"), bench.count("pgsluice.load")), (6000, 6));
}

fn without_a_ledger_nothing_is_made_and_nothing_resumed(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", rows(1000, 10));
    let ended = bench.load(["rows.csv", "-t", "t", "--no-ledger"]);
    assert!(!ended.stderr.contains("--load-id"), "{ended:?}");
    assert_eq!((ended.status.code(), bench.count("t")), (Some(0), 1000));
    bench.file("few.csv", rows(10, 10));
    assert_eq!(bench.load(["few.csv", "-t", "t", "--no-ledger"]).status.code(), Some(0));
    assert_eq!(bench.value("SELECT to_regnamespace('pgsluice') IS NULL"), "t");
    let both = bench.load(["rows.csv", "-t", "t", "--no-ledger", "--load-id", "x"]);
    both.fails(2, &["cannot be used with"]);
}

fn who_may_not_make_a_schema_is_told_what_to_do(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench
        .session
        .run("CREATE ROLE \"some body\" LOGIN; GRANT INSERT, SELECT ON t TO \"some body\"");
    bench.session.run("GRANT INSERT ON t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 TO \"some body\"");
    let url = format!("{}?options=-c%20role%3Dsome%5C%20body", bench.url);
    for count in [10, 1000] {
        bench.file("rows.csv", rows(count, 10));
        let load =
            |more: &[&str]| bench.load_into(&url, ["rows.csv", "-t", "t"].iter().chain(more));
        let database = bench.value("SELECT quote_ident(current_database())");
        bench.session.run(&format!("REVOKE CREATE ON DATABASE {database} FROM PUBLIC"));
        let grant = format!("GRANT CREATE ON DATABASE {database} TO \"some body\";");
        let refused = load(&[]);
        refused.fails(
            1,
            &["permission denied for database", "(SQLSTATE 42501)", &grant, "--no-ledger"],
        );
        assert_eq!(load(&["--no-ledger"]).status.code(), Some(0));
        bench.session.run(&grant);
        assert_eq!(load(&[]).status.code(), Some(0));
        // Another role's load.
        bench.session.run("ALTER SCHEMA pgsluice OWNER TO CURRENT_USER");
        bench.session.run("REASSIGN OWNED BY \"some body\" TO CURRENT_USER");
        let grant = "GRANT USAGE ON SCHEMA pgsluice TO \"some body\"; \
                     GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pgsluice TO \
                     \"some body\";";
        load(&[]).fails(1, &["permission denied for schema pgsluice (SQLSTATE 42501)", grant]);
        bench.session.run(grant);
        assert_eq!(load(&[]).status.code(), Some(0));
        bench.session.run("DROP SCHEMA pgsluice CASCADE");
        bench.session.run(&format!("REVOKE CREATE ON DATABASE {database} FROM \"some body\""));
    }
    assert_eq!(bench.count("t"), 3 * 1010);
    bench.session.run("DROP OWNED BY \"some body\"; DROP ROLE \"some body\"");
}

fn a_schema_of_somebody_elses_is_left_alone(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", rows(1000, 10));
    bench.session.run("CREATE SCHEMA pgsluice; CREATE TABLE pgsluice.load (id int)");
    let refused = bench.load(["rows.csv", "-t", "t"]);
    refused.fails(1, &["the ledger in schema pgsluice belongs to another version of pgsluice"]);
    bench.session.run("DROP TABLE pgsluice.load");
    assert_eq!(bench.load(["rows.csv", "-t", "t"]).status.code(), Some(0));
}

fn one_statement_is_in_as_a_whole_or_not_at_all(server: Server) {
    let twins = twins(server);
    let Twins { bench, .. } = &twins;
    bench.session.run(
        "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER whole AFTER INSERT ON t EXECUTE FUNCTION nothing();
         BEGIN; LOCK TABLE t_3_1 IN SHARE MODE",
    );
    let load = twins.start("l", &[""; 0]);
    wait_until("waiting for the lock", || bench.count(WAITS) > 0);
    load.kill();
    bench.session.run("COMMIT");
    let summary = twins.load("l", &[""; 0]).summary();
    assert_eq!(summary["rows_loaded"], ROWS);
    twins.are_equal();
    let again = twins.load("l", &[""; 0]).summary();
    assert_eq!(again["rows_already_loaded"], ROWS);
}

fn ids_that_make_no_sense(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(10, 10));
    for id in ["", "a\nb", &"x".repeat(201)] {
        bench
            .load(["rows.csv", "-t", "t", "--load-id", id])
            .fails(2, &["a load id must have 1 to 200"]);
    }
}
