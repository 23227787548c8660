//! Changes other than writes during an online move: they are carried over, or the move is refused. No write is ever lost.

use super::case::{Case, MONTHS};
use crate::harness::{Ended, Server, on_each_server, wait_until};

on_each_server!([
    changes_that_are_not_logged,
    changes_that_are_carried_over,
    changes_that_the_tree_cannot_take_end_the_move,
    tables_without_a_key,
    a_kill_at_each_point,
    an_interrupt_keeps_the_copy,
    a_swap_later,
    the_state_is_the_owners,
    an_abort_leaves_nothing,
    a_reader_delays_neither_writers_nor_the_swap_for_long,
    foreign_keys_of_the_table,
    the_log_is_capped,
]);

/// Arguments of an online move by months.
pub(super) fn arguments() -> Vec<&'static str> {
    [&["events", "--json", "-q"], &MONTHS[..3]].concat()
}

/// Moves `events`, and makes `change` at a point of the move.
pub(super) fn moved_during(case: &Case, point: &'static str, change: &str) -> Ended {
    let hold = case.bench.hold(point);
    let running = case.start(&arguments(), &hold.environment());
    hold.wait();
    case.bench.session.run(change);
    hold.let_go();
    running.ended()
}

fn changes_that_are_not_logged(server: Server) {
    for (change, part) in [
        ("TRUNCATE events", "not all changes of table public.events were logged"),
        ("TRUNCATE events; INSERT INTO events SELECT * FROM before", "It was truncated"),
        (
            "ALTER TABLE events DISABLE TRIGGER ALL; UPDATE events SET v = 'unseen';
             ALTER TABLE events ENABLE TRIGGER ALL",
            "was dropped, disabled or altered",
        ),
        (
            "ALTER TABLE events DISABLE TRIGGER pgsluice_log; UPDATE events SET v = 'unseen';
             ALTER TABLE events ENABLE ALWAYS TRIGGER pgsluice_log",
            "was dropped, disabled or altered",
        ),
        ("DROP TRIGGER pgsluice_truncate ON events", "was dropped, disabled or altered"),
        ("ALTER TABLE events ADD more int", "Its columns were altered."),
        ("ALTER TABLE events DROP v, ADD v text", "Its columns were altered."),
        ("ALTER TABLE events RENAME v TO w", "Its columns were altered."),
        (
            "ALTER TABLE events ALTER v TYPE text USING v || ' rewritten'",
            "It was rewritten, and its columns were altered.",
        ),
    ] {
        for point in ["moving::copied", "moving::followed"] {
            let case = Case::with_events(server, 2000);
            let ended = moved_during(&case, point, change);
            ended.fails(1, &[part]);
            assert_eq!(case.kind("events"), "r", "{change}");
            case.nothing_beside(change);
            assert_eq!(case.moves_left(), 0, "{change}");
            // The next move starts from the beginning.
            case.bench
                .session
                .run("DROP TABLE before; CREATE TABLE before AS SELECT * FROM events");
            case.bench.session.run("INSERT INTO events VALUES (0, '2026-02-01', 'later'); INSERT INTO before VALUES (0, '2026-02-01', 'later')");
            case.moves("events", &MONTHS[..3]);
            case.is_moved(change);
        }
    }
}

fn changes_that_are_carried_over(server: Server) {
    for (change, on_copy) in [
        ("VACUUM FULL events", ""),
        ("CLUSTER events USING events_pkey", ""),
        (
            "BEGIN; SET LOCAL session_replication_role = replica; UPDATE events SET v = 'replica' WHERE id < 9; COMMIT",
            "UPDATE before SET v = 'replica' WHERE id < 9",
        ),
        ("DELETE FROM events", "DELETE FROM before"),
        (
            "UPDATE events SET id = -id, placed = placed + 20",
            "UPDATE before SET id = -id, placed = placed + 20",
        ),
        ("GRANT SELECT ON events TO PUBLIC", ""),
        ("CREATE VIEW later AS SELECT count(*) AS rows FROM events", ""),
        ("COMMENT ON COLUMN events.v IS NULL", ""),
        (
            "CREATE FUNCTION noop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
          CREATE TRIGGER later AFTER UPDATE ON events FOR EACH ROW EXECUTE FUNCTION noop()",
            "",
        ),
    ] {
        let case = Case::with_events(server, 2000);
        let ended = moved_during(&case, "moving::copied", change);
        assert!(ended.status.success(), "{change}: {ended:?}");
        case.bench.session.run(on_copy);
        case.is_moved(change);
        case.nothing_beside(change);
    }
}

/// A change that the new table cannot have ends the move, and the table does not change.
fn changes_that_the_tree_cannot_take_end_the_move(server: Server) {
    for (change, part) in [
        ("CREATE INDEX later ON events (v)", "its index later would differ"),
        ("ALTER TABLE events ADD CHECK (id > 0)", "its constraint events_id_check would differ"),
        (
            "CREATE MATERIALIZED VIEW later AS SELECT id FROM events",
            "Materialized view public.later depends on it.",
        ),
        (
            "INSERT INTO events VALUES (0, '2031-01-01', 'later')",
            "use a larger --ahead, or --default-partition",
        ),
        (
            "ALTER TABLE events RENAME TO other; CREATE TABLE events AS SELECT * FROM other",
            "another table is called public.events now",
        ),
    ] {
        let case = Case::with_events(server, 2000);
        let ended = moved_during(&case, "moving::copied", change);
        assert!(!ended.status.success(), "{change}: {ended:?}");
        assert!(ended.stderr.contains(part) || ended.stdout.contains(part), "{change}: {ended:?}");
        assert_eq!(case.kind("events"), "r", "{change}");
        case.nothing_beside(change);
        assert_eq!(case.moves_left(), 0, "{change}");
    }
}

fn tables_without_a_key(server: Server) {
    for key in [
        "",
        "ALTER TABLE events ADD UNIQUE (id, placed) DEFERRABLE",
        "ALTER TABLE events ADD maybe int; CREATE UNIQUE INDEX ON events (maybe, placed)",
        "CREATE UNIQUE INDEX ON events (id, placed) WHERE id > 0",
    ] {
        let case = Case::with_events(server, 50);
        case.bench.session.run(&format!("ALTER TABLE events DROP CONSTRAINT events_pkey; {key}"));
        case.run(&arguments()).fails(2, &["No primary key identifies its rows", "--offline"]);
        assert_eq!(case.kind("events"), "r", "{key}");
    }
}

fn a_kill_at_each_point(server: Server) {
    for point in [
        "moving::created",
        "moving::logged",
        "payload::committed",
        "moving::copied",
        "moving::built",
        "moving::followed",
        "moving::committing",
        "moving::committed",
    ] {
        let case = Case::with_events(server, 20_000);
        let seen = case.describe();
        let killed = case.start(&arguments(), &[("PGSLUICE_FAILPOINT", point)]).ended();
        assert_eq!(killed.status.code(), None, "{point}: {killed:?}");
        case.bench.wait_for_sessions();
        if point == "moving::committed" {
            case.is_moved(point);
            case.nothing_beside(point);
            continue;
        }
        let status = case.run(&["status"]);
        assert!(status.stdout.contains("public.events  "), "{point}: {status:?}");
        case.bench.session.run(
            "INSERT INTO events VALUES (0, '2026-02-01', 'later'); DELETE FROM events WHERE id = 7;
             INSERT INTO before VALUES (0, '2026-02-01', 'later'); DELETE FROM before WHERE id = 7",
        );
        let tree = case.bench.value("SELECT 'events_new'::regclass::oid");
        case.moves("events", &MONTHS[..3]);
        case.is_moved(point);
        case.nothing_beside(point);
        assert_eq!(case.describe(), seen, "{point}");
        // Once rows are copied, the next process continues.
        let goes_on = !["moving::created", "moving::logged"].contains(&point);
        assert_eq!(case.bench.value("SELECT 'events'::regclass::oid") == tree, goes_on, "{point}");
    }
}

/// Copied rows are not copied again, unless the arguments change.
fn an_interrupt_keeps_the_copy(server: Server) {
    for (more, goes_on) in [(None, true), (Some("--ahead=1"), false), (Some("--offline"), false)] {
        let case = Case::with_events(server, 2000);
        let hold = case.bench.hold("moving::followed");
        let running = case.start(&arguments(), &hold.environment());
        hold.wait();
        running.signal("-INT");
        hold.let_go();
        running.ended().fails(130, &["interrupted", "run the command again", "partition abort"]);
        let change = "INSERT INTO events VALUES (0, '2026-02-01', 'later'); DELETE FROM events WHERE id = 7;
                      INSERT INTO before VALUES (0, '2026-02-01', 'later'); DELETE FROM before WHERE id = 7";
        case.bench.session.run(change);
        let tree = case.bench.value("SELECT 'events_new'::regclass::oid");
        let mut again: Vec<&str> = MONTHS[..3].to_vec();
        again.extend(more);
        case.moves("events", &again);
        case.is_moved("an interrupt");
        case.nothing_beside("an interrupt");
        assert_eq!(case.bench.value("SELECT 'events'::regclass::oid") == tree, goes_on, "{more:?}");
    }
}

/// Another command swaps a move that stopped after a phase.
fn a_swap_later(server: Server) {
    let case = Case::with_events(server, 2000);
    let seen = case.describe();
    let write = |id: i32| {
        case.bench.session.run(&format!(
            "INSERT INTO events VALUES ({id}, '2026-02-01', 'later'); UPDATE events SET v = '{id}' WHERE id = 7;
             INSERT INTO before VALUES ({id}, '2026-02-01', 'later'); UPDATE before SET v = '{id}' WHERE id = 7"
        ));
    };
    case.run(&["swap", "events"])
        .fails(2, &["no rows of table public.events are kept", "partition status"]);
    let mut tree = None;
    for (id, phase) in [(-1, "copy"), (-2, "follow"), (-3, "copy"), (-4, "follow")] {
        write(id);
        let ended = case.run(&[&arguments()[..], &["--until", phase]].concat());
        assert!(ended.status.success(), "{phase}: {ended:?}");
        let moved: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(
            (&moved["swapped"], case.kind("events").as_str()),
            (&false.into(), "r"),
            "{moved}"
        );
        let now = case.bench.value("SELECT 'events_new'::regclass::oid");
        assert_eq!(tree.get_or_insert(now.clone()), &now, "{phase}");
        let status = case.run(&["status"]);
        assert!(
            status.stdout.contains("to go on: pgsluice partition swap public.events"),
            "{status:?}"
        );
    }
    write(-5);
    let swapped = case.run(&["swap", "public.events"]);
    assert!(swapped.status.success(), "{swapped:?}");
    assert_eq!(Some(case.bench.value("SELECT 'events'::regclass::oid")), tree);
    case.is_moved("a swap later");
    case.nothing_beside("a swap later");
    assert_eq!((case.describe(), case.moves_left()), (seen, 0));
}

/// The saved state of a move contains SQL. A role that can write to the ledger cannot inject SQL there.
fn the_state_is_the_owners(server: Server) {
    let case = Case::with_events(server, 500);
    let killed = case.start(&arguments(), &[("PGSLUICE_FAILPOINT", "moving::followed")]).ended();
    assert_eq!(killed.status.code(), None, "{killed:?}");
    case.bench.wait_for_sessions();
    let role = crate::harness::Role::new(&case.bench);
    case.bench.session.run(&format!(
        "DO $$ BEGIN
             EXECUTE format('CREATE TABLE evil AS SELECT 1 AS key_number');
             EXECUTE format('COMMENT ON TABLE evil IS %L', obj_description('events_log'::regclass));
             EXECUTE format('COMMENT ON COLUMN evil.key_number IS %L',
                            replace(col_description('events_log'::regclass, 1), 'PRIMARY KEY', 'DROP')); END $$;
         CREATE FUNCTION evil() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN NEW; END';
         ALTER TABLE evil OWNER TO {};
         UPDATE pgsluice.move SET log = 'evil'::regclass",
        role.name
    ));
    let tree = case.bench.value("SELECT 'events_new'::regclass::oid");
    let ended = case.run(&[&["events"], &MONTHS[..3]].concat());
    assert!(!ended.stderr.contains("going on"), "{ended:?}");
    // They cannot make the move drop other roles' functions either.
    assert_eq!(case.bench.value("SELECT count(*) FROM pg_proc WHERE proname = 'evil'"), "1");
    assert_ne!(case.bench.value("SELECT 'events'::regclass::oid"), tree, "{ended:?}");
}

fn an_abort_leaves_nothing(server: Server) {
    let case = Case::with_events(server, 2000);
    let seen = case.describe();
    for point in ["moving::created", "moving::logged", "moving::followed"] {
        let killed = case.start(&arguments(), &[("PGSLUICE_FAILPOINT", point)]).ended();
        assert_eq!(killed.status.code(), None, "{point}: {killed:?}");
        case.bench.wait_for_sessions();
        let aborted = case.run(&["abort", "events"]);
        assert!(aborted.status.success(), "{point}: {aborted:?}");
        case.is_untouched(point);
        case.nothing_beside(point);
        assert_eq!(case.describe(), seen, "{point}");
    }
}

/// The move waits for a long reader, and lets writers continue between its attempts.
fn a_reader_delays_neither_writers_nor_the_swap_for_long(server: Server) {
    let case = Case::with_events(server, 2000);
    let reader = case.bench.other();
    reader.run("BEGIN; SELECT FROM events LIMIT 1");
    let running = case.start(&[&["--max-lock=100ms"], &arguments()[..]].concat(), &[]);
    let swaps = "pg_locks WHERE relation = 'events'::regclass AND mode = 'AccessExclusiveLock'";
    wait_until("the swap", || case.bench.count(swaps) > 0);
    for count in 0..20 {
        case.bench.session.run(&format!(
            "SET statement_timeout = '2s'; INSERT INTO events VALUES (-{count}, '2026-02-01', 'between');
             INSERT INTO before VALUES (-{count}, '2026-02-01', 'between'); RESET statement_timeout",
        ));
    }
    reader.run("COMMIT");
    let ended = running.ended();
    assert!(ended.status.success(), "{ended:?}");
    case.is_moved("a reader");
}

/// The foreign keys are enforced from the swap on, and belong to the partitioned table in the end.
fn foreign_keys_of_the_table(server: Server) {
    let case = Case::with_events(server, 2000);
    case.bench.session.run(
        "CREATE TABLE kind (id bigint PRIMARY KEY); INSERT INTO kind SELECT generate_series(1, 2000);
         ALTER TABLE events ADD CONSTRAINT of_kind FOREIGN KEY (id) REFERENCES kind ON DELETE CASCADE;
         COMMENT ON CONSTRAINT of_kind ON events IS 'the kind'",
    );
    let seen = case.describe();
    // A row to which only the tree refers can be deleted.
    let change = "DELETE FROM kind WHERE id < 5; DELETE FROM before WHERE id < 5; INSERT INTO kind VALUES (-1);
                  INSERT INTO events VALUES (-1, '2026-02-01', 'new'); INSERT INTO before VALUES (-1, '2026-02-01', 'new')";
    let ended = moved_during(&case, "moving::followed", change);
    assert!(ended.status.success(), "{ended:?}");
    case.is_moved("foreign keys");
    assert_eq!(case.describe(), seen);
    let refused =
        case.bench.session.try_run("INSERT INTO events VALUES (-2, '2026-02-01', 'none')");
    assert_eq!(refused.unwrap_err().code().unwrap().code(), "23503");
    let invalid = "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND NOT convalidated";
    assert_eq!(case.bench.value(invalid), "0");
}

/// When the log has reached its cap it accepts no more entries, even after a rollback, and the move fails.
fn the_log_is_capped(server: Server) {
    let case = Case::with_events(server, 2000);
    let change = "SELECT setval('events_log_seq', 39999990);
                  BEGIN; UPDATE events SET v = 'more'; ROLLBACK";
    moved_during(&case, "moving::copied", change)
        .fails(1, &["not all changes", "more rows were changed than the log takes"]);
    case.is_untouched("a log that is full");
    case.nothing_beside("a log that is full");
}
