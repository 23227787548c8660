//! A server whose lock table is full: nothing is lost, and the load continues when there is room.

use std::io::Write;
use std::process::Stdio;

use crate::harness::{Bench, Place, Running, Server, on_each_server, program, rows, wait_until};

on_each_server!([
    a_server_out_of_locks_loses_nothing,
    more_leaves_than_locks_are_asked_whether_they_have_rows,
]);

/// Starts a server with a small lock table.
fn with_few_locks(place: &Place) -> Bench {
    let mut bench = Bench::from_url(&place.start());
    bench.session.run("ALTER SYSTEM SET max_locks_per_transaction = 10");
    bench.session.run("ALTER SYSTEM SET max_connections = 25");
    place.stop_immediately();
    place.start();
    bench.come_back();
    bench
}

/// Takes locks until the server has no room for another one.
fn fill(bench: &Bench) {
    bench.session.run(
        "DO $$ BEGIN
             FOR i IN 1..1000000 LOOP PERFORM pg_advisory_lock(i); END LOOP;
         EXCEPTION WHEN out_of_memory THEN NULL;
         END $$",
    );
}

fn a_server_out_of_locks_loses_nothing(server: Server) {
    let place = Place::new(server);
    let bench = with_few_locks(&place);
    bench.make_table();
    let input = rows(240_000, 100);
    let load = || {
        let mut load = program();
        let options = ["--format=csv", "-j2", "--memory=4MiB", "--load-id=l"];
        load.args(["load", "-", "-t", "t", "-d", &bench.url]).args(options);
        Running::start(load.stdin(Stdio::piped()))
    };
    let (first, rest) = input.split_at(input.len() / 2);

    let mut begun = load();
    begun.feed(first);
    wait_until("rows", || bench.count("t") > 0);
    fill(&bench);
    // The load may end before it has read everything.
    let _ = begun.child.stdin.as_mut().map(|stdin| stdin.write_all(rest));
    drop(begun.child.stdin.take());
    let ended = begun.ended();
    ended.fails(1, &["error: out of shared memory (SQLSTATE 53200)", "--load-id l"]);
    let committed = ended.committed();
    assert!(committed > 0, "{ended:?}");

    let mut refused = load();
    let _ = refused.child.stdin.as_mut().map(|stdin| stdin.write_all(first));
    drop(refused.child.stdin.take());
    // Even the login may fail.
    refused.ended().fails(1, &["out of shared memory (SQLSTATE 53200)", "\nHINT:  "]);

    bench.session.run("SELECT pg_advisory_unlock_all()");
    assert_eq!(bench.count("t"), committed);
    let mut resumed = load();
    resumed.feed(&input);
    drop(resumed.child.stdin.take());
    let ended = resumed.ended();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let per_key = "SELECT string_agg(DISTINCT n::text, ' ')
                   FROM (SELECT count(*) AS n FROM t GROUP BY id) AS x";
    assert_eq!((bench.count("t"), &*bench.value(per_key)), (240_000, "2400"));
}

fn more_leaves_than_locks_are_asked_whether_they_have_rows(server: Server) {
    let place = Place::new(server);
    let bench = with_few_locks(&place);
    bench.session.run("CREATE TABLE t (id int, v int) PARTITION BY LIST (id)");
    let leaf = |id: usize| format!("CREATE TABLE t{id} PARTITION OF t FOR VALUES IN ({id});");
    for first in (0..1500).step_by(50) {
        bench.session.run(&(first..first + 50).map(leaf).collect::<String>());
    }
    // There is room for a thousand more locks.
    fill(&bench);
    bench.session.run("SELECT pg_advisory_unlock(i) FROM generate_series(1, 1000) AS i");
    let other = bench.other();
    other.try_run("SELECT count(*) FROM t").expect_err("it has too many leaves");
    // The error arrives before the locks are released, the next answer after that.
    other.run("SELECT 1");
    bench.file("rows.csv", "1,1\n1499,2\n");
    // The first and the third load are not small.
    for (options, warns) in [(&["--few-rows=0"][..], false), (&[], true), (&["--few-rows=0"], true)]
    {
        let ended = bench.load(["rows.csv", "-t", "t"].iter().chain(options));
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        let warned =
            ended.stderr.contains("warning: the same input was loaded into public.t before");
        assert_eq!(warned, warns, "{ended:?}");
    }
}
