//! Foreign keys of other tables, which refer to the new table after the move.

use super::case::Case;
use super::drained::{BY_MONTH, is_drained, with_key, with_orders};
use crate::harness::{Role, Server, on_each_server, wait_until};

on_each_server!([
    they_refer_to_the_new_table,
    they_refer_to_a_drained_table,
    many_leaves,
    rows_that_violate_them,
    a_kill_before_they_are_complete,
    unsuitable_foreign_keys_are_refused,
    a_writer_to_both_tables,
    they_act_in_their_order,
    a_table_that_refers_to_a_partitioned_one,
    partitions_that_refer_to_their_own_table,
]);

const BY_HASH: [&str; 3] = ["--by=HASH (id)", "--leaves=4", "-q"];

/// Tables that refer to `events`: one in a schema of its own, and one with a row that violates its foreign key.
const OTHERS: &str = r#"
CREATE SCHEMA "Shop";
CREATE TABLE "Shop"."Lines" (event bigint CONSTRAINT "of ""event" REFERENCES events ON UPDATE CASCADE ON DELETE CASCADE
                                          DEFERRABLE INITIALLY DEFERRED);
INSERT INTO "Shop"."Lines" SELECT generate_series(1, 400);
COMMENT ON CONSTRAINT "of ""event" ON "Shop"."Lines" IS 'it''s the event';
CREATE TABLE notes (a bigint, b bigint);
INSERT INTO notes VALUES (-1, 1);
ALTER TABLE notes ADD CONSTRAINT a FOREIGN KEY (a) REFERENCES events NOT VALID;
ALTER TABLE notes ADD CONSTRAINT b FOREIGN KEY (b) REFERENCES events ON DELETE SET NULL"#;

/// Returns [`OTHERS`], without the actions that a move before PostgreSQL 15 refuses.
fn others(server: Server) -> String {
    let action = |of: &str| if server.major() < 15 { String::new() } else { of.to_owned() };
    OTHERS
        .replace(
            "ON UPDATE CASCADE ON DELETE CASCADE",
            &action("ON UPDATE CASCADE ON DELETE CASCADE"),
        )
        .replace("ON DELETE SET NULL", &action("ON DELETE SET NULL"))
}

/// Describes all foreign keys that refer to `events`.
const REFERRING: &str = "
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), obj_description(oid, 'pg_constraint')
FROM pg_constraint WHERE confrelid = 'events'::regclass AND conparentid = 0 ORDER BY 1, 2";

/// Returns a table with a primary key that need not be widened.
fn with_id(server: Server) -> Case {
    let case = Case::with_events(server, 500);
    case.bench.session.run(
        "ALTER TABLE events DROP CONSTRAINT events_pkey; ALTER TABLE events ADD PRIMARY KEY (id)",
    );
    case
}

/// Checks that a statement violates a foreign key.
#[track_caller]
fn violates(case: &Case, sql: &str) {
    let error = case.bench.session.try_run(sql).unwrap_err();
    assert_eq!(error.code().map(|code| code.code()), Some("23503"), "{sql}: {error}");
}

fn they_refer_to_the_new_table(server: Server) {
    for arguments in [&["--offline"][..], &[]] {
        let case = with_id(server);
        case.bench.session.run(&others(server));
        let before = case.bench.session.rows(REFERRING);
        assert_eq!(before.len(), 3);
        let moved = case.moves("events", &[&BY_HASH[..], arguments].concat());
        let changes = moved["changes"].to_string();
        assert!(changes.contains("is NOT VALID from the swap until"), "{changes}");
        case.is_moved("others refer to it");
        assert_eq!(case.bench.session.rows(REFERRING), before);
        if server.major() >= 15 {
            case.bench.session.run("DELETE FROM events WHERE id <= 10");
            assert_eq!(case.bench.count("\"Shop\".\"Lines\""), 390);
            assert_eq!(case.bench.value("SELECT count(b) FROM notes"), "0");
        }
        violates(&case, "INSERT INTO notes VALUES (NULL, 501)");
        case.bench.session.run("DROP TABLE events_old");
    }
}

fn they_refer_to_a_drained_table(server: Server) {
    for arguments in [&["--offline"][..], &[]] {
        let case = with_orders(server, 3000);
        with_key(&case);
        case.bench.session.run(
            "CREATE TABLE lines (id bigint, placed date, FOREIGN KEY (id, placed) REFERENCES orders ON DELETE CASCADE);
             INSERT INTO lines SELECT id, placed FROM orders",
        );
        case.moves("orders_default", &[&BY_MONTH[..], arguments].concat());
        is_drained(&case, "others refer to it");
        let valid =
            "pg_constraint WHERE conrelid = 'lines'::regclass AND contype = 'f' AND convalidated
                     AND confrelid = 'orders'::regclass";
        assert_eq!(case.bench.count(valid), 1);
        case.bench.session.run("DELETE FROM orders WHERE id % 2 = 0");
        assert_eq!(case.bench.count("lines"), 1500);
        violates(&case, "INSERT INTO lines VALUES (2, '2026-01-12')");
    }
}

/// With many leaves, foreign keys are added after the swap, because they would make it slow.
fn many_leaves(server: Server) {
    let case = with_id(server);
    case.bench.session.run(&others(server));
    let before = case.bench.session.rows(REFERRING);
    let moved = case.moves("events", &["--by=HASH (id)", "--leaves=201", "-q"]);
    let changes = moved["changes"].to_string();
    assert!(changes.contains("is dropped in the swap and added after it"), "{changes}");
    case.is_moved("many leaves");
    assert_eq!(case.bench.session.rows(REFERRING), before);
    violates(&case, "INSERT INTO notes VALUES (NULL, 501)");
}

/// The hint of the error has the statement that completes the foreign key.
fn rows_that_violate_them(server: Server) {
    for leaves in ["--leaves=4", "--leaves=201"] {
        let case = with_id(server);
        case.bench.session.run(
            "CREATE TABLE lines (event bigint REFERENCES events); ALTER TABLE lines DISABLE TRIGGER ALL;
             INSERT INTO lines VALUES (1), (501); ALTER TABLE lines ENABLE TRIGGER ALL;
             CREATE TABLE kind (id bigint PRIMARY KEY); INSERT INTO kind SELECT generate_series(1, 502);
             ALTER TABLE events ADD CONSTRAINT own FOREIGN KEY (id) REFERENCES kind",
        );
        let ended = case.run(&["events", "--by=HASH (id)", leaves, "-q"]);
        ended.fails(
            1,
            &[
                "violates foreign key constraint \"lines_event_fkey\"",
                "Table public.events is partitioned.",
            ],
        );
        case.is_moved("a row violates a foreign key");
        assert_eq!(case.moves_left(), 0);
        violates(&case, "INSERT INTO lines VALUES (502)");
        let hint = ended.stderr.split("that are missing: ").nth(1).unwrap();
        let last = hint.lines().next().unwrap().split_inclusive(';').next_back().unwrap();
        violates(&case, last);
        case.bench.session.run(&format!("DELETE FROM lines WHERE event = 501; {last}"));
        let valid =
            "pg_constraint WHERE conrelid = 'lines'::regclass AND convalidated AND conparentid = 0";
        assert_eq!(case.bench.count(valid), 1);
        // The table's own foreign keys are complete.
        let own = "pg_constraint WHERE conrelid = 'events'::regclass AND conname = 'own' AND convalidated AND conparentid = 0";
        assert_eq!(case.bench.count(own), 1);
    }
}

/// New rows are checked from the swap on. The statement in the manual checks the existing rows.
fn a_kill_before_they_are_complete(server: Server) {
    let case = with_id(server);
    case.bench.session.run(&others(server));
    let before = case.bench.session.rows(REFERRING);
    let arguments = [&["events"], &BY_HASH[..]].concat();
    let killed = case.start(&arguments, &[("PGSLUICE_FAILPOINT", "moving::committed")]).ended();
    assert_eq!(killed.status.code(), None, "{killed:?}");
    case.bench.wait_for_sessions();
    case.is_moved("killed after the swap");
    violates(&case, "INSERT INTO notes VALUES (NULL, 501)");
    let validate =
        "SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I', conrelid::regclass, conname)
                    FROM pg_constraint WHERE contype = 'f' AND NOT convalidated AND conparentid = 0
                    AND confrelid = 'events'::regclass AND conname <> 'a'";
    for row in case.bench.session.rows(validate) {
        case.bench.session.run(row[0].as_deref().unwrap());
    }
    assert_eq!(case.bench.session.rows(REFERRING), before);
}

fn unsuitable_foreign_keys_are_refused(server: Server) {
    let case = with_id(server);
    let arguments = [&["events"], &BY_HASH[..]].concat();
    let mut refused = vec![(
        "ALTER TABLE events ADD CONSTRAINT above FOREIGN KEY (id) REFERENCES events",
        "Its foreign key above refers to the table itself.",
        "ALTER TABLE public.events DROP CONSTRAINT above;",
    )];
    if server.major() < 15 {
        refused.push((
            "CREATE TABLE gone (event bigint REFERENCES events ON DELETE CASCADE)",
            "Foreign key gone_event_fkey of table public.gone would act on a row that moves to another partition",
            "ALTER TABLE public.gone DROP CONSTRAINT gone_event_fkey;",
        ));
    }
    if server.major() < 18 {
        refused.push((
            "CREATE TABLE many (event bigint REFERENCES events) PARTITION BY HASH (event)",
            "Foreign key many_event_fkey of partitioned table public.many would be checked for all rows",
            "ALTER TABLE public.many DROP CONSTRAINT many_event_fkey;",
        ));
    } else {
        refused.push((
            "CREATE TABLE soft (event bigint REFERENCES events NOT ENFORCED)",
            "Foreign key soft_event_fkey of table public.soft is not enforced.",
            "ALTER TABLE public.soft DROP CONSTRAINT soft_event_fkey;",
        ));
    }
    for (change, why, next) in refused {
        case.bench.session.run(change);
        case.run(&arguments).fails(2, &[why, next]);
        case.bench.session.run(next);
    }
    // The hint enables the disabled triggers, and no other ones.
    case.bench.session.run("CREATE TABLE lines (event bigint REFERENCES events)");
    for table in ["lines", "events"] {
        case.bench.session.run(&format!("ALTER TABLE {table} DISABLE TRIGGER ALL"));
        let ended = case.run(&arguments);
        ended.fails(
            2,
            &["Triggers of foreign key lines_event_fkey of table public.lines are disabled."],
        );
        let hint = ended.stderr.split("HINT:  ").nth(1).unwrap();
        case.bench.session.run(hint.trim());
    }
    case.bench.session.run("DROP TABLE lines");
    let widened = ["events", "--by=RANGE (placed)", "--step=month", "--widen-keys"];
    case.bench.session.run("CREATE TABLE notes (event bigint REFERENCES events)");
    let why = "Foreign key notes_event_fkey of table public.notes refers to events_pkey, which gets another column.";
    case.run(&widened)
        .fails(2, &[why, "ALTER TABLE public.notes DROP CONSTRAINT notes_event_fkey;"]);
    let owner = Role::new(&case.bench);
    case.bench.session.run(&format!(
        "ALTER TABLE events OWNER TO {}; GRANT CREATE, USAGE ON SCHEMA public TO {}",
        owner.name, owner.name
    ));
    let ended = case.start_on(&owner.url, &arguments, &[]).ended();
    ended.fails(
        2,
        &["This role does not own public.notes, whose foreign key notes_event_fkey refers to it."],
    );
    case.is_untouched("refused");
}

/// A transaction that writes to the other table and then to this one waits, and does not fail.
fn a_writer_to_both_tables(server: Server) {
    let case = with_id(server);
    case.bench.session.run(&others(server));
    let hold = case.bench.hold("moving::followed");
    let running =
        case.start(&[&["events", "--max-lock=10s"], &BY_HASH[..]].concat(), &hold.environment());
    hold.wait();
    let writer = case.bench.other();
    writer.run("BEGIN; INSERT INTO notes VALUES (NULL, 1)");
    hold.let_go();
    let waits = "pg_locks WHERE NOT granted AND relation = 'notes'::regclass";
    wait_until("the lock on the other table", || case.bench.count(waits) > 0);
    writer.run("INSERT INTO events VALUES (1000, '2026-02-02', 'both'); INSERT INTO notes VALUES (NULL, 1000); COMMIT");
    case.bench.session.run("INSERT INTO before VALUES (1000, '2026-02-02', 'both')");
    let ended = running.ended();
    assert!(ended.status.success(), "{ended:?}");
    case.is_moved("a writer to both tables");
    assert_eq!(case.bench.count("notes WHERE b = 1000"), 1);
}

/// The server runs the actions of foreign keys in the order in which they were created.
fn they_act_in_their_order(server: Server) {
    if server.lacks(15, "a foreign key that acts on a row that moves as it did before") {
        return;
    }
    let case = with_id(server);
    case.bench.session.run(
        "CREATE TABLE items (id bigint, owner bigint CONSTRAINT z REFERENCES events ON DELETE CASCADE, other bigint);
         ALTER TABLE items ADD CONSTRAINT a FOREIGN KEY (other) REFERENCES events;
         INSERT INTO items SELECT i, i, i FROM generate_series(1, 10) AS i",
    );
    case.moves("events", &BY_HASH);
    case.bench.session.run("DELETE FROM events WHERE id = 1");
    assert_eq!(case.bench.count("items"), 9);
}

/// Both tables of a foreign key become partitioned, one after the other. The server marks the parts of a
/// foreign key that refer to single partitions as not valid.
fn a_table_that_refers_to_a_partitioned_one(server: Server) {
    let case = with_id(server);
    case.bench.session.run(
        "CREATE TABLE lines (id bigint PRIMARY KEY, event bigint REFERENCES events);
         INSERT INTO lines SELECT i, i FROM generate_series(1, 100) AS i",
    );
    case.moves("events", &BY_HASH);
    case.moves("lines", &BY_HASH);
    let valid = "pg_constraint WHERE conrelid = 'lines'::regclass AND confrelid = 'events'::regclass AND convalidated";
    assert_eq!(case.bench.count(valid), 1);
    violates(&case, "INSERT INTO lines VALUES (200, 501)");
}

fn partitions_that_refer_to_their_own_table(server: Server) {
    let case = with_orders(server, 500);
    with_key(&case);
    case.bench.session.run(
        "ALTER TABLE orders_default ADD CONSTRAINT above FOREIGN KEY (id, placed) REFERENCES orders",
    );
    case.run(&[&["orders_default", "--offline"], &BY_MONTH[..]].concat()).fails(
        2,
        &[
            "Its foreign key above refers to the table itself.",
            "ALTER TABLE public.orders_default DROP CONSTRAINT above;",
        ],
    );
}
