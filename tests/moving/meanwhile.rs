//! Other sessions during a move: readers continue, writers wait, and the partitioned table has what they write.

use std::thread;

use super::case::{Case, MONTHS};
use crate::harness::{Server, Session, on_each_server, wait_until};

on_each_server!([
    writers_wait_and_lose_nothing,
    readers_go_on,
    a_reader_delays_the_swap,
    changes_while_the_swap_waits,
    other_work_is_not_swapped_away,
    statistics_lock_one_leaf_at_a_time,
]);

/// Returns the number of sessions that wait for a lock on a table.
fn waiting(case: &Case, table: &str) -> u64 {
    case.bench.count(&format!("pg_locks WHERE NOT granted AND relation = '{table}'::regclass"))
}

fn writers_wait_and_lose_nothing(server: Server) {
    let case = Case::with_events(server, 20_000);
    case.bench.session.run(
        "CREATE FUNCTION add(bigint) RETURNS void LANGUAGE plpgsql AS
             $$ BEGIN INSERT INTO events VALUES ($1, '2026-02-01', 'by a function'); END $$",
    );
    let hold = case.bench.hold("moving::copied");
    let running =
        case.start(&[&["events", "--json", "-q"], &MONTHS[..]].concat(), &hold.environment());
    hold.wait();
    // Each session has planned its statement for the plain table.
    let writers = [
        "INSERT INTO events VALUES (-1, '2026-02-01', 'a')",
        "EXECUTE add(-2)",
        "SELECT add(-3)",
        "UPDATE events SET v = 'updated' WHERE id = 1",
        "EXECUTE gone",
        "INSERT INTO events SELECT -4, '2026-01-15', 'b' FROM events WHERE id = 2",
    ];
    let url = &case.bench.url;
    thread::scope(|scope| {
        for statement in writers {
            scope.spawn(move || {
                let session = Session::open(url);
                session.run(
                    "PREPARE add(bigint) AS INSERT INTO events VALUES ($1, '2026-02-01', 'prepared');
                     PREPARE gone AS DELETE FROM events WHERE id = 3;
                     SET plan_cache_mode = force_generic_plan",
                );
                session.run(statement);
            });
        }
        wait_until("all writers", || waiting(&case, "events") >= writers.len() as u64);
        hold.let_go();
        let ended = running.ended();
        assert!(ended.status.success(), "{ended:?}");
    });
    assert_eq!(case.kind("events"), "p");
    let changed =
        "SELECT string_agg(id || v, ' ' ORDER BY id) FROM events WHERE id < 0 OR v = 'updated'";
    assert_eq!(case.bench.value(changed), "-4b -3by a function -2prepared -1a 1updated");
    assert_eq!(case.bench.count("events WHERE id = 3"), 0);
    // The old table has none of these rows.
    case.same_rows("before", "events_old", "the old table");
}

fn readers_go_on(server: Server) {
    let case = Case::with_events(server, 20_000);
    let reader = case.bench.other();
    reader.run("PREPARE rows AS SELECT count(*), sum(id) FROM events");
    let before = reader.rows("EXECUTE rows");
    for point in ["payload::sent", "moving::copied", "moving::built", "moving::committed"] {
        let case = Case::with_events(server, 20_000);
        let reader = case.bench.other();
        reader.run("PREPARE rows AS SELECT count(*), sum(id) FROM events");
        let hold = case.bench.hold(point);
        let running = case.start(&[&["events", "-q"], &MONTHS[..]].concat(), &hold.environment());
        hold.wait();
        assert_eq!(reader.rows("EXECUTE rows"), before, "{point}");
        hold.let_go();
        assert!(running.ended().status.success());
        assert_eq!(reader.rows("EXECUTE rows"), before, "{point}");
    }
}

fn a_reader_delays_the_swap(server: Server) {
    let case = Case::with_events(server, 2000);
    let reader = case.bench.other();
    reader.run("BEGIN; SELECT FROM events LIMIT 1");
    let arguments = [&["events", "--max-lock=50ms"], &MONTHS[..]].concat();
    let running = case.start(&arguments, &[]);
    let swaps = "pg_locks WHERE relation = 'events'::regclass AND mode = 'AccessExclusiveLock'";
    wait_until("the swap", || case.bench.count(swaps) > 0);
    // Other sessions read between the move's attempts.
    for _ in 0..20 {
        case.bench.session.run(
            "SET statement_timeout = '2s'; SELECT count(*) FROM events; RESET statement_timeout",
        );
    }
    // The notice precedes the next attempt.
    wait_until("the end of an attempt", || case.bench.count(swaps) == 0);
    wait_until("the next attempt", || case.bench.count(swaps) > 0);
    reader.run("COMMIT");
    let ended = running.ended();
    assert!(ended.status.success(), "{ended:?}");
    assert!(
        ended.stderr.contains("waiting to swap in public.events: locked by process"),
        "{ended:?}"
    );
    case.is_moved("a reader that delays the swap");
}

/// Changes that the lock of the move allows are carried over, or the move is refused.
fn changes_while_the_swap_waits(server: Server) {
    for (change, is_moved) in [
        ("REVOKE ALL ON events FROM PUBLIC; GRANT DELETE ON events TO PUBLIC", true),
        ("CREATE VIEW later AS SELECT count(*) AS rows FROM events", true),
        ("DROP VIEW sooner", true),
        ("CREATE OR REPLACE VIEW sooner AS SELECT id, v FROM events", true),
        ("CREATE MATERIALIZED VIEW later AS SELECT id FROM events", false),
    ] {
        let case = Case::with_events(server, 2000);
        case.bench
            .session
            .run("GRANT INSERT ON events TO PUBLIC; CREATE VIEW sooner AS SELECT id FROM events");
        let reader = case.bench.other();
        reader.run("BEGIN; SELECT FROM events LIMIT 1");
        let arguments = [&["events", "-q", "--max-lock=50ms"], &MONTHS[..]].concat();
        let running = case.start(&arguments, &[]);
        let swaps = "pg_locks WHERE relation = 'events'::regclass AND mode = 'AccessExclusiveLock'";
        wait_until("the swap", || case.bench.count(swaps) > 0);
        case.bench.session.run(change);
        let seen = case.describe();
        reader.run("COMMIT");
        let ended = running.ended();
        assert_eq!(ended.status.success(), is_moved, "{change}: {ended:?}");
        assert_eq!(case.describe(), seen, "{change}");
        assert_eq!(case.kind("events") == "p", is_moved, "{change}");
    }
}

/// A column that is added between the survey and the lock is in the new table.
fn other_work_is_not_swapped_away(server: Server) {
    let case = Case::with_events(server, 2000);
    let other = case.bench.other();
    other.run(
        "BEGIN; INSERT INTO events VALUES (0, '2027-01-01', 'uncommitted'); INSERT INTO before VALUES (0, '2027-01-01', 'uncommitted');
         ALTER TABLE events ADD later int; UPDATE events SET later = 5; ALTER TABLE before ADD later int; UPDATE before SET later = 5",
    );
    let running = case.start(&[&["events", "-q"], &MONTHS[..]].concat(), &[]);
    wait_until("the move", || waiting(&case, "events") > 0);
    other.run("COMMIT");
    let ended = running.ended();
    assert!(ended.status.success(), "{ended:?}");
    case.is_moved("a transaction that ends as the move begins");
}

/// While ANALYZE waits for a leaf, the move holds no lock on another leaf, which autovacuum may want.
fn statistics_lock_one_leaf_at_a_time(server: Server) {
    let case = Case::with_events(server, 2000);
    case.bench.session.run("ALTER TABLE events DROP CONSTRAINT events_pkey; DROP INDEX events_v");
    let hold = case.bench.hold("moving::copied");
    let running = case.start(&[&["events", "-q"], &MONTHS[..]].concat(), &hold.environment());
    hold.wait();
    let vacuum = case.bench.other();
    vacuum.run("BEGIN; LOCK TABLE events_2026_02 IN SHARE UPDATE EXCLUSIVE MODE");
    hold.let_go();
    wait_until("ANALYZE", || waiting(&case, "events_2026_02") == 1);
    let others =
        "pg_locks WHERE relation IN ('events_2026_01'::regclass, 'events_2026_03'::regclass)";
    wait_until("the other leaves", || case.bench.count(others) == 0);
    vacuum.run("COMMIT");
    assert!(running.ended().status.success());
    case.is_moved("statistics");
}
