//! Moves that end in the middle: the table is unchanged, or it is partitioned, and leftovers can be dropped.

use super::case::{Case, MONTHS};
use crate::harness::{Mode, Proxy, Server, on_each_server, wait_until};

on_each_server!([
    a_kill_at_each_point,
    leftovers_are_aborted,
    the_session_with_the_lock_is_terminated,
    an_interrupt,
    a_connection_that_is_cut,
    an_index_that_cannot_be_built,
    two_moves_at_once,
]);

const ROWS: usize = 20_000;

/// The points of a move and of its load, and whether the table is partitioned after a kill there.
const POINTS: &[(&str, bool)] = &[
    ("moving::created", false),
    ("payload::sent", false),
    ("payload::committed", false),
    ("moving::copied", false),
    ("moving::built", false),
    ("moving::committing", false),
    ("moving::committed", true),
];

fn arguments() -> Vec<&'static str> {
    [&["events", "--json", "-q"], &MONTHS[..]].concat()
}

fn a_kill_at_each_point(server: Server) {
    for (point, is_moved) in POINTS {
        let case = Case::with_events(server, ROWS);
        let seen = case.describe();
        let killed = case.start(&arguments(), &[("PGSLUICE_FAILPOINT", point)]).ended();
        assert_eq!(killed.status.code(), None, "{point}: {killed:?}");
        case.bench.wait_for_sessions();
        if *is_moved {
            case.is_moved(point);
            continue;
        }
        assert_eq!(case.kind("events"), "r", "{point}");
        case.same_rows("before", "events", point);
        // Writers continue, and the next move has their rows.
        case.bench.session.run(
            "INSERT INTO events VALUES (0, '2026-02-01', 'later'); INSERT INTO before VALUES (0, '2026-02-01', 'later')",
        );
        case.moves("events", &MONTHS);
        case.is_moved(point);
        assert_eq!(case.describe(), seen, "{point}");
    }
}

fn leftovers_are_aborted(server: Server) {
    let case = Case::with_events(server, ROWS);
    let killed = case.start(&arguments(), &[("PGSLUICE_FAILPOINT", "moving::built")]).ended();
    assert_eq!(killed.status.code(), None, "{killed:?}");
    case.bench.wait_for_sessions();
    let status = case.run(&["status"]);
    assert!(status.stdout.contains("public.events  index "), "{status:?}");
    assert!(status.stdout.contains("pgsluice partition abort public.events"), "{status:?}");
    let json = case.run(&["status", "--json"]);
    let moves: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(moves[0]["tree"], "public.events_new", "{moves}");
    assert_eq!(
        (&moves[0]["phase"], &moves[0]["is_running"]),
        (&"index".into(), &false.into()),
        "{moves}"
    );
    // A table that only looks like the old one is left alone.
    assert!(case.run(&["abort", "before"]).stderr.contains("is not being partitioned"));
    let aborted = case.run(&["abort", "events"]);
    assert!(aborted.status.success(), "{aborted:?}");
    case.is_untouched("an aborted move");
    assert_eq!(case.run(&["status"]).stdout, "no table is being partitioned\n");
}

fn the_session_with_the_lock_is_terminated(server: Server) {
    let case = Case::with_events(server, ROWS);
    for point in ["payload::sent", "moving::copied", "moving::built"] {
        let hold = case.bench.hold(point);
        let running = case.start(&arguments(), &hold.environment());
        hold.wait();
        let locker = "SELECT count(pg_terminate_backend(pid)) FROM pg_locks
                      WHERE relation = 'events'::regclass AND mode = 'ShareLock'";
        assert_eq!(case.bench.value(locker), "1");
        hold.let_go();
        let ended = running.ended();
        ended.fails(1, &["error: "]);
        case.is_untouched(point);
    }
}

fn an_interrupt(server: Server) {
    let case = Case::with_events(server, ROWS);
    for point in ["payload::sent", "moving::copied"] {
        let hold = case.bench.hold(point);
        let running = case.start(&arguments(), &hold.environment());
        hold.wait();
        running.signal("-INT");
        hold.let_go();
        running.ended().fails(130, &["interrupted"]);
        case.is_untouched(point);
    }
}

fn a_connection_that_is_cut(server: Server) {
    let case = Case::with_events(server, ROWS);
    let proxy = Proxy::before(&case.bench.url);
    let hold = case.bench.hold("moving::copied");
    let running = case.start_on(proxy.url(), &arguments(), &hold.environment());
    hold.wait();
    proxy.set(Mode::Cut);
    hold.let_go();
    running
        .ended()
        .fails(1, &["error: ", "The partitions that were created are left.", "partition abort"]);
    case.bench.wait_for_sessions();
    assert_eq!(case.kind("events"), "r");
    assert!(case.run(&["abort", "events"]).status.success());
    case.is_untouched("a connection that was cut");
}

/// The expression of the index fails for a row of the table, because its function was replaced.
fn an_index_that_cannot_be_built(server: Server) {
    let case = Case::with_events(server, 500);
    case.bench.session.run(
        "CREATE FUNCTION half(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT $1 / 2';
         CREATE INDEX halves ON events (half(id));
         CREATE OR REPLACE FUNCTION half(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1 / ($1 - 77)'",
    );
    case.run(&arguments()).fails(
        1,
        &["division by zero", "pgsluice was reproducing index halves on public.events_2026_"],
    );
    case.is_untouched("an index that cannot be built");
}

fn two_moves_at_once(server: Server) {
    let case = Case::with_events(server, ROWS);
    let hold = case.bench.hold("moving::copied");
    let first = case.start(&arguments(), &hold.environment());
    hold.wait();
    let busy = [
        "table public.events is being partitioned by another process (SQLSTATE 55006)",
        "does it.",
        "SELECT pg_terminate_backend(",
    ];
    let ended = case.run(&arguments());
    ended.fails(1, &busy);
    case.run(&["abort", "events"]).fails(1, &busy);
    // The hint names the session that has the lock.
    let holder = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = 'events'::regclass";
    let end = format!("SELECT pg_terminate_backend({});", case.bench.value(holder));
    assert!(ended.stderr.contains(&end), "{ended:?}");
    let status = case.run(&["status", "--json"]);
    assert!(status.stdout.contains("\"is_running\":true"), "{status:?}");
    hold.let_go();
    assert!(first.ended().status.success());
    wait_until("the end of the move", || case.moves_left() == 0);
    case.is_moved("two moves at once");
}
