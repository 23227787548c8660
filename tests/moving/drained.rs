//! DEFAULT partitions whose rows go to new partitions, while others read and write.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use super::case::Case;
use crate::harness::{Server, on_each_server, wait_until};

on_each_server!([
    ranges_between_others,
    ranges_of_odd_keys,
    lists,
    a_partition_of_a_partition,
    no_count_is_ever_wrong,
    a_kill_at_each_point,
    an_abort_leaves_nothing,
    new_partitions_are_like_the_old_one,
    a_partition_that_is_attached_meanwhile,
    definitions_that_change_meanwhile,
    a_writer_of_both_tables_is_not_ended,
    what_is_refused,
]);

/// A table by months, some of whose rows are in its DEFAULT partition: of January, March to May, and without a date.
const ORDERS: &str = "
CREATE TABLE orders (id bigint NOT NULL, placed date, v text, g bigint GENERATED ALWAYS AS (id * 2) STORED,
                     CHECK (id >= 0)) PARTITION BY RANGE (placed);
CREATE TABLE orders_y2026m02 PARTITION OF orders FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE TABLE orders_y2026m04 PARTITION OF orders FOR VALUES FROM ('2026-04-10') TO ('2026-04-20');
CREATE TABLE orders_default PARTITION OF orders DEFAULT;
CREATE INDEX orders_placed ON orders (placed);
INSERT INTO orders (id, placed, v)
SELECT i, CASE WHEN i % 50 > 0 THEN date '2026-01-10' + i % 130 END, md5(i::text) FROM generate_series(1, {rows}) AS i;
CREATE UNIQUE INDEX orders_default_key ON orders_default (id, placed);
CREATE TABLE before AS SELECT * FROM orders";

const BY_MONTH: [&str; 3] = ["--of=orders", "--step=month", "-q"];

fn with_orders(server: Server, rows: usize) -> Case {
    let case = Case::new(server);
    case.bench.session.run(&ORDERS.replace("{rows}", &rows.to_string()));
    case
}

/// Adds a primary key.
fn with_key(case: &Case) {
    case.bench.session.run(
        "UPDATE orders SET placed = '2026-01-10' WHERE placed IS NULL;
         ALTER TABLE orders ADD PRIMARY KEY (id, placed);
         DROP TABLE before; CREATE TABLE before AS SELECT * FROM orders",
    );
}

fn partitions(case: &Case) -> Vec<String> {
    let rows = case.bench.session.rows(
        "SELECT concat(c.relname, ' ', pg_get_expr(c.relpartbound, 0)) FROM pg_inherits i
         JOIN pg_class c ON c.oid = i.inhrelid WHERE inhparent = 'orders'::regclass ORDER BY c.relname::text COLLATE \"C\"",
    );
    rows.into_iter().flatten().flatten().collect()
}

#[track_caller]
fn is_drained(case: &Case, what: &str) {
    case.same_rows("before", "orders", what);
    let invalid = "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                   WHERE NOT i.indisvalid AND c.relnamespace = 'public'::regnamespace";
    assert_eq!(case.bench.value(invalid), "0", "{what}");
    let bounds = "SELECT count(*) FROM pg_constraint WHERE conname = 'pgsluice_bound'";
    assert_eq!(case.bench.value(bounds), "0", "{what}");
    assert_eq!(case.kind("orders_default_old"), "r", "{what}");
    case.nothing_beside(what);
    assert_eq!(case.moves_left(), 0, "{what}");
}

fn ranges_between_others(server: Server) {
    for arguments in [&["--offline"][..], &[]] {
        let case = with_orders(server, 3000);
        if arguments.is_empty() {
            with_key(&case);
        }
        let moved = case.moves("orders_default", &[&BY_MONTH[..], arguments].concat());
        assert_eq!((&moved["of"], &moved["leaves"]), (&"public.orders".into(), &5.into()));
        is_drained(&case, "months");
        assert_eq!(
            partitions(&case),
            [
                "orders_2026_04_20 FOR VALUES FROM ('2026-04-20') TO ('2026-05-01')",
                "orders_default DEFAULT",
                "orders_y2026m01 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')",
                "orders_y2026m02 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')",
                "orders_y2026m03 FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')",
                "orders_y2026m04 FOR VALUES FROM ('2026-04-10') TO ('2026-04-20')",
                "orders_y2026m04_1 FOR VALUES FROM ('2026-04-01') TO ('2026-04-10')",
                "orders_y2026m05 FOR VALUES FROM ('2026-05-01') TO ('2026-06-01')",
            ]
        );
        let left = if arguments.is_empty() { "0" } else { "60" };
        assert_eq!(case.bench.value("SELECT count(*) FROM orders_default"), left);
        // All indexes of the table are there, and none is double.
        let indexes = "SELECT count(*) FROM pg_index WHERE indrelid = 'orders_y2026m05'::regclass";
        assert_eq!(case.bench.value(indexes), if arguments.is_empty() { "3" } else { "2" });
    }
}

/// The type of a key, its values, the bounds of a partition that exists and its name, the step, and the partitions.
const KEYS: &[(&str, &str, [&str; 2], [&str; 3])] = &[
    ("int", "i * 7 % 100", ["20", "30"], ["20", "25", "0 20 30 50 75 default"]),
    ("numeric(5,2)", "i % 10 / 4.0", ["5", "6"], ["5", "1", "0_00 1_00 2_00 5 default"]),
    ("smallint", "32767 - i % 20", ["0", "10"], ["0", "10", "0 32740 32750 32760 default"]),
    (
        "timestamptz",
        "timestamptz '2026-03-28 00:00Z' + i * interval '1 minute'",
        ["2025-03-23 00:00Z", "2025-03-30 00:00Z"],
        ["2025_03_23", "week", "2025_03_23 2026_03_22 2026_03_29 default"],
    ),
];

fn ranges_of_odd_keys(server: Server) {
    for (ty, values, [from, to], [taken, step, expected]) in KEYS {
        let case = Case::new(server);
        case.bench.session.run(&format!(
            "ALTER DATABASE {} SET timezone = 'UTC'; SET timezone = 'UTC';
             CREATE TABLE orders (id bigint, k {ty}) PARTITION BY RANGE (k);
             CREATE TABLE orders_default PARTITION OF orders DEFAULT;
             INSERT INTO orders SELECT i, {values} FROM generate_series(1, 2000) AS i;
             DELETE FROM orders WHERE k >= '{from}' AND k < '{to}';
             CREATE TABLE orders_{taken} PARTITION OF orders FOR VALUES FROM ('{from}') TO ('{to}');
             CREATE TABLE before AS SELECT * FROM orders",
            case.bench.value("SELECT quote_ident(current_database())")
        ));
        let step = format!("--step={step}");
        case.moves("orders_default", &["--of=orders", &step, "--offline"]);
        is_drained(&case, ty);
        let names = case.bench.value(
            "SELECT string_agg(substr(relid::text, 8), ' ' ORDER BY relid::text COLLATE \"C\")
             FROM pg_partition_tree('orders') WHERE isleaf",
        );
        assert_eq!(names, *expected, "{ty}");
        assert_eq!(case.bench.value("SELECT count(*) FROM orders_default"), "0", "{ty}");
    }
}

fn lists(server: Server) {
    let case = Case::new(server);
    case.bench.session.run(
        "CREATE TABLE orders (id bigint NOT NULL, c text) PARTITION BY LIST (c);
         CREATE TABLE orders_de PARTITION OF orders FOR VALUES IN ('de');
         CREATE TABLE orders_default PARTITION OF orders DEFAULT;
         CREATE UNIQUE INDEX ON orders (id, c);
         INSERT INTO orders SELECT i, (ARRAY['de', 'it''s', 'Fr', NULL])[1 + i % 4] FROM generate_series(1, 400) AS i;
         CREATE TABLE before AS SELECT * FROM orders",
    );
    case.moves("orders_default", &["--of=orders", "--offline"]);
    is_drained(&case, "lists");
    assert_eq!(
        partitions(&case),
        [
            "orders_de FOR VALUES IN ('de')",
            "orders_default DEFAULT",
            "orders_fr FOR VALUES IN ('Fr')",
            "orders_it_s FOR VALUES IN ('it''s')",
            "orders_null FOR VALUES IN (NULL)",
        ]
    );
}

fn a_partition_of_a_partition(server: Server) {
    let case = Case::new(server);
    case.bench.session.run(
        "CREATE TABLE top (id bigint, placed date, c text, PRIMARY KEY (id, placed, c)) PARTITION BY LIST (c);
         CREATE TABLE orders PARTITION OF top FOR VALUES IN ('de', 'fr') PARTITION BY RANGE (placed);
         CREATE TABLE orders_default PARTITION OF orders DEFAULT;
         INSERT INTO top SELECT i, date '2026-01-10' + i % 60, (ARRAY['de', 'fr'])[1 + i % 2] FROM generate_series(1, 600) AS i;
         CREATE TABLE before AS SELECT * FROM top",
    );
    case.moves("orders_default", &BY_MONTH);
    is_drained(&case, "two levels");
    case.same_rows("before", "top", "two levels");
    assert_eq!(partitions(&case).len(), 4);
    let refused =
        case.bench.session.try_run("INSERT INTO orders_2026_01 VALUES (0, '2026-01-05', 'it')");
    assert!(refused.is_err());
}

fn no_count_is_ever_wrong(server: Server) {
    const ROWS: usize = 60_000;
    let case = with_orders(server, ROWS);
    with_key(&case);
    let is_over = AtomicBool::new(false);
    let count = "SELECT count(*) FROM orders";
    let counted = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let session = case.bench.other();
            let mut counted = 0;
            while !is_over.load(SeqCst) {
                assert_eq!(session.rows(count)[0][0], Some(ROWS.to_string()));
                counted += 1;
            }
            counted
        });
        // Rows go from one partition to another, also into the DEFAULT partition and out of it.
        let writer = scope.spawn(|| {
            let session = case.bench.other();
            let mut written = 0;
            while !is_over.load(SeqCst) {
                let id = 1 + written * 7919 % ROWS;
                session.run(&format!(
                    "UPDATE orders SET placed = date '2026-01-10' + (id * 13 + {written})::int % 130 WHERE id = {id};
                     UPDATE orders SET v = 'written' WHERE id = {id}"
                ));
                written += 1;
            }
            written
        });
        case.moves("orders_default", &BY_MONTH);
        is_over.store(true, SeqCst);
        assert!(writer.join().unwrap() > 0);
        reader.join().unwrap()
    });
    assert!(counted > 0);
    assert_eq!(case.bench.value(count), ROWS.to_string());
    let once = format!("SELECT count(DISTINCT id) FROM orders WHERE id BETWEEN 1 AND {ROWS}");
    assert_eq!(case.bench.value(&once), ROWS.to_string());
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
    ] {
        let case = with_orders(server, 20_000);
        with_key(&case);
        let arguments = [&["orders_default"], &BY_MONTH[..]].concat();
        let killed = case.start(&arguments, &[("PGSLUICE_FAILPOINT", point)]).ended();
        assert_eq!(killed.status.code(), None, "{point}: {killed:?}");
        case.bench.wait_for_sessions();
        case.same_rows("before", "orders", point);
        let later = "VALUES (0, '2026-03-01', 'later'), (1000000, '2026-06-01', 'far')";
        case.bench.session.run(&format!(
            "INSERT INTO orders (id, placed, v) {later}; DELETE FROM orders WHERE id % 7 = 1;
             DROP TABLE before; CREATE TABLE before AS SELECT * FROM orders"
        ));
        case.moves("orders_default", &BY_MONTH);
        is_drained(&case, point);
    }
}

fn an_abort_leaves_nothing(server: Server) {
    let case = with_orders(server, 2000);
    with_key(&case);
    let stopped = case.run(&[&["orders_default"], &BY_MONTH[..], &["--until=follow"]].concat());
    assert!(stopped.status.success(), "{stopped:?}");
    assert!(case.run(&["abort", "orders_default"]).status.success());
    case.same_rows("before", "orders", "an aborted move");
    assert_eq!(partitions(&case).len(), 3);
    case.nothing_beside("an aborted move");
    assert_eq!(case.bench.count("pgsluice.load"), 0);
    assert_eq!(case.bench.count("pgsluice.receipt"), 0);
}

fn what_is_refused(server: Server) {
    let case = with_orders(server, 500);
    with_key(&case);
    let offline = [&BY_MONTH[..], &["--offline"]].concat();
    for (table, arguments, parts) in [
        (
            "orders_y2026m02",
            &offline[..],
            &["\"public.orders_y2026m02\" is not the DEFAULT partition"][..],
        ),
        ("before", &offline, &["table \"public.before\" is not a partition of \"public.orders\""]),
        ("orders_default", &["--of=orders"], &["--step is needed for a RANGE key"]),
        (
            "orders_default",
            &["--of=orders", "--step=month", "--leaves=3"],
            &["--of can only be used with --step"],
        ),
        (
            "orders_default",
            &["--by=HASH (id)", "--leaves=3"],
            &["It is a partition of public.orders."],
        ),
    ] {
        let ended = case.run(&[&[table], arguments].concat());
        assert!(!ended.status.success());
        ended.fails(ended.status.code().unwrap(), parts);
    }
    for (change, back, parts) in [
        (
            "CREATE TABLE customers (id bigint PRIMARY KEY); INSERT INTO customers SELECT generate_series(0, 600);
             ALTER TABLE orders ADD CONSTRAINT fk FOREIGN KEY (id) REFERENCES customers",
            "ALTER TABLE orders DROP CONSTRAINT fk",
            &["foreign key fk would be checked", "--offline"][..],
        ),
        (
            "CREATE TABLE lines (id bigint, placed date, FOREIGN KEY (id, placed) REFERENCES orders)",
            "DROP TABLE lines",
            &["foreign key lines_id_placed_fkey of table public.lines refers to public.orders"],
        ),
        (
            "CREATE VIEW rest AS SELECT id FROM orders_default",
            "DROP VIEW rest",
            &["view public.rest reads it by its name"],
        ),
        (
            "CREATE FUNCTION noop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
             CREATE TRIGGER fires AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION noop();
             ALTER TABLE orders_default DISABLE TRIGGER fires",
            "DROP TRIGGER fires ON orders",
            &["trigger fires is enabled in another way than that of public.orders"],
        ),
        (
            "ALTER TABLE orders_default ENABLE ROW LEVEL SECURITY",
            "ALTER TABLE orders_default DISABLE ROW LEVEL SECURITY",
            &["it has row security of its own"],
        ),
    ] {
        case.bench.session.run(change);
        let ended = case.run(&[&["orders_default"], &BY_MONTH[..]].concat());
        assert!(!ended.status.success(), "{change}");
        for part in parts {
            assert!(ended.stderr.to_lowercase().contains(&part.to_lowercase()), "{change}: {ended:?}");
        }
        case.bench.session.run(back);
    }
    if server.major() >= 15 {
        case.bench.session.run(
            "CREATE PUBLICATION of_schema FOR TABLES IN SCHEMA public WITH (publish_via_partition_root)",
        );
        case.run(&[&["orders_default"], &BY_MONTH[..]].concat())
            .fails(2, &["A publication publishes all tables of schema public"]);
    }
    assert_eq!(partitions(&case).len(), 3);
    case.nothing_beside("refused");
}

/// MERGE PARTITION was reverted from PostgreSQL because it lost some of these.
fn new_partitions_are_like_the_old_one(server: Server) {
    let case = with_orders(server, 2000);
    case.bench.session.run(
        "ALTER TABLE orders_default ADD CONSTRAINT own CHECK (id < 1000000), REPLICA IDENTITY FULL, SET (fillfactor = 70),
             ALTER v SET STATISTICS 50, ALTER v SET STORAGE EXTERNAL;
         CREATE INDEX orders_default_own ON orders_default (v)",
    );
    case.moves("orders_default", &[&BY_MONTH[..], &["--offline"]].concat());
    is_drained(&case, "a rich partition");
    for partition in ["orders_y2026m01", "orders_default"] {
        let facts = format!(
            "SELECT concat_ws(' ', relreplident, reloptions,
                 (SELECT string_agg(conname, ' ' ORDER BY conname) FROM pg_constraint WHERE conrelid = c.oid AND contype = 'c'),
                 (SELECT concat_ws(' ', to_jsonb(a) ->> 'attstattarget', attstorage) FROM pg_attribute a
                  WHERE attrelid = c.oid AND attname = 'v'),
                 (SELECT count(*) FROM pg_index WHERE indrelid = c.oid))
             FROM pg_class c WHERE oid = '{partition}'::regclass"
        );
        assert_eq!(
            case.bench.value(&facts),
            "f {fillfactor=70} orders_id_check own 50 e 3",
            "{partition}"
        );
    }
    // A value that the server would compute otherwise now is not changed silently.
    let case = with_orders(server, 500);
    case.bench.session.run(
        "CREATE FUNCTION twice(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 2 * $1';
         ALTER TABLE orders ADD h bigint GENERATED ALWAYS AS (twice(id)) STORED;
         CREATE OR REPLACE FUNCTION twice(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 3 * $1'",
    );
    case.run(&[&["orders_default", "--offline"], &BY_MONTH[..]].concat())
        .fails(1, &["generated columns of table public.orders_default would get other values"]);
}

/// The new partitions would not have them.
fn definitions_that_change_meanwhile(server: Server) {
    for (change, part) in [
        ("ALTER TABLE orders_default ALTER v SET NOT NULL", "its column v would differ"),
        (
            "ALTER TABLE orders_default ADD CONSTRAINT late CHECK (id > 0)",
            "its constraint late would differ",
        ),
        ("CREATE UNIQUE INDEX late ON orders_default (v, placed)", "its index late would differ"),
        ("CREATE INDEX ON orders (v)", "its index orders_default_v_idx would differ"),
        ("ALTER TABLE orders_default SET (fillfactor = 50)", "its storage options would differ"),
    ] {
        let case = with_orders(server, 500);
        with_key(&case);
        let hold = case.bench.hold("moving::followed");
        let running =
            case.start(&[&["orders_default"], &BY_MONTH[..]].concat(), &hold.environment());
        hold.wait();
        case.bench.session.run(change);
        hold.let_go();
        running.ended().fails(1, &[part]);
        case.same_rows("before", "orders", change);
        assert_eq!(partitions(&case).len(), 3, "{change}");
        case.nothing_beside(change);
    }
}

/// A transaction that has locked the partition and then uses the partitioned table.
fn a_writer_of_both_tables_is_not_ended(server: Server) {
    for mode in [&["--offline"][..], &["--max-lock=10s"]] {
        let case = with_orders(server, 500);
        with_key(&case);
        let writer = case.bench.other();
        writer.run("BEGIN; UPDATE orders_default SET v = v WHERE id = 1; SELECT pg_sleep(0)");
        let arguments = [&["orders_default"], &BY_MONTH[..], mode].concat();
        let running = case.start(&arguments, &[]);
        let waits = "pg_locks WHERE NOT granted AND relation = 'orders_default'::regclass";
        wait_until("the lock", || case.bench.count(waits) > 0);
        writer.run(
            "INSERT INTO orders (id, placed, v) VALUES (100000, '2026-02-02', 'both'); COMMIT",
        );
        let ended = running.ended();
        assert!(ended.status.success(), "{ended:?}");
        case.bench.session.run(
            "INSERT INTO before (id, placed, v, g) VALUES (100000, '2026-02-02', 'both', 200000)",
        );
        is_drained(&case, "a writer of both tables");
    }
}

/// The swap cannot attach a range that is taken, and nothing changes.
fn a_partition_that_is_attached_meanwhile(server: Server) {
    let case = with_orders(server, 2000);
    with_key(&case);
    case.bench.session.run("DELETE FROM orders WHERE placed >= '2026-05-01'; DELETE FROM before WHERE placed >= '2026-05-01'");
    case.bench.session.run("INSERT INTO orders VALUES (100000, '2026-05-02', 'one'); INSERT INTO before SELECT * FROM orders WHERE id = 100000");
    let hold = case.bench.hold("moving::built");
    let running = case.start(&[&["orders_default"], &BY_MONTH[..]].concat(), &hold.environment());
    hold.wait();
    case.bench.session.run(
        "BEGIN; DELETE FROM orders WHERE id = 100000;
         CREATE TABLE orders_y2026m05_later PARTITION OF orders FOR VALUES FROM ('2026-05-01') TO ('2026-06-01');
         INSERT INTO orders VALUES (100000, '2026-05-02', 'one'); COMMIT",
    );
    hold.let_go();
    running.ended().fails(1, &["would overlap partition"]);
    case.same_rows("before", "orders", "an attached partition");
    assert_eq!(case.moves_left(), 0);
    case.nothing_beside("an attached partition");
    case.moves("orders_default", &BY_MONTH);
    is_drained(&case, "an attached partition");
}
