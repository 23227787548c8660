//! Rows that pgsluice loses or miscounts: the load fails and names the tables. `PGSLUICE_FAULT` injects the fault.

use std::process::Stdio;

use pgsluice::testing::fault::NAMES;

use crate::harness::{Bench, Ended, Running, Server, on_each_server, program, rows};

on_each_server!([
    rows_that_go_astray_fail_the_load,
    rows_that_are_misrouted_fail_the_load,
    keys_that_are_misrouted_are_not_looked_for_elsewhere,
    the_tables_are_named,
    shadows_with_wrong_counts_are_not_swapped_in,
    a_load_that_sends_nothing_adds_up_as_well,
    a_load_that_does_not_add_up_is_not_finished,
    receipts_that_claim_too_much_are_noticed,
    rows_that_a_trigger_drops_add_up,
    counts_that_others_move_are_not_relied_on,
    a_trigger_that_is_gone_may_have_dropped_rows,
    triggers_that_leaves_alone_have_enabled_are_seen,
    rows_that_refer_to_other_leaves_stay_together,
    without_track_counts_the_lack_of_counts_is_reported,
]);

/// Number of rows of the input, enough for several payloads with any options.
const ROWS: usize = 20_000;

const SAID: &str =
    "error: the row counts of the load do not add up (SQLSTATE XX000)\nDETAIL:  Table public.t";

/// The error of a load that is resumed, before it sends any row.
const NOT_FOUND: &str = "error: the rows found in the input do not match the ledger";

const MISROUTED: &str = "row::misrouted";

const HINT: &str = "\nHINT:  This is a bug in pgsluice: please report it.";

/// A trigger that drops every second row.
const DROPS_HALF: &str = "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN IF NEW.id % 2 = 0 THEN RETURN NULL; END IF; RETURN NEW; END';
         CREATE TRIGGER f BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()";

/// Options that send rows in different ways. Every fault must be noticed with each.
const OPTIONS: [&[&str]; 6] = [
    &["-j1"],
    &["-j2", "--no-ledger"],
    &["-j2", "--wire", "text"],
    // All rows through the root, and all in the slow lane.
    &["-j1", "--no-native"],
    &["-j1", "--few-rows", "100000"],
    &["-j2", "--reject-file", "bad", "--max-rejects", "10"],
];

fn make(bench: &Bench) {
    bench.make_table();
    bench.session.run("ALTER TABLE t ADD CHECK (v <> 'bad')");
    bench.file("rows.csv", rows(ROWS, 100));
}

fn load(bench: &Bench, flaw: &str, options: &[&str]) -> Ended {
    let mut load = program();
    load.args(["load", "rows.csv", "-t", "t", "-d", &bench.url, "--memory", "1MiB", "-q"]);
    load.args(options).env("PGSLUICE_FAULT", flaw).current_dir(bench.folder.path());
    Running::start(load.stdin(Stdio::null())).ended()
}

fn rows_that_go_astray_fail_the_load(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    // The counts of misrouted rows add up here; the server notices them.
    let names = NAMES.into_iter().filter(|name| *name != MISROUTED);
    for (name, options) in names.flat_map(|name| OPTIONS.map(|it| (name, it))) {
        bench.session.run("TRUNCATE t");
        let ended = load(bench, &format!("{name}:2"), options);
        let message = match name {
            // It is not known where its rows would have gone.
            "split::lost" => "do not add up (SQLSTATE XX000)\nDETAIL:  20000 rows read, ",
            _ => SAID,
        };
        ended.fails(1, &[message, HINT]);
        assert!(!ended.stderr.contains("--load-id"), "{ended:?}");
        let is_whole = bench.count("t") == ROWS as u64;
        assert_eq!(is_whole, !name.ends_with("lost"), "{name} {options:?}: {ended:?}");
    }
}

fn rows_that_are_misrouted_fail_the_load(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    for wire in ["binary", "text"] {
        // A row that goes through the root is routed by the server.
        for row in ["1", "5000"] {
            bench.session.run("TRUNCATE t");
            let options = ["-j1", "--wire", wire, "--no-self-test"];
            let ended = load(bench, &format!("{MISROUTED}:{row}"), &options);
            ended.fails(1, &[SAID, "routed here, but its constraint rejects some", HINT]);
            let counts =
                "SELECT count(*) FROM t WHERE id / 10 <> right(tableoid::regclass::text, 1)::int";
            assert_eq!(bench.value(counts), "0");
            assert_eq!(ended.committed(), bench.count("t"), "{ended:?}");
        }
        // A leaf that is named directly refuses it.
        let options = ["-j1", "--wire", wire, "--few-rows", "0", "--no-self-test"];
        let ended = load(bench, MISROUTED, &options);
        ended.fails(1, &["violates partition constraint (SQLSTATE 23514)"]);
    }
}

fn keys_that_are_misrouted_are_not_looked_for_elsewhere(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);
         CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (0) TO (50);
         CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (50) TO (100);
         INSERT INTO t SELECT id, 0 FROM generate_series(0, 99) AS id",
    );
    let rows: String = (0..100).map(|id| format!("{id},1\n")).collect();
    bench.file("rows.csv", rows);
    for change in [
        &["--on-conflict=delete"][..],
        &["--on-conflict=update", "--no-insert"],
        &["--on-conflict=update", "--delete-when=v"],
        &["--on-conflict=delete", "--reject-file=bad", "--max-rejects=10"],
        &["--on-conflict=delete", "--atomic"],
    ] {
        let options = [&["-j1", "--no-self-test"], change].concat();
        let ended = load(bench, &format!("{MISROUTED}:7"), &options);
        ended.fails(1, &[SAID, "1 row routed here that it does not accept.", HINT]);
        assert_eq!(bench.value("SELECT sum(1 - v) FROM t"), "100", "{change:?}");
    }
}

fn the_tables_are_named(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    let ended = load(bench, "payload::misplaced", &["-j1", "--few-rows=0"]);
    // The total is correct: the rows that one table lacks are surplus in another.
    let lines: Vec<&str> =
        ended.stderr.lines().filter(|line| line.contains("Table public.t")).collect();
    let [one, other] = lines[..] else { panic!("{ended:?}") };
    let rows =
        |line: &str| -> Vec<i64> { line.split(' ').filter_map(|word| word.parse().ok()).collect() };
    let [routed, sent] = rows(one)[..] else { panic!("{ended:?}") };
    let [next_routed, next_sent] = rows(other)[..] else { panic!("{ended:?}") };
    assert!(sent != routed && sent - routed == next_routed - next_sent, "{ended:?}");
    assert!(one.ends_with(" sent.") && one.contains(" rows routed, "), "{ended:?}");
}

fn shadows_with_wrong_counts_are_not_swapped_in(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    for flaw in ["split::lost", "payload::lost", "payload::short"] {
        let ended = load(bench, flaw, &["--exchange", "-j2"]);
        ended.fails(1, &["do not add up", HINT]);
        assert_eq!(bench.count("t"), 0, "{flaw}");
    }
    let left = "SELECT count(*) FROM pg_class WHERE relname ~ 'pgsluice_new'";
    assert_eq!(bench.value(left), "0");
}

fn a_load_that_sends_nothing_adds_up_as_well(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    let ended = load(bench, "payload::lost:2", &["--sink=null"]);
    ended.fails(1, &[SAID, HINT]);
    let ended = load(bench, "payload::lost:2000000", &["--sink=null"]);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
}

fn a_load_that_does_not_add_up_is_not_finished(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    for flaw in ["payload::misplaced", "payload::lost"] {
        bench.session.run("TRUNCATE t");
        load(bench, flaw, &["-j1", "--load-id", flaw]).fails(1, &[SAID]);
        let state = format!("SELECT state FROM pgsluice.load WHERE id = '{flaw}'");
        assert_eq!(bench.value(&state), "running");
    }
    // Miscounted rows are committed. Lost rows were claimed, and the ledger does not have them.
    let again = load(bench, "payload::lost:2000000", &["--load-id", "payload::lost"]);
    again.fails(1, &[NOT_FOUND, " found, ", " in the ledger."]);
}

fn receipts_that_claim_too_much_are_noticed(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    let interrupted = |id: &str| {
        bench.session.run("TRUNCATE t");
        let mut load = program();
        load.args(["load", "rows.csv", "-t", "t", "-d", &bench.url, "--memory", "1MiB", "-j1"]);
        load.args(["--load-id", id, "-q"]).current_dir(bench.folder.path());
        load.env("PGSLUICE_FAILPOINT", "payload::closed:4").stdin(Stdio::null());
        assert_eq!(Running::start(&mut load).ended().status.code(), None);
    };
    let resume = |id: &str| load(bench, "payload::lost:2000000", &["--load-id", id, "--json"]);
    interrupted("intact");
    resume("intact").summary();
    assert_eq!(bench.count("t"), ROWS as u64);
    for (id, change) in [
        ("more", "UPDATE pgsluice.receipt SET rows = rows + 1"),
        ("wider", "UPDATE pgsluice.receipt SET upto = 1000000"),
    ] {
        interrupted(id);
        bench.session.run(&format!("{change} WHERE load = '{id}'"));
        let before = bench.count("t");
        resume(id).fails(1, &[NOT_FOUND, " found, ", " in the ledger."]);
        assert_eq!(bench.count("t"), before);
    }
}

fn rows_that_a_trigger_drops_add_up(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    bench.session.run(DROPS_HALF);
    for options in OPTIONS {
        bench.session.run("TRUNCATE t");
        let options = [options, &["--json"]].concat();
        let summary = load(bench, "payload::lost:2000000", &options).summary();
        assert_eq!(summary["rows_dropped"], ROWS / 2, "{summary}");
    }
}

/// Creates a table of 40 leaves with a default that runs `body`, which falsifies the server's counts.
fn with_default(server: Server, body: &str) -> Bench {
    let bench = Bench::new(server);
    bench.session.run(&format!(
        "CREATE TABLE t (id int, v int) PARTITION BY HASH (id); CREATE SEQUENCE n;
         CREATE FUNCTION f() RETURNS int VOLATILE LANGUAGE plpgsql AS $$ BEGIN {body} RETURN 1; END $$;
         ALTER TABLE t ALTER v SET DEFAULT f()"
    ));
    for leaf in 0..40 {
        bench.session.run(&format!(
            "CREATE TABLE t_{leaf} PARTITION OF t FOR VALUES WITH (MODULUS 40, REMAINDER {leaf})"
        ));
    }
    bench.file("rows.csv", (0..ROWS).map(|id| format!("{id}\n")).collect::<String>());
    bench
}

/// Options that send rows of several leaves through the root. An atomic load has no first transaction that
/// does so, so the rows of a leaf have to count as few.
const JOINED: [&[&str]; 5] = [
    &["-j1"],
    &["-j2", "--no-ledger"],
    &["-j2", "--wire", "text"],
    &["-j2", "--reject-file", "bad", "--max-rejects", "10"],
    &["--atomic", "--few-rows", "100000"],
];

fn counts_that_others_move_are_not_relied_on(server: Server) {
    for body in [
        "IF nextval('n') % 700 = 0 THEN INSERT INTO t VALUES (-nextval('n'), 0); END IF;",
        "IF nextval('n') % 7000 = 0 THEN PERFORM set_config('track_counts', 'off', false); END IF;",
    ] {
        let bench = with_default(server, body);
        for options in JOINED {
            bench.session.run("TRUNCATE t");
            let load = ["load", "rows.csv", "-t", "t", "-d", &bench.url, "--memory", "1MiB"];
            let mut program = program();
            program.args(load).args(["--columns", "id", "--json", "-q"]).args(options);
            let ended = Running::start(program.current_dir(bench.folder.path())).ended();
            let summary = ended.summary();
            assert_eq!(summary["rows_loaded"], ROWS, "{body} {options:?}: {ended:?}");
            let found =
                bench.session.rows("SELECT count(DISTINCT id), count(*) FROM t WHERE id >= 0");
            let all = Some(ROWS.to_string());
            assert_eq!(found, [[all.clone(), all]], "{body} {options:?}: {ended:?}");
            let fallbacks = summary["fallbacks"].to_string();
            assert!(fallbacks.contains("rows were sent leaf by leaf"), "{options:?}: {ended:?}");
        }
    }
}

fn a_trigger_that_is_gone_may_have_dropped_rows(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    bench.session.run(DROPS_HALF);
    let hold = bench.hold("payload::committed");
    let mut load = program();
    load.args(["load", "rows.csv", "-t", "t", "-d", &bench.url, "--json", "-q", "-j1"]);
    load.current_dir(bench.folder.path()).envs(hold.environment());
    let running = Running::start(load.stdin(Stdio::null()));
    hold.wait();
    bench.session.run("DROP TRIGGER f ON t");
    hold.let_go();
    let summary = running.ended().summary();
    let stored = bench.count("t");
    assert_eq!(summary["rows_loaded"], stored);
    assert_eq!(summary["rows_dropped"], ROWS as u64 - stored);
}

fn triggers_that_leaves_alone_have_enabled_are_seen(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    bench.session.run(DROPS_HALF);
    bench.session.run("ALTER TABLE ONLY t DISABLE TRIGGER f");
    let summary = load(bench, "payload::lost:2000000", &["-j2", "--json"]).summary();
    let stored = bench.count("t");
    assert_eq!(summary["rows_loaded"], stored);
    assert_eq!(summary["rows_dropped"], ROWS as u64 - stored);
    assert!(!summary["fallbacks"].to_string().contains("leaf by leaf"), "{summary}");
}

/// Loads the rows through the root. Returns the summary.
fn joined(bench: &Bench, options: &[&str]) -> serde_json::Value {
    let mut load = program();
    load.args(["load", "rows.csv", "-t", "t", "-d", &bench.url, "--json", "-q", "-j1"]);
    load.args(options).current_dir(bench.folder.path());
    Running::start(load.stdin(Stdio::null())).ended().summary()
}

fn refers(server: Server, body: &str) -> Bench {
    let bench = with_default(server, body);
    bench.session.run("ALTER TABLE t ADD PRIMARY KEY (id), ADD parent int REFERENCES t (id)");
    // A row refers to the next one, which is usually in another leaf.
    let rows = (0..ROWS).map(|id| format!("{id},{}\n", (id + 1) % ROWS));
    bench.file("rows.csv", rows.collect::<String>());
    bench
}

fn rows_that_refer_to_other_leaves_stay_together(server: Server) {
    let bench = refers(server, "IF nextval('n') = 700 THEN INSERT INTO t VALUES (-1, 0); END IF;");
    let summary = joined(&bench, &["--columns=id,parent"]);
    assert_eq!(summary["rows_loaded"], ROWS);
    assert_eq!(bench.count("t WHERE id >= 0"), ROWS as u64);
    assert!(summary["fallbacks"].to_string().contains("were not counted by leaf"), "{summary}");
}

fn without_track_counts_the_lack_of_counts_is_reported(server: Server) {
    let bench = with_default(server, "");
    let database = bench.value("SELECT quote_ident(current_database())");
    bench.session.run(&format!("ALTER DATABASE {database} SET track_counts = off"));
    let summary = joined(&bench, &["--columns=id", "--few-rows=100000"]);
    assert_eq!(summary["rows_loaded"], ROWS);
    assert!(summary["fallbacks"].to_string().contains("track_counts is off"), "{summary}");
}
