//! Two attempts at one share: one of them is committed, and both report it.

use std::thread;
use std::time::Duration;

use super::{ROWS, Shared};
use crate::harness::{Server, on_each_server, wait_until};

on_each_server!([
    the_second_waits_and_sends_nothing,
    the_second_goes_on_when_the_first_fails,
    the_silent_one_is_ended,
    one_that_works_is_not_ended,
    a_dead_one_is_ended_at_once_if_asked,
    others_go_on_meanwhile,
    the_first_of_all_begin_together,
    finish_waits_for_an_attempt,
    an_attempt_waits_for_finish,
]);

const WAITING: &str =
    "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                       AND query LIKE '%INSERT INTO%participant%'";

fn the_second_waits_and_sends_nothing(server: Server) {
    let shared = Shared::new(server);
    let hold = shared.bench.hold("atomic::committing");
    let first = shared.start(0, &[], &hold.environment());
    hold.wait();
    let size = "SELECT pg_relation_size('t_0')";
    let before = shared.bench.value(size);
    let second = shared.start(0, &[], &[]);
    wait_until("a claim that waits", || shared.bench.count(WAITING) == 1);
    hold.let_go();
    let (first, second) = (first.ended().summary(), second.ended().summary());
    assert_eq!(first["rows_loaded"], ROWS);
    assert_eq!((&second["rows_loaded"], &second["rows_already_loaded"]), (&0.into(), &ROWS.into()));
    assert_eq!(first["share"], second["share"]);
    shared.has(1);
    assert_eq!(shared.bench.value(size), before, "the twin has left dead rows");
}

fn the_second_goes_on_when_the_first_fails(server: Server) {
    let shared = Shared::new(server);
    let hold = shared.bench.hold("atomic::committing");
    let first = shared.start(0, &[], &hold.environment());
    hold.wait();
    let second = shared.start(0, &[], &[]);
    wait_until("a claim that waits", || shared.bench.count(WAITING) == 1);
    first.kill();
    assert_eq!(second.ended().summary()["rows_loaded"], ROWS);
    shared.has(1);
}

/// Its client is stopped and does not answer, like that of a lost executor.
fn the_silent_one_is_ended(server: Server) {
    let shared = Shared::new(server);
    let hold = shared.bench.hold("atomic::committing");
    let first = shared.start(0, &["--wait=30"], &hold.environment());
    hold.wait();
    first.signal("-STOP");
    let second = shared.start(0, &[], &[("PGSLUICE_SILENCE", "800")]).ended().summary();
    assert_eq!(second["rows_loaded"], ROWS);
    hold.let_go();
    first.signal("-CONT");
    // It was ended, and finds its share in the table.
    assert_eq!(first.ended().summary()["rows_already_loaded"], ROWS);
    shared.has(1);
}

/// An attempt that waits for the server's work is not considered silent, however long that takes.
fn one_that_works_is_not_ended(server: Server) {
    let shared = Shared::new(server);
    shared.bench.session.run(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN IF new.id = 5 THEN PERFORM pg_sleep(3); END IF; RETURN new; END';
         CREATE TRIGGER slow BEFORE INSERT ON t_0 FOR EACH ROW EXECUTE FUNCTION slow()",
    );
    let first = shared.start(0, &[], &[]);
    let sleeping = "pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()";
    wait_until("a trigger that sleeps", || shared.bench.count(sleeping) == 1);
    let second = shared.start(0, &[], &[("PGSLUICE_SILENCE", "500")]);
    assert_eq!(first.ended().summary()["rows_loaded"], ROWS);
    assert_eq!(second.ended().summary()["rows_loaded"], 0);
    shared.has(1);
}

fn a_dead_one_is_ended_at_once_if_asked(server: Server) {
    let shared = Shared::new(server);
    let hold = shared.bench.hold("atomic::committing");
    let first = shared.start(0, &["--wait=0"], &hold.environment());
    hold.wait();
    first.signal("-STOP");
    let second = shared.load(0, &["--end-other"]).summary();
    assert_eq!(second["rows_loaded"], ROWS);
    first.signal("-CONT");
    hold.let_go();
    first.ended();
    shared.has(1);
}

/// Shares do not wait for each other.
fn others_go_on_meanwhile(server: Server) {
    let shared = Shared::new(server);
    let hold = shared.bench.hold("atomic::committing");
    let first = shared.start(0, &[], &hold.environment());
    hold.wait();
    assert_eq!(shared.load(1, &[]).summary()["rows_loaded"], ROWS);
    hold.let_go();
    assert_eq!(first.ended().summary()["rows_loaded"], ROWS);
    shared.has(2);
}

/// The first attempt creates the ledger and the load, and the others find both.
fn the_first_of_all_begin_together(server: Server) {
    let shared = Shared::new(server);
    let all: Vec<_> =
        (0..8).map(|number| shared.start(number % 4, &["--participants=4"], &[])).collect();
    let loaded =
        all.into_iter().map(|load| load.ended().summary()["rows_loaded"].as_u64().unwrap());
    assert_eq!(loaded.sum::<u64>(), 4 * ROWS as u64);
    assert_eq!(shared.finish(&[]).status.code(), Some(0));
    shared.has(4);
}

/// The rows of a running attempt are included in the sums, or are not in the table.
fn finish_waits_for_an_attempt(server: Server) {
    let shared = Shared::new(server);
    shared.load(0, &[]).summary();
    let hold = shared.bench.hold("atomic::committing");
    let late = shared.start(1, &[], &hold.environment());
    hold.wait();
    thread::scope(|scope| {
        let finishing = scope.spawn(|| shared.finish(&[]));
        thread::sleep(Duration::from_millis(500));
        assert!(!finishing.is_finished());
        hold.let_go();
        assert_eq!(late.ended().summary()["rows_loaded"], ROWS);
        let finished = finishing.join().unwrap();
        assert!(finished.stdout.contains("\"participants\":2"), "{finished:?}");
    });
    shared.has(2);
}

/// An attempt that starts while the load is being finished is retried, and then finds the load finished.
fn an_attempt_waits_for_finish(server: Server) {
    let shared = Shared::new(server);
    let hold = shared.bench.hold("atomic::committing");
    let first = shared.start(0, &[], &hold.environment());
    hold.wait();
    thread::scope(|scope| {
        let finishing = scope.spawn(|| shared.finish(&[]));
        let waiting = "pg_locks WHERE locktype = 'advisory' AND NOT granted AND database =
                       (SELECT oid FROM pg_database WHERE datname = current_database())";
        wait_until("a finish that waits", || shared.bench.count(waiting) == 1);
        let late = shared.start(1, &[], &[]);
        thread::sleep(Duration::from_millis(500));
        hold.let_go();
        assert_eq!(first.ended().summary()["rows_loaded"], ROWS);
        assert_eq!(finishing.join().unwrap().status.code(), Some(0));
        late.ended().fails(1, &["error: load shared is finished, and does not have participant 1"]);
    });
    shared.has(1);
}
