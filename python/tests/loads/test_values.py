"""Python's values go into columns as psycopg sends them, or are rejected by row and column."""

import csv
import enum
import ipaddress
import itertools
import json
import sqlite3
import unittest
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pgsluice
import polars as pl
from formats.place import server

from .place import Loads


class Color(enum.Enum):
    RED = "r"


class Word(enum.StrEnum):
    ONE = "one"


class Number(enum.IntEnum):
    ONE = 1


SECONDS = timezone(timedelta(minutes=19, seconds=32))
STAMP = datetime(2026, 1, 2, 3, 4, 5, 6)
BERLIN = ZoneInfo("Europe/Berlin")

# A column's type, values of Python, and psycopg's values if they differ.
SAME: list[tuple[str, list[Any], list[Any] | None]] = [
    ("smallint", [1, np.int8(-3), np.uint16(9), Number.ONE, None], [1, -3, 9, 1, None]),
    ("integer", [1.0, np.float32(2), np.float64(3), Decimal("4.00"), Decimal("1E+3")],
     [1, 2, 3, 4, 1000]),
    ("bigint", [2**63 - 1, np.int64(-(2**63)), np.uint64(5)], [2**63 - 1, -(2**63), 5]),
    ("numeric", [2**70, np.uint64(2**64 - 1), Decimal("1.50"), Decimal("NaN"), np.float32(0.1),
                 np.float64(0.1), 1e300, Decimal("1E-20"), float("nan")],
     [2**70, 2**64 - 1, Decimal("1.50"), Decimal("NaN"), Decimal("0.1"), 0.1, 1e300,
      Decimal("1E-20"), float("nan")]),
    ("real", [0.1, np.float16(0.5), np.float32(0.1), np.float64(0.1), Decimal("0.1"), 1,
              float("-inf"), -0.0], [0.1, 0.5, 0.1, 0.1, 0.1, 1, float("-inf"), -0.0]),
    ("double precision", [0.1, np.float32(0.1), np.float64(0.1), np.float16(0.1),
                          np.longdouble(0.5), Decimal("0.1"), 7, float("nan")],
     [0.1, float(np.float32(0.1)), 0.1, float(np.float16(0.1)), 0.5, 0.1, 7, float("nan")]),
    ("boolean", [True, np.True_, np.bool_(False), None], [True, True, False, None]),
    ("text", ["a\tb\\N", np.str_("x"), Word.ONE, Color.RED, UUID(int=5), 5, Decimal("1.50"), "é😀",
              ipaddress.ip_address("::1")],
     ["a\tb\\N", "x", "one", "RED", str(UUID(int=5)), "5", "1.50", "é😀", "::1"]),
    ("text", [b"abc", np.bytes_(b"\xc3\xa9"), np.datetime64("NaT"), pd.NaT, pd.NA,
              np.timedelta64("NaT"), np.ma.masked], ["abc", "é", *[None] * 5]),
    ("bytea", [b"\0\xff", bytearray(b"x"), memoryview(b"y"), np.bytes_(b"z")],
     [b"\0\xff", b"x", b"y", b"z"]),
    ("date", [date(1, 2, 3), np.datetime64("2026-01-02"), np.datetime64("2026-03"),
              np.datetime64("2026"), datetime(2026, 1, 2), pd.Timestamp("2026-01-02"),
              np.datetime64("20000-01-02"), np.datetime64("2026-01-02", "W")],
     [date(1, 2, 3), date(2026, 1, 2), date(2026, 3, 1), date(2026, 1, 1), date(2026, 1, 2),
      date(2026, 1, 2), "20000-01-02", date(2026, 1, 1)]),
    ("date", [np.datetime64("-0043-03-15"), np.datetime64("0000-01-01")],
     ["0044-03-15 BC", "0001-01-01 BC"]),
    ("time", [time(1, 2, 3, 4)], None),
    ("timetz", [time(1, 2, 3, tzinfo=UTC), time(1, 2, tzinfo=SECONDS)], None),
    ("timestamp", [STAMP, np.datetime64(STAMP), date(2026, 1, 2), pd.Timestamp(STAMP),
                   np.datetime64("2026-01-02T03", "h"), np.datetime64(1_000, "ns"),
                   np.datetime64("1970-01-02T03:04:05.000006", "ps"), pd.NaT,
                   np.datetime64("-0043-03-15T01:02:03")],
     [STAMP, STAMP, date(2026, 1, 2), STAMP, datetime(2026, 1, 2, 3),
      datetime(1970, 1, 1, microsecond=1), datetime(1970, 1, 2, 3, 4, 5, 6), None,
      "0044-03-15 01:02:03 BC"]),
    ("timestamptz", [STAMP.replace(tzinfo=UTC), STAMP.replace(tzinfo=SECONDS),
                     pd.Timestamp(STAMP, tz="Europe/Berlin"),
                     datetime(2026, 10, 25, 2, 30, fold=0, tzinfo=BERLIN),
                     datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN), STAMP],
     [STAMP.replace(tzinfo=UTC), STAMP.replace(tzinfo=SECONDS), STAMP.replace(tzinfo=BERLIN),
      datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC), STAMP]),
    ("interval", [timedelta(-1, 5, 7), np.timedelta64(3600 * 10**9, "ns"), np.timedelta64(3, "M"),
                  np.timedelta64(2, "Y"), np.timedelta64(-1, "D"), np.timedelta64(90, "m"),
                  np.timedelta64(5, "us"), np.timedelta64(2, "W"), pd.Timedelta(hours=1),
                  np.timedelta64(7_000_000, "ps"), pd.NaT, timedelta.max],
     [timedelta(-1, 5, 7), timedelta(hours=1), "3 mons", "24 mons", timedelta(-1),
      timedelta(minutes=90), timedelta(microseconds=5), timedelta(14), timedelta(hours=1),
      timedelta(microseconds=7), None, timedelta.max]),
    ("uuid", [UUID(int=5), str(UUID(int=6))], None),
    ("inet", [ipaddress.ip_address("::1"), ipaddress.ip_interface("10.0.0.1/24")], None),
    ("cidr", [ipaddress.ip_network("10.0.0.0/8")], None),
    ("integer[]", [np.array([5]), np.array([1, 2]), [3], (4, None), np.array([[1], [2]]), [],
                   np.ma.array([1, 2], mask=[0, 1])],
     [[5], [1, 2], [3], [4, None], [[1], [2]], [], [1, None]]),
    ("double precision[]", [[float("nan"), 1], np.array([0.5, np.inf])],
     [[float("nan"), 1.0], [0.5, float("inf")]]),
    ("numeric[]", [[Decimal("1.50"), None]], None),
    ("timestamptz[]", [[STAMP.replace(tzinfo=UTC), None]], None),
    ("text[]", [["a,b", None, '"', "\\", "", "NULL"]], None),
    ("bytea[]", [[b"\0", b"x"]], None),
    ("jsonb", [{"a": Decimal("1.50"), "b": [STAMP, UUID(int=5)], "c": np.array([1, 2])},
               {1: 2.5, False: True, None: None} | {"é": []}, [np.int64(1), np.float32(0.1)],
               np.array([5]), {"a": np.array(7)}, np.int64(3), 2**70, b'{"k": [1]}'],
     ['{"a": 1.50, "b": ["2026-01-02T03:04:05.000006", "00000000-0000-0000-0000-000000000005"],'
      ' "c": [1, 2]}', '{"1": 2.5, "false": true, "null": null, "é": []}',
      "[1, 0.1]", "[5]", '{"a": 7}', "3",
      str(2**70), '{"k": [1]}']),
]  # fmt: skip

# A column's type, a value that it cannot hold exactly, and words of its error.
REFUSED: list[tuple[str, Any, str]] = [
    ("integer", 1.5, "cannot hold 1.5: it is not an integer"),
    ("integer", Decimal("1.5"), "cannot hold 1.5: it is not an integer"),
    ("integer", float("nan"), "of type integer cannot hold NaN"),
    ("integer", True, "of type integer cannot hold a bool"),
    ("integer", b"5", "of type integer cannot hold bytes"),
    ("interval", 5, "of type interval cannot hold a number"),
    ("interval", np.int64(5), "of type interval cannot hold a number"),
    ("interval", np.timedelta64(1, "ns"), "finer than a microsecond"),
    ("interval", np.timedelta64(1), "timedelta64 cannot be loaded: it has no unit"),
    ("interval", pd.Timedelta(1, "ns"), "pandas.Timedelta cannot be loaded: it has nanoseconds"),
    ("date", 20260102, "of type date cannot hold a number"),
    ("date", STAMP, "cannot hold a datetime: its time would be lost"),
    ("date", STAMP.replace(tzinfo=UTC), "its time zone would be lost"),
    ("timestamp", STAMP.replace(tzinfo=UTC), "its time zone would be lost"),
    ("timestamp", np.datetime64(1, "ns"), "it has nanoseconds, which would be lost"),
    ("timestamp", pd.Timestamp(1), "it has nanoseconds, which would be lost"),
    ("timestamp", float("inf"), "cannot hold Infinity"),
    ("timestamp", timedelta(1), "cannot hold a timedelta"),
    ("time", STAMP, "cannot hold a datetime"),
    ("time", time(1, tzinfo=UTC), "its time zone would be lost"),
    ("timetz", time(1, tzinfo=BERLIN), "depends on the date"),
    ("boolean", Decimal(1), "of type boolean cannot hold a Decimal"),
    ("bytea", 5, "of type bytea cannot hold a number"),
    ("uuid", b"0123456789abcdef", "of type uuid cannot hold bytes"),
    ("text", float("nan"), "of type text cannot hold NaN"),
    ("text", b"\xff", "bytes: they are not valid UTF-8"),
    ("text", "a\0b", "a str has a zero byte"),
    ("text", "\ud800", "a str has an unpaired surrogate"),
    ("text", {1, 2}, "a value of type set cannot be loaded"),
    ("text", object(), "a value of type object cannot be loaded"),
    ("text", 1j, "complex"),
    ("text", np.complex64(1), "numpy.complex64"),
    ("text", pd.Period("2026-01"), "pandas.Period cannot be loaded"),
    ("text", pd.Interval(0, 1), "pandas.Interval cannot be loaded"),
    ("text", pd.Series([1]), "pandas.Series cannot be loaded"),
    ("numeric", np.longdouble(1) / 3, "more digits than a double precision number"),
    ("numeric", Decimal("sNaN"), "PostgreSQL has no signaling NaN"),
    ("jsonb", {"a": float("nan")}, "of type jsonb cannot hold NaN"),
    ("jsonb", [[Decimal("Infinity")]], "of type jsonb cannot hold Infinity"),
    ("jsonb", {"a": b"x"}, "of type jsonb cannot hold bytes"),
    ("jsonb", {"a": "x\0"}, "a str has a zero byte"),
    ("jsonb", {(1, 2): 3}, "the keys of a JSON object must be strings"),
    ("jsonb", {1: "a", "1": "b"}, "it has the key '1' twice"),
    ("date[]", [date(2026, 1, 2), 5], "cannot hold a number"),
    ("bit(3)", 101, "cannot hold a number"),
    ("int4range", 5, "cannot hold a number"),
]


class Values(Loads):
    limit = 180

    def assert_same_values(self, kind: str, values: list[Any], sent: list[Any]) -> None:
        self.make(v=kind)
        for number, value in enumerate(sent):
            if "json" in kind and not isinstance(value, str):
                value = json.dumps(value)
            self.connection.execute("INSERT INTO copied VALUES (%s, %s)", (number, value))
        rows = list(enumerate(values))
        for data in (rows, [{"id": number, "v": value} for number, value in rows]):
            self.empty("loaded")
            self.put(data, no_ledger=True)
            self.assert_same()
        self.empty("loaded")
        with pgsluice.Writer("loaded", server()) as writer:
            for row in rows:
                writer.write([row])
        self.assert_same()

    def test_values_are_what_psycopg_sends(self):
        for kind, values, sent in SAME:
            with self.subTest(kind, values=values):
                self.assert_same_values(kind, values, values if sent is None else sent)

    def test_other_values_are_refused_by_name(self):
        for kind, of_kind in itertools.groupby(REFUSED, lambda line: line[0]):
            self.make(v=kind)
            for number, (_, value, message) in enumerate(of_kind):
                data = [(1, None), (2, value)] if number % 2 else [{"id": 1}, {"id": 2, "v": value}]
                with self.subTest(kind, value=value):
                    self.assert_refused(data, message)

    def assert_refused(self, data: Any, message: str) -> None:
        error = self.fail_to_put(data, no_ledger=True)
        self.assertIn(message, str(error))
        self.assertRegex(str(error), "column (.?v\\b|1:)")
        self.assertEqual(self.count(), 0)
        if isinstance(error, pgsluice.DataError):
            self.assertEqual(error.line, 2)
            self.assertTrue(error.hint)
        else:
            self.assertIn("row 1, column ", str(error))
            self.assertIsInstance(error.__cause__, TypeError)

    def test_a_value_that_is_refused_is_rejected_as_json(self):
        self.make(v="integer", j="jsonb")
        bad = self.folder / "bad.ndjson"
        rows = [(1, 1, None), (2, 1.5, {"d": Decimal("1.50")}), (3, 3, None)]
        done = self.put(rows, reject_file=bad, max_rejects=1)
        self.assertEqual((done.rows_rejected, done.rows_inserted), (1, 2))
        self.assertEqual(json.loads(bad.read_text()), {"id": 2, "v": 1.5, "j": {"d": "1.50"}})


class Frames(Loads):
    """Columns of Python's objects in frames."""

    def test_dicts_of_a_frame_stay_apart(self):
        self.make(j="jsonb", t="text", l="jsonb")
        values = [{"x": 1, "d": Decimal("1.50")}, None, {"y": "z", "w": None}]
        lists = [[{"a": 1}], [{"b": 2}], []]
        frame = pd.DataFrame({"id": [1, 2, 3], "j": values, "t": ["a", None, "b"], "l": lists})
        self.put(frame)
        found = self.connection.execute("SELECT j::text, t, l::text FROM loaded ORDER BY id")
        self.assertEqual(
            found.fetchall(),
            [
                ('{"d": 1.50, "x": 1}', "a", '[{"a": 1}]'),
                (None, None, '[{"b": 2}]'),
                ('{"w": null, "y": "z"}', "b", "[]"),
            ],
        )
        self.assertEqual(frame["j"][0], values[0])
        frame = pd.DataFrame({"id": [1, 2], "j": [{"a": 1}, {"a": float("nan")}]})
        self.assertIn("row 1, column 'j': JSON has no NaN", str(self.fail_to_put(frame)))

    def test_mixtures_that_pyarrow_would_change(self):
        self.make(v="text")
        day, aware = date(2026, 1, 2), STAMP.replace(tzinfo=UTC)
        for values, row, message in (
            ([STAMP, aware], 1, "have a time zone, and others have none"),
            ([[aware], [None, STAMP]], 1, "have a time zone, and others have none"),
            ([day, STAMP], 1, "are dates, and others have a time"),
            ([STAMP, "x", day], 2, "are dates, and others have a time"),
            ([time(1), time(2, tzinfo=UTC)], 1, "would drop its time zone"),
            ([pd.Timestamp(1), STAMP], 0, "would drop its nanoseconds"),
            ([pd.Timedelta(1), None], 0, "it has nanoseconds"),
            ([None, {1, 2}], 1, "a value of type set"),
        ):
            column = pd.Series(values, dtype=object)
            error = self.fail_to_put(pd.DataFrame({"id": range(len(values)), "v": column}))
            self.assertIn(f"row {row}, column 'v': ", str(error))
            self.assertIn(message, str(error))
        self.make(a="timestamptz", b="double precision[]", c="text", d="date", e="numeric[]")
        columns = {
            "a": [aware, pd.Timestamp(STAMP, tz="Europe/Berlin"), pd.NaT],
            "b": [np.array([0.1, 2]), None, [1.5]],
            "c": ["x", None, "y"],
            "d": [day, None, day],
            "e": [[Decimal("1.50")], [], None],
        }
        frame = pd.DataFrame({"id": range(3)})
        for name, values in columns.items():
            frame[name] = pd.Series(values, dtype=object)
        self.put(frame)
        read = [
            (0, aware, [0.1, 2.0], "x", day, [Decimal("1.50")]),
            (1, STAMP.replace(tzinfo=BERLIN), None, None, None, []),
            (2, None, [1.5], "y", day, None),
        ]
        self.copy(read)
        self.assert_same()

    def test_objects_of_polars(self):
        """They would be loaded as their addresses."""
        self.make(v="bytea", j="jsonb")
        values = pl.Series([{"a": 1}, {"b": 2}], dtype=pl.Object)
        frame = pl.DataFrame({"id": [1, 2], "v": values})
        self.assertIn("column 'v' is of type polars.Object", str(self.fail_to_put(frame)))
        self.put(frame.rename({"v": "j"}).to_dicts())
        found = self.connection.execute("SELECT j FROM loaded ORDER BY id").fetchall()
        self.assertEqual(found, [({"a": 1},), ({"b": 2},)])

    def test_extension_types_that_are_not_known(self):
        self.make(v="text")
        for column in (pd.period_range("2026-01", periods=1, freq="M"), pd.interval_range(0, 1)):
            frame = pd.DataFrame({"id": [1], "v": column})
            error = self.fail_to_put(frame)
            self.assertIs(type(error), pgsluice.DataError, error)
            self.assertIn("extension type pandas.", str(error))
            self.assertEqual(self.count(), 0)

    def test_floats_for_real(self):
        self.make(v="real")
        values = [0.1, 1e-40, 3.4028235e38, float("nan"), float("inf"), -0.0, 16777217.0, None]
        self.copy(list(enumerate(values)))
        columns = {"id": range(len(values)), "v": values}
        for data in (pl.DataFrame(columns), list(enumerate(values))):
            self.empty("loaded")
            self.put(data)
            self.assert_same()
        self.empty("loaded")
        for value in (1e39, -3.5e38, 1e-50):
            error = self.fail_to_put(pl.DataFrame({"id": [1], "v": [value]}))
            self.assertIn("is out of range for real", str(error))


Pair = namedtuple("Pair", "id v")


@dataclass
class Record:
    id: int
    v: str | None


class Iterators(Loads):
    """Rows that arrive one after the other, and rows of other kinds."""

    def setUp(self):
        super().setUp()
        self.make(v="text")
        self.pairs = [(number, f"v{number}" if number % 3 else None) for number in range(2500)]
        self.copy(self.pairs)

    def assert_all(self, make: Any) -> None:
        self.empty("loaded")
        self.assertEqual(self.put(make()).rows_inserted, len(self.pairs))
        self.assert_same()
        found = pgsluice.verify(make(), "loaded", server())
        self.assertTrue(found.equal, found)
        self.empty("loaded")
        with pgsluice.Writer("loaded", server()) as writer:
            writer.write(make())
        self.assert_same()
        self.empty("loaded")
        with self.connection.transaction():
            self.assertEqual(
                pgsluice.copy(self.connection, make(), "loaded", server()).rows_inserted,
                len(self.pairs),
            )
        self.assert_same()

    def test_generators(self):
        self.assert_all(lambda: (row for row in self.pairs))
        self.assert_all(lambda: ({"id": number, "v": value} for number, value in self.pairs))
        self.assert_all(lambda: map(list, self.pairs))

    def test_rows_of_other_kinds(self):
        self.assert_all(lambda: [Pair(*row) for row in self.pairs])
        self.assert_all(lambda: [Record(*row) for row in self.pairs])
        self.assert_all(lambda: (Record(*row) for row in self.pairs))
        numbers = np.array(self.pairs, dtype=[("id", "i8"), ("v", "O")])
        self.assert_all(lambda: numbers)
        self.assert_all(lambda: list(numbers))
        frame = pd.DataFrame({"id": numbers["id"], "v": numbers["v"]}, dtype=object)
        self.assert_all(lambda: frame.to_records(index=False))

    def test_cursors(self):
        database = sqlite3.connect(":memory:")
        database.execute("CREATE TABLE t (id integer, v text)")
        database.executemany("INSERT INTO t VALUES (?, ?)", self.pairs)
        self.assert_all(lambda: database.execute("SELECT * FROM t"))
        self.assert_all(lambda: (row for row in database.execute("SELECT * FROM t")))
        database.row_factory = sqlite3.Row
        self.assert_all(lambda: database.execute("SELECT v, id FROM t"))
        self.assert_all(lambda: self.connection.execute("SELECT * FROM copied"))

    def test_csv(self):
        file = self.folder / "rows.csv"
        file.write_text("id,v\n" + "".join(f"{number},x\n" for number in range(2500)))
        self.connection.execute("UPDATE copied SET v = 'x'")

        def dicts():
            opened = file.open(newline="")
            self.addCleanup(opened.close)
            return csv.DictReader(opened)

        def lists():
            opened = file.open(newline="")
            self.addCleanup(opened.close)
            reader = csv.reader(opened)
            next(reader)
            return reader

        self.assert_all(dicts)
        self.assert_all(lists)

    def test_a_generator_that_raises(self):
        boom = ValueError("boom")
        for count in (0, 1, 1500):

            def fail(count=count):
                yield from self.pairs[:count]
                raise boom

            error = self.fail_to_put(fail())
            self.assertIs(type(error), pgsluice.InputError)
            self.assertIs(error.__cause__, boom)
            self.assertEqual(self.count(), error.rows_committed or 0)
            with pgsluice.Writer("loaded", server()) as writer:
                with self.assertRaises(ValueError):
                    writer.write(fail())
                self.assertEqual(writer.rows_waiting, 0)

    def test_a_generator_that_changes_its_kind(self):
        error = self.fail_to_put(iter([(1, "a"), {"id": 2}]))
        self.assertIn("row 1 is of type dict, but the first is a row without names", str(error))
        error = self.fail_to_put(iter([{"id": 2}, 5]))
        self.assertIn("row 1 is of type int, but the first is a row with names", str(error))

    def test_many_rows_take_little_memory(self):
        """Pieces wait for the load, not the whole data."""
        made = 0

        def rows():
            nonlocal made
            for number in range(400_000):
                made += 1
                yield number, "x" * 100

        ahead = []
        self.put(rows(), memory="64MB", progress=lambda now: ahead.append(made - now.rows_read))
        self.assertEqual(self.count(), 400_000)
        self.assertLess(max(ahead, default=0), 300_000)

    def test_a_generator_is_interrupted(self):
        def rows():
            yield from self.pairs
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.put(rows())
        self.assertEqual(self.count(), 0)

    def test_a_load_that_fails_leaves_its_generator(self):
        made = 0

        def rows():
            nonlocal made
            for number in range(10_000_000):
                made += 1
                yield ("x", number)

        self.assertIs(type(self.fail_to_put(rows())), pgsluice.DataError)
        self.assertLess(made, 10_000_000)

    def test_plans(self):
        for data in (self.pairs, [{"v": value, "id": number} for number, value in self.pairs]):
            planned = pgsluice.plan(data, "loaded", server(), full=True)
            self.assertEqual(planned.rows_routed, len(self.pairs))

    def test_columns_are_named(self):
        self.empty("loaded")
        self.put(((value, number) for number, value in self.pairs), columns=["v", "id"])
        self.assert_same()
        with self.assertRaises(TypeError):
            self.put(iter(self.pairs), format="csv")


if __name__ == "__main__":
    unittest.main()
