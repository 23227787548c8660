//! Rows that are reported as committed survive a crash of the server, whatever `synchronous_commit` the role has.

use std::process::Stdio;

use super::ledger;
use crate::harness::{Bench, Place, Running, Server, on_each_server, program, rows};

fn commits_are_durable_whatever_the_role_has_set(server: Server) {
    let place = Place::new(server);
    let mut bench = Bench::from_url(&place.start());
    bench.make_table();
    let database = bench.value("SELECT quote_ident(current_database())");
    bench.session.run(&format!("ALTER DATABASE {database} SET synchronous_commit = off"));
    // Nothing else makes the server write what no session waited for.
    bench.session.run("ALTER SYSTEM SET wal_writer_delay = '10s'");
    bench.session.run("ALTER SYSTEM SET wal_writer_flush_after = '1GB'");
    bench.session.run("SELECT pg_reload_conf()");
    bench.file("few.csv", rows(20, 10));
    bench.file("rows.csv", rows(3000, 10));
    let crash = |bench: &mut Bench| {
        place.stop_immediately();
        place.start();
        bench.come_back();
    };
    // A commit that does not wait for the disk is lost here, unless the WAL writer wakes up just then.
    let is_lost = |bench: &mut Bench| {
        bench.session.run("SET synchronous_commit = on; TRUNCATE t");
        bench.session.run("CHECKPOINT");
        bench.session.run("SET synchronous_commit = off; INSERT INTO t VALUES (1)");
        crash(bench);
        bench.count("t") == 0
    };
    assert!((0..5).any(|_| is_lost(&mut bench)), "each lazy commit outlives a crash");
    for (options, count) in [
        (&["few.csv"][..], 20),
        (&["rows.csv", "-j2"], 3000),
        (&["rows.csv", "-j2", "--no-ledger"], 3000),
        (&["rows.csv", "--atomic"], 3000),
        (&["rows.csv", "-j2", "--exchange"], 3000),
        (&["few.csv", "--no-ledger"], 20),
    ] {
        bench.session.run("SET synchronous_commit = on; TRUNCATE t");
        let id = options.join(" ");
        let named = ["-t", "t", "--load-id", &id];
        let named = if id.contains("--no-ledger") { &named[..2] } else { &named[..] };
        let ended = bench.load(options.iter().chain(named));
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        crash(&mut bench);
        assert_eq!(bench.count("t"), count, "{id}");
        if named.len() > 2 {
            let shown = ledger(&bench.url, &["show", &id]).stdout;
            assert!(shown.contains(", finished\n"), "{shown}");
        }
    }
    // An attempt is durable before its first row.
    let mut load = program();
    load.args(["load", "rows.csv", "-t", "t", "-d", &bench.url, "--load-id", "l"]);
    load.env("PGSLUICE_FAILPOINT", "load::begun:1").current_dir(bench.folder.path());
    assert_eq!(Running::start(load.stdin(Stdio::null())).ended().status.code(), None);
    crash(&mut bench);
    let listed = ledger(&bench.url, &["list"]).stdout;
    assert!(listed.contains("\nl "), "{listed}");
    // The end of an attempt is durable too.
    let forgotten = ledger(&bench.url, &["forget", "l"]);
    assert_eq!(forgotten.status.code(), Some(0), "{forgotten:?}");
    crash(&mut bench);
    let listed = ledger(&bench.url, &["list"]).stdout;
    assert!(!listed.contains("\nl "), "{listed}");
}

on_each_server!([commits_are_durable_whatever_the_role_has_set,]);
