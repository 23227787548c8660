//! Online moves that were killed during the copy: the next run continues with the rows that are in the tree.

use super::case::{Case, MONTHS};
use super::voided::arguments;
use crate::harness::{Server, on_each_server, wait_until};

on_each_server!([
    a_copy_is_continued,
    rows_that_moved_are_copied_again,
    the_table_is_vacuumed_while_it_is_copied,
    entries_that_were_followed_take_no_space,
    triggers_without_a_record,
]);

/// A table with more rows than the first transaction takes.
fn with_wide_rows(server: Server) -> Case {
    let case = Case::with_events(server, 0);
    case.bench.session.run(
        "INSERT INTO events SELECT i, date '2026-01-10' + i % 70, repeat(md5(i::text), 8) FROM generate_series(1, 60000) AS i;
         INSERT INTO before TABLE events",
    );
    case
}

/// Moves until some rows are in the tree, but not all.
fn killed_in_the_copy(case: &Case) {
    let killed = case.start(&arguments(), &[("PGSLUICE_FAILPOINT", "payload::committed")]).ended();
    assert_eq!(killed.status.code(), None, "{killed:?}");
    case.bench.wait_for_sessions();
    let copied = case.bench.count("events_new");
    assert!(copied > 0 && copied < case.bench.count("events"), "{copied}");
}

fn a_copy_is_continued(server: Server) {
    let case = with_wide_rows(server);
    killed_in_the_copy(&case);
    let status = case.run(&["status"]);
    assert!(
        status.stdout.contains("to go on: pgsluice partition swap public.events"),
        "{status:?}"
    );
    // Changes between the runs are followed, wherever the row is in the table.
    case.bench.session.run(
        "UPDATE events SET v = 'changed', placed = placed + 31 WHERE id % 10 = 1 AND placed < '2026-02-01';
         DELETE FROM events WHERE id % 10 = 2; INSERT INTO events VALUES (0, '2026-02-01', 'later');
         DROP TABLE before; CREATE TABLE before AS SELECT * FROM events",
    );
    let ended = case.run(&arguments());
    assert!(ended.status.success(), "{ended:?}");
    case.is_moved("a copy that was continued");
    case.nothing_beside("a copy that was continued");
    // A single load copied the rows.
    assert_eq!(case.bench.count("pgsluice.load"), 1);
    assert_eq!(case.bench.count("pgsluice.receipt"), 0);
}

/// The positions of rows tell which of them are in the tree, so a rewritten table is copied again.
fn rows_that_moved_are_copied_again(server: Server) {
    let case = with_wide_rows(server);
    killed_in_the_copy(&case);
    case.bench.session.run("DELETE FROM events WHERE id % 3 = 0");
    case.bench.session.run("VACUUM FULL events");
    case.bench.session.run("DROP TABLE before; CREATE TABLE before AS SELECT * FROM events");
    case.run(&arguments()).fails(
        1,
        &[
            "not all changes of table public.events were logged",
            "It was rewritten before all rows were copied.",
        ],
    );
    assert_eq!(case.kind("events"), "r");
    case.nothing_beside("a table that was rewritten");
    assert_eq!(case.bench.count("pgsluice.load"), 0);
    case.moves("events", &MONTHS[..3]);
    case.is_moved("a table that was rewritten");
}

fn the_table_is_vacuumed_while_it_is_copied(server: Server) {
    let case = with_wide_rows(server);
    let hold = case.bench.hold("payload::sent");
    let running = case.start(&arguments(), &hold.environment());
    hold.wait();
    let oldest = "SELECT concat(string_agg(query, ' | ')) FROM pg_stat_activity WHERE application_name = 'pgsluice'
                  AND backend_xmin IS NOT NULL AND state = 'idle in transaction'";
    // A session may be between two statements. One that kept its snapshot would keep it until the copy continues.
    wait_until("the end of all snapshots", || case.bench.value(oldest).is_empty());
    hold.let_go();
    assert!(running.ended().status.success());
    case.is_moved("a table without a snapshot");
}

/// Triggers without a record exist in a restored dump, or after the ledger was dropped.
fn triggers_without_a_record(server: Server) {
    for is_moved in [false, true] {
        let case = Case::with_events(server, 1000);
        let stopped = case.run(&[&arguments()[..], &["--until=copy"]].concat());
        assert!(stopped.status.success(), "{stopped:?}");
        case.bench.session.run("DROP SCHEMA pgsluice CASCADE");
        let status = case.run(&["status"]);
        let expected = "public.events  has triggers of a move that the ledger does not have; to drop them: \
                        pgsluice partition abort public.events\n";
        assert_eq!(status.stdout, expected, "{status:?}");
        let json: serde_json::Value =
            serde_json::from_str(&case.run(&["status", "--json"]).stdout).unwrap();
        assert_eq!(
            (&json[0]["phase"], &json[0]["tree"]),
            (&"lost".into(), &serde_json::Value::Null)
        );
        if is_moved {
            case.moves("events", &MONTHS[..3]);
            case.is_moved("a lost move");
        } else {
            let aborted = case.run(&["abort", "events"]);
            assert!(aborted.status.success(), "{aborted:?}");
            case.is_untouched("a lost move");
        }
        case.nothing_beside("a lost move");
        assert_eq!(case.run(&["status"]).stdout, "no table is being partitioned\n");
    }
}

/// This holds even while an old snapshot keeps VACUUM from removing the entries.
fn entries_that_were_followed_take_no_space(server: Server) {
    let case = Case::with_events(server, 1000);
    let stopped = case.run(&[&arguments()[..], &["--until=copy"]].concat());
    assert!(stopped.status.success(), "{stopped:?}");
    let old = case.bench.other();
    old.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM before");
    let sizes = "SELECT concat(pg_relation_size('events_log') / 1000000, ' ', pg_relation_size('events_log_second') / 1000000)";
    for _ in 0..2 {
        for _ in 0..150 {
            case.bench.session.run("UPDATE events SET v = v");
        }
        assert_ne!(case.bench.value(sizes), "0 0");
        let followed = case.run(&[
            "events",
            "--json",
            "-q",
            "--by=RANGE (placed)",
            "--step=month",
            "--until=follow",
        ]);
        assert!(followed.status.success(), "{followed:?}");
    }
    assert_eq!(case.bench.value(sizes), "0 0");
    old.run("COMMIT");
    let swapped = case.run(&["swap", "events", "--json", "-q"]);
    assert!(swapped.status.success(), "{swapped:?}");
    case.is_moved("a long log");
}
