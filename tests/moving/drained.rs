//! DEFAULT partitions whose rows go to new partitions while other sessions read and write.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use super::case::Case;
use crate::harness::{Server, on_each_server};

on_each_server!([
    ranges_between_others,
    ranges_of_odd_keys,
    lists,
    a_partition_of_a_partition,
    no_count_is_ever_wrong,
    a_kill_at_each_point,
    an_abort_leaves_nothing,
]);

/// A table by months with rows in its DEFAULT partition: of January, of March to May, and without a date.
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

pub(super) const BY_MONTH: [&str; 3] = ["--of=orders", "--step=month", "-q"];

pub(super) fn with_orders(server: Server, rows: usize) -> Case {
    let case = Case::new(server);
    case.bench.session.run(&ORDERS.replace("{rows}", &rows.to_string()));
    case
}

/// Adds a primary key.
pub(super) fn with_key(case: &Case) {
    case.bench.session.run(
        "UPDATE orders SET placed = '2026-01-10' WHERE placed IS NULL;
         ALTER TABLE orders ADD PRIMARY KEY (id, placed);
         DROP TABLE before; CREATE TABLE before AS SELECT * FROM orders",
    );
}

pub(super) fn partitions(case: &Case) -> Vec<String> {
    let rows = case.bench.session.rows(
        "SELECT concat(c.relname, ' ', pg_get_expr(c.relpartbound, 0)) FROM pg_inherits i
         JOIN pg_class c ON c.oid = i.inhrelid WHERE inhparent = 'orders'::regclass ORDER BY c.relname::text COLLATE \"C\"",
    );
    rows.into_iter().flatten().flatten().collect()
}

#[track_caller]
pub(super) fn is_drained(case: &Case, what: &str) {
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
        // All indexes of the table exist once.
        let indexes = "SELECT count(*) FROM pg_index WHERE indrelid = 'orders_y2026m05'::regclass";
        assert_eq!(case.bench.value(indexes), if arguments.is_empty() { "3" } else { "2" });
    }
}

/// The type of a key, its values, the bounds and the name of an existing partition, the step, and the
/// resulting partitions.
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
        // Rows move between partitions, also into the DEFAULT partition and out of it.
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
