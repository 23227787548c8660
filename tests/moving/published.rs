//! Tables in a publication: a subscriber gets each change once, before, during and after the move.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use super::case::Case;
use crate::harness::{Bench, Place, Server, Session, on_each_server, wait_until, with_database};

on_each_server!([
    a_subscriber_gets_each_change_once,
    filters_and_columns,
    unsuitable_publications_are_refused,
]);

const BY_HASH: [&str; 4] = ["events", "--by=HASH (id)", "--leaves=3", "-q"];

const EVENTS: &str = "CREATE TABLE events (gone int, id bigint PRIMARY KEY, v text, n int);
                      ALTER TABLE events DROP COLUMN gone";

const ROWS: &str = "SELECT concat(count(*), ' ', sum(hashtext(e::text))) FROM events AS e";

fn a_subscriber_gets_each_change_once(server: Server) {
    let place = Place::new(server);
    let url = place.start_with("wal_level=logical");
    let case = Case { bench: Bench::from_url(&url) };
    case.bench.session.run(&format!(
        "{EVENTS}; INSERT INTO events SELECT i, md5(i::text) FROM generate_series(1, 5000) AS i;
         CREATE PUBLICATION p FOR TABLE events WITH (publish_via_partition_root = true)"
    ));
    case.bench.session.run("CREATE DATABASE subscriber");
    let subscriber = Session::open(&with_database(&url, "subscriber"));
    subscriber.run(EVENTS);
    case.bench.session.run("SELECT pg_create_logical_replication_slot('slot', 'pgoutput')");
    subscriber.run(&format!(
        "CREATE SUBSCRIPTION s CONNECTION '{url}' PUBLICATION p WITH (create_slot = false, slot_name = 'slot')"
    ));
    let is_equal = || case.bench.session.rows(ROWS) == subscriber.rows(ROWS);
    wait_until("the subscriber to have the rows", is_equal);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let session = case.bench.other();
            for i in (1..).take_while(|_| !is_over.load(SeqCst)) {
                session.run(&format!(
                    "UPDATE events SET n = {i} WHERE id = {i} % 5000; INSERT INTO events VALUES ({i} + 5000, 'new');
                     BEGIN; DELETE FROM events WHERE id = {i} * 7 % 5000; INSERT INTO events VALUES ({i} * 7 % 5000, 'back'); COMMIT"
                ));
            }
        });
        let ended = case.start(
            &BY_HASH,
            &[("PGSLUICE_FAILPOINT", "moving::committed"), ("PGSLUICE_FAILPOINT_SLEEP", "300")],
        );
        let ended = ended.ended();
        is_over.store(true, SeqCst);
        assert!(ended.status.success(), "{ended:?}");
    });
    assert_eq!(case.kind("events"), "p");
    wait_until("the subscriber to have the changes", is_equal);
    case.bench
        .session
        .run("INSERT INTO events VALUES (-1, 'last'); UPDATE events SET id = -2 WHERE id = -1");
    wait_until("the subscriber to have the last change", is_equal);
    assert_eq!(subscriber.rows("SELECT v FROM events WHERE id = -2").len(), 1);
}

fn filters_and_columns(server: Server) {
    if server.lacks(15, "WHERE of a publication") {
        return;
    }
    let case = Case::new(server);
    case.bench.session.run(&format!(
        "{EVENTS}; INSERT INTO events VALUES (1);
         CREATE PUBLICATION p FOR TABLE events (n, id) WHERE (id > 5 AND id <> 7) WITH (publish_via_partition_root = true);
         CREATE PUBLICATION \"P 2\" FOR TABLE events WITH (publish_via_partition_root = true)"
    ));
    let published = "SELECT pubname::text, attnames::text, rowfilter FROM pg_publication_tables
                     WHERE tablename = 'events' ORDER BY pubname::text COLLATE \"C\"";
    let before = case.bench.session.rows(published);
    assert_eq!(before.len(), 2);
    case.moves("events", &BY_HASH[1..]);
    assert_eq!(case.bench.session.rows(published), before);
    let others = "pg_publication_rel WHERE prrelid <> 'events'::regclass";
    assert_eq!(case.bench.count(others), 0);
    // The server refuses to update rows whose key is not published.
    let case = Case::new(server);
    case.bench.session.run(
        "CREATE TABLE events (id bigint PRIMARY KEY, placed date NOT NULL, v text);
         INSERT INTO events VALUES (1, '2026-01-01');
         CREATE PUBLICATION p FOR TABLE events (id, v) WITH (publish_via_partition_root = true)",
    );
    let widened = ["events", "--by=RANGE (placed)", "--step=month", "--widen-keys", "-q"];
    case.run(&widened).fails(
        2,
        &[
            "Publication p does not publish placed, which the primary key gets.",
            "Add placed to the columns of publication p.",
        ],
    );
    case.bench.session.run("ALTER PUBLICATION p SET TABLE events (id, v, placed)");
    case.moves("events", &widened[1..]);
    case.bench.session.run("UPDATE events SET v = 'later'");
}

fn unsuitable_publications_are_refused(server: Server) {
    let case = Case::with_events(server, 50);
    for (publication, why, next) in [
        (
            "CREATE PUBLICATION p FOR TABLE events",
            "Publication p would publish the new partitions under their own names.",
            "ALTER PUBLICATION p SET (publish_via_partition_root = true);",
        ),
        (
            "CREATE PUBLICATION p FOR TABLE events WITH (publish_via_partition_root = true, publish = 'insert')",
            "Publication p publishes only some of INSERT, UPDATE and DELETE",
            "ALTER PUBLICATION p SET (publish = 'insert, update, delete, truncate');",
        ),
        (
            "CREATE PUBLICATION p FOR ALL TABLES",
            "Publication p publishes all tables, and would publish the new ones.",
            "Replace it by a publication of single tables.",
        ),
    ] {
        case.bench.session.run(publication);
        case.run(&BY_HASH).fails(2, &[why, next]);
        case.is_untouched(publication);
        case.bench.session.run("DROP PUBLICATION p");
    }
}
