"""Existing rows under a writer: the result equals the server's, one row at a time."""

import itertools
import random
import threading
from dataclasses import dataclass
from datetime import date

import pgsluice
import psycopg
import pyarrow as pa
from formats.place import server
from psycopg import sql

from .place import Loads

COLUMNS = "id int, day date, kind text, v text, n int, gone bool"
NAMES = [column.split()[0] for column in COLUMNS.split(", ")]
KINDS = ("a", "b", "c")

# The statements for a table, and its unique key.
TREES = {
    "plain": ("CREATE TABLE {t} ({c}, PRIMARY KEY (id))", ["id"]),
    "hash": (
        "CREATE TABLE {t} ({c}, PRIMARY KEY (id)) PARTITION BY HASH (id);"
        "CREATE TABLE {t}_0 PARTITION OF {t} FOR VALUES WITH (MODULUS 2, REMAINDER 0);"
        "CREATE TABLE {t}_1 PARTITION OF {t} FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
        ["id"],
    ),
    "range": (
        "CREATE TABLE {t} ({c}, PRIMARY KEY (day, id)) PARTITION BY RANGE (day);"
        "CREATE TABLE {t}_1 PARTITION OF {t} FOR VALUES FROM ('2026-01-01') TO ('2026-01-04');"
        "CREATE TABLE {t}_d PARTITION OF {t} DEFAULT",
        ["day", "id"],
    ),
    "two levels": (
        "CREATE TABLE {t} ({c}, PRIMARY KEY (kind, id)) PARTITION BY LIST (kind);"
        "CREATE TABLE {t}_a PARTITION OF {t} FOR VALUES IN ('a') PARTITION BY HASH (id);"
        "CREATE TABLE {t}_a0 PARTITION OF {t}_a FOR VALUES WITH (MODULUS 2, REMAINDER 0);"
        "CREATE TABLE {t}_a1 PARTITION OF {t}_a FOR VALUES WITH (MODULUS 2, REMAINDER 1);"
        "CREATE TABLE {t}_b PARTITION OF {t} FOR VALUES IN ('b', 'c')",
        ["kind", "id"],
    ),
    # Only the leaves enforce uniqueness.
    "leaves": (
        "CREATE TABLE {t} ({c}) PARTITION BY HASH (id);"
        "CREATE TABLE {t}_0 PARTITION OF {t} FOR VALUES WITH (MODULUS 2, REMAINDER 0);"
        "CREATE TABLE {t}_1 PARTITION OF {t} FOR VALUES WITH (MODULUS 2, REMAINDER 1);"
        "CREATE UNIQUE INDEX ON {t}_0 (id); CREATE UNIQUE INDEX ON {t}_1 (id)",
        ["id"],
    ),
    "trigger": (
        "CREATE TABLE {t} ({c}, PRIMARY KEY (id)) PARTITION BY HASH (id);"
        "CREATE TABLE {t}_0 PARTITION OF {t} FOR VALUES WITH (MODULUS 2, REMAINDER 0);"
        "CREATE TABLE {t}_1 PARTITION OF {t} FOR VALUES WITH (MODULUS 2, REMAINDER 1);"
        "CREATE OR REPLACE FUNCTION upper_v() RETURNS trigger LANGUAGE plpgsql"
        " AS 'BEGIN NEW.v := upper(NEW.v); RETURN NEW; END';"
        "CREATE TRIGGER upper_v BEFORE INSERT OR UPDATE ON {t}"
        " FOR EACH ROW EXECUTE FUNCTION upper_v()",
        ["id"],
    ),
}
CHANGES = (
    {"on_conflict": "skip"},
    {"on_conflict": "update"},
    {"on_conflict": "update", "update": ["v"]},
    {"on_conflict": "update", "newer": "n"},
    {"on_conflict": "update", "delete_when": "gone"},
    {"on_conflict": "update", "no_insert": True},
    {"on_conflict": "delete"},
)


@dataclass
class Server:
    """The server's treatment of one row, by the options of a writer."""

    connection: psycopg.Connection
    key: list[str]
    options: dict

    def take_all(self, rows: list[dict]) -> None:
        if "update" in self.options:
            # If the row is new, unset columns come from the row that counts, the last one.
            rows = list({tuple(row[name] for name in self.key): row for row in rows}.values())
        for row in rows:
            self.take(row)

    def take(self, row: dict) -> None:
        options, key = self.options, self.key
        same = " AND ".join(f"t.{name} = %({name})s" for name in key)
        gone = options.get("delete_when") and row["gone"]
        if options["on_conflict"] == "delete" or gone:
            self.connection.execute(f"DELETE FROM copied AS t WHERE {same}", row)
            return
        names = options.get("update") or [name for name in NAMES if name not in key]
        newer = "(t.n < %(n)s OR t.n IS NULL AND %(n)s::int IS NOT NULL)"
        where = newer if "newer" in options else "true"
        setting = ", ".join(f"{name} = %({name})s" for name in names)
        update = f"UPDATE copied AS t SET {setting} WHERE {same} AND {where} RETURNING 1"
        there = self.connection.execute(f"SELECT FROM copied AS t WHERE {same}", row).fetchall()
        if not there and not options.get("no_insert"):
            values = ", ".join(f"%({name})s" for name in NAMES)
            self.connection.execute(f"INSERT INTO copied VALUES ({values})", row)
        elif there and options["on_conflict"] == "update":
            self.connection.execute(update, row)


def batch(kind: str, rows: list[dict], names: list[str]):
    """Return rows as one of the kinds that a writer accepts."""
    if kind == "dicts":
        return [{name: row[name] for name in names} for row in rows]
    if kind == "tuples":
        return [tuple(row[name] for name in names) for row in rows]
    columns = {name: [row[name] for row in rows] for name in names}
    types = {"id": pa.int32(), "day": pa.date32(), "n": pa.int32(), "gone": pa.bool_()}
    return pa.table({name: pa.array(columns[name], types.get(name, pa.string())) for name in names})


class Changed(Loads):
    limit = 300

    def setUp(self):
        super().setUp()
        self.random = random.Random(self.id())

    def make_tree(self, tree: str) -> list[str]:
        statements, key = TREES[tree]
        for table in ("loaded", "copied"):
            self.connection.execute(f"DROP TABLE IF EXISTS {table}")
            self.connection.execute(statements.format(t=table, c=COLUMNS))
        return key

    def rows(self, count: int) -> list[dict]:
        pick = self.random
        drawn = [pick.randrange(40) for _ in range(count)]
        return [
            {
                "id": row,
                # A key belongs to one leaf.
                "day": date(2026, 1, 1 + row % 7),
                "kind": KINDS[row % 3],
                "v": pick.choice(("x", "y", None)),
                "n": pick.choice((None, 1, 2, 3)),
                "gone": pick.choice((None, False, True)),
            }
            for row in drawn
        ]

    def held(self, table: str) -> list[tuple]:
        """Return the rows of a table, and the leaf of each."""
        query = sql.SQL("SELECT replace(tableoid::regclass::text, {0}, ''), * FROM {1} ORDER BY 2")
        return self.connection.execute(query.format(table, sql.Identifier(table))).fetchall()

    def assert_as_the_server(self, tree: str, changes: dict, kind: str, **options) -> set:
        key = self.make_tree(tree)
        by_server = Server(self.connection, key, changes)
        names = key if changes["on_conflict"] == "delete" else NAMES
        columns = {"columns": names} if kind == "tuples" else {}
        if not (tree == "leaves" or changes["on_conflict"] == "delete"):
            key = None
        if changes["on_conflict"] == "delete":
            for row in self.rows(60):
                for table in ("loaded", "copied"):
                    values = [row[name] for name in NAMES]
                    insert = f"INSERT INTO {table} SELECT %s, %s, %s, %s, %s, %s"
                    there = f"SELECT FROM {table} WHERE id = %s"
                    if not self.connection.execute(there, [row["id"]]).fetchall():
                        self.connection.execute(insert, values)
        ways = set()
        with pgsluice.Writer(
            "loaded", server(), flush_seconds=None, key=key, **changes, **columns, **options
        ) as writer:
            for count in (1, 1, 2, 30, 1, 80, 5):
                rows = self.rows(count)
                before = len(self.held("loaded"))
                writer.write(batch(kind, rows, names))
                receipt = writer.flush()
                by_server.take_all(rows)
                held = self.held("loaded")
                self.assertEqual(held, self.held("copied"), (tree, changes, kind))
                counts = vars(receipt.counts)
                self.assertEqual(sum(counts.values()), count)
                self.assertEqual(receipt.rows_inserted, counts["inserted"])
                self.assertEqual(
                    len(held) - before, counts["inserted"] - counts["deleted"], receipt
                )
                ways.add(receipt.method)
        return ways

    def test_each_tree_and_change(self):
        kinds, ways = itertools.cycle(("arrow", "dicts", "tuples")), set()
        for (tree, changes), kind in zip(itertools.product(TREES, CHANGES), kinds, strict=False):
            with self.subTest(tree=tree, changes=changes, kind=kind):
                ways |= self.assert_as_the_server(tree, changes, kind)
        self.assertLessEqual({"conflict", "stage"}, ways)

    def test_rows_as_text(self):
        for tree in TREES:
            with self.subTest(tree=tree):
                options = {"wire": "text", "load_id": f"text {tree}"}
                self.assert_as_the_server(tree, {"on_conflict": "update"}, "tuples", **options)

    def test_rows_go_straight_in_while_none_is_there(self):
        self.make_tree("hash")
        ways = []
        with pgsluice.Writer(
            "loaded", server(), flush_seconds=None, on_conflict="update"
        ) as writer:
            for start in (*range(0, 60, 20), 0, *range(60, 300, 20)):
                writer.write(pa.table({"id": pa.array(range(start, start + 20), pa.int32())}))
                ways.append(writer.flush().method)
        self.assertNotIn("stage", ways[:3])
        self.assertLessEqual(set(ways[3:11]), {"conflict", "stage"})
        self.assertFalse({"conflict", "stage"} & set(ways[12:]))

    def test_the_ledger_has_the_fates(self):
        self.make_tree("hash")
        with pgsluice.Writer(
            "loaded", server(), load_id="counts", flush_seconds=None, on_conflict="update"
        ) as writer:
            for v in ("x", "x", "y"):
                writer.write([{"id": row, "v": v} for row in (1, 2, 2)], position=v)
                writer.flush()
        details = pgsluice.ledger_show("counts", server())
        counts = details.counts
        self.assertEqual(
            (counts.inserted, counts.unchanged, counts.updated, counts.duplicate), (2, 2, 2, 3)
        )

    def test_a_partition_that_comes_and_a_column_that_changes(self):
        for trigger in (False, True):
            with self.subTest(trigger=trigger):
                self.make_tree("range")
                if trigger:
                    # Then each leaf gets its rows by its own name.
                    self.connection.execute(
                        "CREATE OR REPLACE FUNCTION as_it_is() RETURNS trigger LANGUAGE plpgsql"
                        " AS 'BEGIN RETURN NEW; END';"
                        "CREATE TRIGGER as_it_is BEFORE UPDATE ON loaded"
                        " FOR EACH ROW EXECUTE FUNCTION as_it_is()"
                    )
                self.check_changes_of_the_table()

    def check_changes_of_the_table(self):
        with pgsluice.Writer(
            "loaded", server(), flush_seconds=None, on_conflict="update"
        ) as writer:

            def put(v: str, day: str) -> pgsluice.RowCounts:
                writer.write([{"id": 1, "day": day, "v": v}])
                return writer.flush().counts

            self.assertEqual(put("1", "2026-01-02").inserted, 1)
            self.assertEqual(put("2", "2026-01-02").updated, 1)
            self.connection.execute(
                "CREATE TABLE loaded_2 PARTITION OF loaded"
                " FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')"
            )
            self.assertEqual(put("1", "2026-02-02").inserted, 1)
            self.assertEqual(put("2", "2026-02-02").updated, 1)
            self.connection.execute("ALTER TABLE loaded ALTER v TYPE int USING v::int")
            self.assertEqual(put("3", "2026-02-02").updated, 1)
        values = self.connection.execute("SELECT v FROM loaded ORDER BY day").fetchall()
        self.assertEqual(values, [(2,), (3,)])

    def test_refused_rows_stay_in_the_writer(self):
        self.make_tree("hash")
        self.connection.execute("ALTER TABLE loaded ADD CHECK (n < 10)")
        with pgsluice.Writer(
            "loaded", server(), flush_seconds=None, on_conflict="update", duplicates="error"
        ) as writer:
            writer.write([{"id": 1, "n": 1}])
            writer.flush()
            for rows, state in (
                ([{"id": 1, "n": 2}, {"id": 2, "n": 10}], "23514"),
                ([{"id": 1, "n": 2}, {"id": 1, "n": 3}], "21000"),
            ):
                writer.write(rows)
                with self.assertRaises(pgsluice.DataError) as caught:
                    writer.flush()
                self.assertEqual(caught.exception.sqlstate, state)
                self.assertEqual(writer.discard(), 2)
            writer.write([{"id": 1, "n": 4}])
            self.assertEqual(writer.flush().counts.updated, 1)
        self.assertEqual(self.connection.execute("SELECT id, n FROM loaded").fetchall(), [(1, 4)])

    def make_groups(self, columns: str) -> None:
        self.connection.execute("DROP TABLE IF EXISTS loaded CASCADE")
        self.connection.execute(
            f"CREATE TABLE loaded (g int, id int, v int, {columns}, PRIMARY KEY (g, id))"
            " PARTITION BY LIST (g);"
            "CREATE TABLE loaded_0 PARTITION OF loaded FOR VALUES IN (0);"
            "CREATE TABLE loaded_1 PARTITION OF loaded FOR VALUES IN (1)"
        )

    def test_rows_that_follow_by_a_foreign_key_are_not_counted(self):
        for action in ("CASCADE", "SET NULL", "SET DEFAULT"):
            self.make_groups(
                "of int, parent int, UNIQUE (g, v), FOREIGN KEY (of, parent)"
                f" REFERENCES loaded (g, v) ON UPDATE {action}"
            )
            self.connection.execute(
                "INSERT INTO loaded SELECT g, id, id, g, CASE WHEN id > 0 THEN 0 END"
                " FROM generate_series(0, 1) AS g, generate_series(0, 49) AS id"
            )
            ways, columns = set(), ["g", "id", "v"]
            with pgsluice.Writer(
                "loaded", server(), flush_seconds=None, on_conflict="update", columns=columns
            ) as writer:
                for number in range(1, 16):
                    writer.write([(g, 0, -number) for g in (0, 1)])
                    writer.write(
                        [(0, 7, 7), (0, 100 + number, number + 99), (1, 999 + number, number + 99)]
                    )
                    receipt = writer.flush()
                    counts = receipt.counts
                    counts = (counts.inserted, counts.updated, counts.unchanged)
                    self.assertEqual(counts, (2, 2, 1), (action, receipt))
                    ways.add(receipt.method)
            self.assertLessEqual({"conflict", "stage"}, ways)
            query = "SELECT count(*) FROM loaded WHERE parent = -15"
            followed = self.connection.execute(query).fetchone()[0]
            self.assertEqual(followed, 98 if action == "CASCADE" else 0)

    def test_counts_do_not_need_track_counts(self):
        self.make_tree("hash")
        ways = []
        with pgsluice.Writer(
            "loaded", server(), flush_seconds=None, on_conflict="update"
        ) as writer:
            for number in range(8):
                if number == 4:
                    self.connection.execute("ALTER SYSTEM SET track_counts = off")
                    self.addCleanup(
                        self.connection.execute, "SELECT pg_reload_conf(), pg_sleep(0.1)"
                    )
                    self.addCleanup(self.connection.execute, "ALTER SYSTEM RESET track_counts")
                    self.connection.execute("SELECT pg_reload_conf(), pg_sleep(0.1)")
                size = 100 if number % 2 else 2000
                writer.write([{"id": row, "v": str(number)} for row in range(size)])
                receipt = writer.flush()
                counts = receipt.counts
                wanted = (size, 0) if number == 0 else (0, size)
                self.assertEqual((counts.inserted, counts.updated), wanted)
                ways.append(receipt.method)
        # The first rows that exist are sent again.
        self.assertEqual(ways, ["copy", "stage", *["stage", "conflict"] * 3])

    def test_a_row_that_is_there_needs_no_other_columns(self):
        for column in ("w text NOT NULL", "w text CHECK (w IS NOT NULL)"):
            self.make_groups(column)
            self.connection.execute(
                "INSERT INTO loaded SELECT g, id, 0, 'old'"
                " FROM generate_series(0, 1) AS g, generate_series(0, 49) AS id"
            )
            columns = ["g", "id", "v"]
            with pgsluice.Writer(
                "loaded", server(), flush_seconds=None, on_conflict="update", columns=columns
            ) as writer:
                for number in range(1, 12):
                    rows = [(g, row, number) for g in (0, 1) for row in range(50)]
                    writer.write(rows[: 1 + number % 3 * 40])
                    counts = writer.flush().counts
                    self.assertEqual(counts.updated, 1 + number % 3 * 40, number)
                    writer.write([(0, 1, -1), (1, 77, 1)])
                    with self.assertRaises(pgsluice.DataError) as caught:
                        writer.flush()
                    self.assertIn(caught.exception.sqlstate, ("23502", "23514"))
                    self.assertEqual(writer.discard(), 2)
            query = "SELECT count(*), count(*) FILTER (WHERE w = 'old' AND v >= 0) FROM loaded"
            self.assertEqual(self.connection.execute(query).fetchone(), (100, 100))

    def test_options_that_make_no_sense(self):
        self.make_tree("hash")
        with self.assertRaisesRegex(pgsluice.UsageError, "on_conflict=.update"):
            pgsluice.Writer("loaded", server(), newer="n")
        self.connection.execute("CREATE UNIQUE INDEX ON loaded_0 (v)")
        with pgsluice.Writer("loaded", server(), on_conflict="skip") as writer:
            writer.write([{"id": 1}])
            with self.assertRaisesRegex(pgsluice.UsageError, "Use key to list") as caught:
                writer.flush()
            self.assertEqual(caught.exception.sqlstate, "0A000")
            writer.discard()
        with pgsluice.Writer("loaded", server(), on_conflict="skip", key=["id"]) as writer:
            writer.write([{"id": 1}])

    def test_writers_that_change_the_same_rows(self):
        self.make_tree("two levels")
        failures = []

        def write(name: str) -> None:
            pick = random.Random(name)
            try:
                # Rows as text go through the stage, and the others are sent as arrays.
                wire = "text" if name == "r" else None
                with pgsluice.Writer(
                    "loaded", server(), flush_seconds=None, on_conflict="update", wire=wire
                ) as writer:
                    for _ in range(30):
                        drawn = [pick.randrange(60) for _ in range(40)]
                        writer.write(
                            [{"id": row, "kind": KINDS[row % 3], "v": name} for row in drawn]
                        )
                        writer.flush()
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=write, args=(name,)) for name in "pqr"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        query = "SELECT count(*), count(DISTINCT (id, kind)) FROM loaded"
        self.assertEqual(self.connection.execute(query).fetchone(), (60, 60))
