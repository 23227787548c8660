//! Connections of one load that get into each other's way: the server sees no deadlock, since one of
//! them waits in the client.

use std::process::Stdio;

use super::{MEMORY, ROWS, Whole, prepared, rows, sessions};
use crate::harness::{Bench, Server, on_each_server, wait_until};

on_each_server!([
    a_key_that_is_there_twice_ends_the_load,
    keys_that_are_there_twice_are_rejected,
    a_trigger_that_writes_to_one_row_for_all,
    a_pipe_cannot_be_read_again,
    a_lock_between_two_connections,
    two_loads_of_the_same_keys,
    a_load_beside_another,
]);

const WAITED: &str = "its connections waited for each other's rows";

/// Whether a summary says that one connection had to do.
fn goes_alone(summary: &serde_json::Value) -> bool {
    summary["fallbacks"].as_array().unwrap().iter().any(|it| it["why"] == WAITED)
}

/// Every hundredth row is there twice, far apart.
fn doubled() -> String {
    let twice = (0..ROWS).step_by(100).map(|id| format!("{id},again\n"));
    rows(ROWS) + &twice.collect::<String>()
}

fn a_key_that_is_there_twice_ends_the_load(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run("ALTER TABLE t ADD PRIMARY KEY (id)");
    whole.bench.file("rows.csv", doubled());
    for jobs in ["-j1", "-j4"] {
        let ended = whole.load(&["--atomic", jobs, MEMORY], &[]);
        ended.fails(1, &["duplicate key value", "No row of this load is in the table"]);
        whole.is_empty();
    }
}

fn keys_that_are_there_twice_are_rejected(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(super::TABLE);
    bench.session.run("ALTER TABLE t ADD PRIMARY KEY (id)");
    bench.file("rows.csv", doubled());
    for jobs in ["-j1", "-j4"] {
        let load = ["rows.csv", "-t", "t", "--json", "-q", "--atomic", jobs, MEMORY];
        let rejects = ["--reject-file", &format!("bad{jobs}"), "--max-rejects=50%"];
        let ended = bench.load(load.iter().chain(&rejects));
        assert_eq!(ended.status.code(), Some(3), "{ended:?}");
        let bad = std::fs::read_to_string(bench.path(&format!("bad{jobs}"))).unwrap();
        assert_eq!((bench.count("t"), bad.lines().count()), (ROWS as u64, ROWS / 100));
        // Together they are the input.
        let mut ids: Vec<usize> =
            bad.lines().map(|row| row.split(',').next().unwrap().parse().unwrap()).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq((0..ROWS).step_by(100)));
        assert_eq!(prepared(bench), 0);
        bench.session.run("TRUNCATE t");
    }
}

/// All transactions write to one row.
fn with_counter(bench: &Bench) {
    bench.session.run(
        "CREATE TABLE n (n bigint); INSERT INTO n VALUES (0);
         CREATE FUNCTION count_row() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN UPDATE n SET n = n + 1; RETURN NULL; END';
         CREATE TRIGGER count_row AFTER INSERT ON t FOR EACH ROW
             WHEN (new.id % 100 = 0) EXECUTE FUNCTION count_row()",
    );
}

fn a_trigger_that_writes_to_one_row_for_all(server: Server) {
    let whole = Whole::new(server);
    with_counter(&whole.bench);
    let summary = whole.load(&["--atomic", "-j4", MEMORY], &[]).summary();
    assert!(goes_alone(&summary) && summary["jobs"] == 1, "{summary}");
    whole.is_whole();
    assert_eq!(whole.bench.value("SELECT n FROM n"), (ROWS / 100).to_string());
}

fn a_pipe_cannot_be_read_again(server: Server) {
    let whole = Whole::new(server);
    with_counter(&whole.bench);
    let load = ["-", "--format=csv", "-t", "t", "-q", "--atomic", "-j4", MEMORY];
    let mut load = whole.bench.start(load, Stdio::piped());
    load.feed(rows(ROWS).as_bytes());
    drop(load.child.stdin.take());
    load.ended().fails(1, &["wait for each other's rows", "No row", "Load with -j 1."]);
    whole.is_empty();
}

/// Somebody waits for one connection, and another connection for him.
fn a_lock_between_two_connections(server: Server) {
    let whole = Whole::new(server);
    let id = whole.bench.value(
        "SELECT min(i) FROM generate_series(17, 999) i
         WHERE satisfies_hash_partition('t'::regclass, 3, 0, i)",
    );
    // An early row waits until somebody has queued for its leaf; later ones come behind him.
    whole.bench.session.run(&format!(
        "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             WHILE NOT EXISTS (SELECT FROM pg_locks WHERE relation = TG_RELID AND NOT granted)
                   AND to_regclass('done') IS NULL
             LOOP PERFORM pg_sleep(0.01); END LOOP;
             RETURN new;
         END $$;
         CREATE TRIGGER hold BEFORE INSERT ON t_0 FOR EACH ROW
             WHEN (new.id = {id}) EXECUTE FUNCTION hold()"
    ));
    let load = whole.start(&["--atomic", "-j4", MEMORY], &[]);
    wait_until("the row", || sessions(&whole.bench, "wait_event = 'PgSleep'") > 0);
    whole.bench.session.run("CREATE INDEX ON t_0 (v); CREATE TABLE done ()");
    load.ended().summary();
    whole.is_whole();
}

/// Two loads of the same keys wait for each other, each with another connection.
fn two_loads_of_the_same_keys(server: Server) {
    let whole = Whole::new(server);
    whole.bench.session.run("ALTER TABLE t ADD PRIMARY KEY (id)");
    let mut reversed: Vec<String> = rows(ROWS).lines().map(|row| format!("{row}\n")).collect();
    reversed.reverse();
    whole.bench.file("reversed.csv", reversed.concat());
    let one = whole.start(&["--atomic", "-j3", MEMORY], &[]);
    let load = ["reversed.csv", "-t", "t", "-q", "--json", "--atomic", "-j3", MEMORY];
    let other = whole.bench.start(load, Stdio::null());
    let ended = [one.ended(), other.ended()];
    let won = ended.iter().filter(|ended| ended.status.code() == Some(0)).count();
    let lost = ended.iter().filter(|ended| ended.stderr.contains("duplicate key")).count();
    assert_eq!((won, lost), (1, 1), "{ended:?}");
    whole.is_whole();
}

/// A load does not wait for another one that goes on and on, but only for readers.
fn a_load_beside_another(server: Server) {
    let whole = Whole::new(server);
    let mut long = whole.bench.start(
        ["-", "--format=csv", "-t", "t", "-q", "--json", "--atomic", "-j2", MEMORY],
        Stdio::piped(),
    );
    let others = rows(2 * ROWS);
    let (_, others) = others.split_at(rows(ROWS).len());
    let (first, last) = others.split_at(others.len() - 100);
    long.feed(first.as_bytes());
    let writes = "pg_locks WHERE relation = 't'::regclass AND mode = 'RowExclusiveLock'";
    wait_until("rows that are held", || whole.bench.count(writes) > 0);
    whole.load(&["--atomic", "-j2", "--swap-patience=2"], &[]).summary();
    whole.is_whole();
    long.feed(last.as_bytes());
    drop(long.child.stdin.take());
    long.ended().summary();
    assert_eq!(whole.bench.count("t"), 2 * ROWS as u64);
}
