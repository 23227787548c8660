//! Attempts at a share that are killed or cut off at any point: the next attempt completes it correctly.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::{ROWS, Shared};
use crate::harness::{Mode, Proxy, Running, Server, on_each_server, program};

on_each_server!([at_each_point, a_connection_that_is_cut,]);

/// The points at which an attempt is killed, and whether its rows are committed then.
const POINTS: [(&str, bool); 7] = [
    ("load::begun", false),
    ("share::claimed", false),
    ("payload::sent", false),
    ("payload::committed", false),
    ("atomic::ready", false),
    ("atomic::committing", false),
    ("atomic::committed", true),
];

fn at_each_point(server: Server) {
    let shared = Shared::new(server);
    for (point, is_in) in POINTS {
        let ended = shared.start(0, &[], &[("PGSLUICE_FAILPOINT", point)]).ended();
        assert_eq!(ended.status.signal(), Some(9), "{point}: {ended:?}");
        shared.bench.end_orphans();
        shared.bench.wait_for_sessions();
        let rows = if is_in { ROWS as u64 } else { 0 };
        assert_eq!(shared.bench.count("t"), rows, "{point}");
        let again = shared.load(0, &[]).summary();
        assert_eq!(again["rows_loaded"], ROWS as u64 - rows, "{point}");
        shared.has(1);
        shared
            .bench
            .session
            .run("TRUNCATE t; DELETE FROM pgsluice.load; DELETE FROM pgsluice.witness");
    }
}

/// If the answer to COMMIT is lost, the attempt itself asks the ledger.
fn a_connection_that_is_cut(server: Server) {
    let shared = Shared::new(server);
    let proxy = Proxy::before(&shared.bench.url);
    let load = |part: usize| {
        let mut load = program();
        load.args(["load", &format!("{part}.csv"), "-t", "t", "-d", proxy.url(), "-q", "--json"]);
        load.args(["--load-id=shared", "--participant", &part.to_string(), "--wait=30"]);
        load.current_dir(shared.bench.folder.path());
        Running::start(load.stdin(Stdio::null()))
    };
    let before = proxy.sent();
    load(3).ended().summary();
    let all = proxy.sent() - before;
    for (number, after) in (0..8).map(|cut| all - 20 - 90 * cut).chain([all / 2]).enumerate() {
        let part = number % 3;
        proxy.set(Mode::Pass);
        proxy.set_after(after, Mode::Cut);
        let load = load(part);
        thread::sleep(Duration::from_millis(700));
        proxy.set(Mode::Pass);
        load.ended().summary();
        let rows = format!("t WHERE id >= {} AND id < {}", part * ROWS, (part + 1) * ROWS);
        assert_eq!(shared.bench.count(&rows), ROWS as u64, "cut after {after} bytes");
        shared.bench.session.run(&format!(
            "DELETE FROM {rows}; DELETE FROM pgsluice.load WHERE participant = '{part}'"
        ));
    }
}
