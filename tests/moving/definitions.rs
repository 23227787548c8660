//! Drained partitions whose definition differs or changes, and requests that are refused.

use super::drained::{BY_MONTH, is_drained, partitions, with_key, with_orders};
use crate::harness::{Server, on_each_server, wait_until};

on_each_server!([
    unsuitable_tables_are_refused,
    new_partitions_are_like_the_old_one,
    a_partition_that_is_attached_meanwhile,
    definitions_that_change_meanwhile,
    a_writer_of_both_tables_is_not_ended,
]);

fn unsuitable_tables_are_refused(server: Server) {
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
            "CREATE TABLE lines (id bigint, placed date, FOREIGN KEY (id, placed) REFERENCES orders_default)",
            "DROP TABLE lines",
            &["foreign key lines_id_placed_fkey of table public.lines refers to the partition alone"],
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

/// PostgreSQL reverted MERGE PARTITION because it lost some of these properties.
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
    // A value that the server would now compute differently does not change silently.
    let case = with_orders(server, 500);
    case.bench.session.run(
        "CREATE FUNCTION twice(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 2 * $1';
         ALTER TABLE orders ADD h bigint GENERATED ALWAYS AS (twice(id)) STORED;
         CREATE OR REPLACE FUNCTION twice(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 3 * $1'",
    );
    case.run(&[&["orders_default", "--offline"], &BY_MONTH[..]].concat())
        .fails(1, &["generated columns of table public.orders_default would get other values"]);
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

/// The new partitions would not have these changes.
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

/// A transaction locks the partition and then uses the partitioned table.
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
