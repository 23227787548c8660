//! Online moves against other sessions, roles and limits of the server.

use std::time::{Duration, Instant};

use super::case::{Case, MONTHS};
use super::voided::{arguments, moved_during};
use crate::harness::{Role, Server, on_each_server, wait_until};

on_each_server!([
    a_vacuum_that_takes_its_time,
    a_key_column_that_is_renamed,
    a_role_that_loses_its_rights,
    a_server_without_space,
    row_security_of_the_table,
    a_session_that_writes_before_and_after_a_turn,
    two_moves_at_once,
    another_table_has_the_name_for_a_while,
]);

/// VACUUM and autovacuum hold SHARE UPDATE EXCLUSIVE. The swap waits for them and lets writers pass.
fn a_vacuum_that_takes_its_time(server: Server) {
    let case = Case::with_events(server, 2000);
    let hold = case.bench.hold("moving::followed");
    let running = case.start(&arguments(), &hold.environment());
    hold.wait();
    let vacuum = case.bench.other();
    vacuum.run("BEGIN; LOCK TABLE events IN SHARE UPDATE EXCLUSIVE MODE");
    hold.let_go();
    let waits = "pg_locks WHERE relation = 'events'::regclass AND NOT granted AND mode = 'ShareUpdateExclusiveLock'";
    wait_until("the swap", || case.bench.count(waits) > 0);
    let began = Instant::now();
    for count in 0..20 {
        case.bench.session.run(&format!(
            "INSERT INTO events VALUES (-{count}, '2026-02-01', 'between');
             INSERT INTO before VALUES (-{count}, '2026-02-01', 'between')"
        ));
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    vacuum.run("COMMIT");
    let ended = running.ended();
    assert!(ended.status.success(), "{ended:?}");
    case.is_moved("a vacuum");
}

/// The trigger fails, and each write with it, until the move has ended.
fn a_key_column_that_is_renamed(server: Server) {
    let case = Case::with_events(server, 2000);
    let write = "INSERT INTO events VALUES (0, '2026-02-01', 'later')";
    let hold = case.bench.hold("moving::copied");
    let running = case.start(&arguments(), &hold.environment());
    hold.wait();
    case.bench.session.run("ALTER TABLE events RENAME id TO number");
    assert!(case.bench.session.try_run(write).is_err());
    hold.let_go();
    running.ended().fails(1, &["Its columns were altered."]);
    case.nothing_beside("a renamed column");
    case.is_untouched("a renamed column");
    case.bench.session.run(write);
}

/// The move cannot drop the triggers of a table that its role no longer owns, until the role owns it again.
fn a_role_that_loses_its_rights(server: Server) {
    let case = Case::with_events(server, 2000);
    let mover = Role::new(&case.bench);
    case.bench.session.run(&format!(
        "GRANT ALL ON SCHEMA public TO {0}; ALTER TABLE events OWNER TO {0}",
        mover.name
    ));
    let grant = case.bench.value(&format!(
        "SELECT format('GRANT CREATE, TEMPORARY ON DATABASE %I TO {}', current_database())",
        mover.name
    ));
    case.bench.session.run(&grant);
    let hold = case.bench.hold("moving::copied");
    let running = case.start_on(&mover.url, &arguments(), &hold.environment());
    hold.wait();
    case.bench.session.run("ALTER TABLE events OWNER TO CURRENT_USER");
    hold.let_go();
    running.ended().fails(1, &["(SQLSTATE 42501)", "pgsluice partition abort public.events"]);
    // Other sessions write, and their changes are logged.
    case.bench.session.run(
        "INSERT INTO events VALUES (0, '2026-02-01', 'later'); DELETE FROM events WHERE id = 0",
    );
    case.bench.session.run(&format!("ALTER TABLE events OWNER TO {}", mover.name));
    let aborted = case.start_on(&mover.url, &["abort", "events"], &[]).ended();
    assert!(aborted.status.success(), "{aborted:?}");
    case.nothing_beside("a role without rights");
    case.is_untouched("a role without rights");
}

/// A limit of the server that is raised later: the next run continues.
fn a_server_without_space(server: Server) {
    let case = Case::with_events(server, 100_000);
    let database = case.bench.value("SELECT quote_ident(current_database())");
    let set = |what: &str| case.bench.session.run(&format!("ALTER DATABASE {database} {what}"));
    set("SET temp_file_limit = '64kB'");
    set("SET maintenance_work_mem = '1MB'");
    case.bench.session.run("CREATE INDEX events_both ON events (v, id)");
    case.run(&arguments()).fails(
        1,
        &["(SQLSTATE 53400)", "The rows that were copied are kept", "run the command again"],
    );
    let tree = case.bench.value("SELECT 'events_new'::regclass::oid");
    set("RESET temp_file_limit");
    case.moves("events", &MONTHS[..3]);
    case.is_moved("a server without space");
    assert_eq!(case.bench.value("SELECT 'events'::regclass::oid"), tree);
}

/// The move is refused if policies hide rows from the role.
fn row_security_of_the_table(server: Server) {
    let case = Case::with_events(server, 500);
    let owner = Role::new(&case.bench);
    case.bench.session.run(&format!(
        "GRANT ALL ON SCHEMA public TO {0}; ALTER TABLE events OWNER TO {0};
         ALTER TABLE events ENABLE ROW LEVEL SECURITY; ALTER TABLE events FORCE ROW LEVEL SECURITY;
         CREATE POLICY some_rows ON events USING (id % 2 = 0)",
        owner.name
    ));
    let grant = case.bench.value(&format!(
        "SELECT format('GRANT CREATE, TEMPORARY ON DATABASE %I TO {}', current_database())",
        owner.name
    ));
    case.bench.session.run(&grant);
    for mode in [&["--offline"][..], &[]] {
        let arguments = [&arguments()[..], mode].concat();
        let ended = case.start_on(&owner.url, &arguments, &[]).ended();
        ended.fails(1, &["row-level security"]);
        case.is_untouched("hidden rows");
    }
    // A superuser sees all rows.
    case.moves("events", &MONTHS[..3]);
    case.is_moved("row security");
}

/// Entries of the session are in the log table that pgsluice no longer uses, and are followed like all others.
fn a_session_that_writes_before_and_after_a_turn(server: Server) {
    let case = Case::with_events(server, 2000);
    let stopped = case.run(&[&arguments()[..], &["--until=copy"]].concat());
    assert!(stopped.status.success(), "{stopped:?}");
    let long = case.bench.other();
    long.run("BEGIN; UPDATE events SET v = 'before the turn' WHERE id <= 10");
    for _ in 0..60 {
        case.bench.session.run("UPDATE events SET v = v WHERE id > 100");
    }
    let hold = case.bench.hold("moving::followed");
    let running = case.start(&arguments(), &hold.environment());
    hold.wait();
    let entries = |table: &str| case.bench.count(&format!("ONLY {table}"));
    case.bench.session.run("UPDATE events SET v = v WHERE id > 1990");
    assert!(entries("events_log_second") > 0);
    long.run("UPDATE events SET v = 'after the turn' WHERE id <= 5; COMMIT");
    assert!(entries("events_log") > 0);
    case.bench.session.run("DROP TABLE before; CREATE TABLE before AS SELECT * FROM events");
    hold.let_go();
    let ended = running.ended();
    assert!(ended.status.success(), "{ended:?}");
    case.is_moved("a long transaction");
    case.nothing_beside("a long transaction");
}

/// No row is ever read from that other table.
fn another_table_has_the_name_for_a_while(server: Server) {
    for point in ["moving::logged", "moving::copied", "moving::built", "moving::followed"] {
        let case = Case::with_events(server, 2000);
        let ended = moved_during(
            &case,
            point,
            "UPDATE events SET v = 'changed' WHERE id <= 100; UPDATE before SET v = 'changed' WHERE id <= 100;
             BEGIN; ALTER TABLE events RENAME TO aside; CREATE TABLE events (LIKE aside INCLUDING ALL);
             INSERT INTO events SELECT id, placed, 'another' FROM aside; COMMIT",
        );
        ended.fails(1, &["another table is called public.events now"]);
        case.bench.session.run("DROP TABLE events; ALTER TABLE aside RENAME TO events");
        case.nothing_beside(point);
        case.is_untouched(point);
    }
}

fn two_moves_at_once(server: Server) {
    let case = Case::with_events(server, 2000);
    let ended = {
        let hold = case.bench.hold("moving::copied");
        let first = case.start(&arguments(), &hold.environment());
        hold.wait();
        for command in [&arguments()[..], &["swap", "events"], &["abort", "events"]] {
            case.run(command).fails(1, &["(SQLSTATE 55006)"]);
        }
        hold.let_go();
        first.ended()
    };
    assert!(ended.status.success(), "{ended:?}");
    case.is_moved("two moves");
}
