"""`leaf` returns the leaf where COPY puts each row, or the reason why it cannot."""

import os
import signal
import sys
import threading
import unittest
from unittest.mock import patch

import duckdb
import pandas as pd
import pgsluice
import polars as pl
import psycopg
import pyarrow as pa
from formats.place import server

from .place import Loads

TABLE = pa.table({"id": pa.array(range(5000), pa.int64()), "name": ["ž", None] * 2500})


class Leaf(Loads):
    def setUp(self):
        super().setUp()
        self.make(name="text")

    def remake(self, columns: str, key: str, *leaves: str) -> None:
        """Create another table `loaded`."""
        made = [f"CREATE TABLE loaded_{n} PARTITION OF loaded {leaf}" for n, leaf in
                enumerate(leaves)]  # fmt: skip
        table = f"CREATE TABLE loaded ({columns}) PARTITION BY {key}"
        self.connection.execute("; ".join(["DROP TABLE loaded", table, *made]))

    def stored(self) -> list[str]:
        """Return the leaf of each stored row, by its id."""
        query = "SELECT 'public.' || tableoid::regclass::text FROM loaded ORDER BY id"
        return [name for (name,) in self.connection.execute(query)]

    def leaf(self, batch, **options):
        return pgsluice.leaf("loaded", batch, server(), **options)

    def refuse(self, batch, **options) -> pgsluice.Error:
        with self.assertRaises(pgsluice.Error) as caught:
            self.leaf(batch, **options)
        return caught.exception

    def test_it_is_where_copy_puts_rows(self):
        with self.connection.cursor().copy("COPY loaded FROM STDIN") as copy:
            for row in TABLE.to_pylist():
                copy.write_row(tuple(row.values()))
        stored = self.stored()
        frame = TABLE.to_pandas()
        batches = pa.Table.from_batches(TABLE.to_batches(max_chunksize=7))
        for data in (TABLE, TABLE.slice(0), batches, pl.DataFrame(TABLE), frame,
                     duckdb.from_arrow(TABLE), TABLE.to_reader()):  # fmt: skip
            with self.subTest(type(data).__name__):
                found = self.leaf(data)
                self.assertEqual(found.type, pa.dictionary(pa.int32(), pa.string()))
                self.assertEqual(found.to_pylist(), stored)
        self.assertEqual(self.leaf(TABLE.to_batches()[0].slice(3, 5)).to_pylist(), stored[3:8])
        self.assertEqual(self.leaf(TABLE.slice(0, 0)).to_pylist(), [])
        # Only the key matters.
        self.assertEqual(self.leaf(TABLE.select(["id"])).to_pylist(), stored)

    def test_any_library_takes_the_array(self):
        with patch.dict(sys.modules, {"pyarrow": None}):
            found = self.leaf(pl.DataFrame(TABLE))
        self.assertEqual(repr(found), "<Array: 5000 rows, 3 leaves>")
        self.assertEqual(len(found), 5000)
        expected = self.leaf(TABLE)
        self.assertEqual(pa.array(found), expected)
        self.assertEqual(pl.Series(found).cast(pl.String).to_list(), expected.to_pylist())
        frame = pl.DataFrame(TABLE).with_columns(leaf=pl.Series(found))
        self.assertEqual(frame.group_by("leaf").len()["len"].sum(), 5000)

    def test_no_partition_is_null(self):
        self.remake("id bigint", "RANGE (id)", "FOR VALUES FROM (0) TO (10)")
        found = self.leaf(pa.table({"id": [9, 10, -1, None, 0]}))
        self.assertEqual(
            found.to_pylist(), ["public.loaded_0", None, None, None, "public.loaded_0"]
        )
        self.assertEqual(self.leaf(pa.table({"id": [10]})).null_count, 1)

    def test_a_table_without_partitions(self):
        self.connection.execute("DROP TABLE loaded; CREATE TABLE loaded (id bigint)")
        self.assertEqual(self.leaf(pa.table({"id": [1]})).to_pylist(), ["public.loaded"])

    def test_the_server_is_asked(self):
        self.remake(
            "id bigint, at timestamptz", "LIST (extract(year FROM at AT TIME ZONE 'Asia/Tokyo'))",
            "FOR VALUES IN (2025)", "FOR VALUES IN (2026)",
        )  # fmt: skip
        at = pa.array([0, 3600 * 8, 3600 * 9, 3600 * 10], pa.int64())
        seconds = pa.compute.add(at, 1_767_164_400).cast(pa.timestamp("s", "UTC"))
        table = pa.table({"id": range(4), "at": seconds})
        self.put(table)
        self.assertEqual(self.leaf(table).to_pylist(), self.stored())
        self.assertEqual(len(set(self.stored())), 2)

    def test_rows_that_only_the_server_can_route_are_errors(self):
        self.remake("id bigint, day date", "LIST (day)", "DEFAULT")
        table = pa.table({"id": [1, 2, 3], "day": ["2026-01-01", "today", "yesterday"]})
        error = self.refuse(table)
        self.assertIsInstance(error, pgsluice.DataError)
        self.assertEqual(error.message, "only the server can find the leaf of this row")
        self.assertEqual(error.detail, "key day of public.loaded: the value depends on the clock.")
        self.assertEqual((error.row, error.source), (1, "<data>"))

    def test_rows_that_are_none(self):
        error = self.refuse(pa.table({"id": ["1", "2", "x"]}))
        self.assertEqual((error.row, error.line), (2, 3))
        error = self.refuse(pa.table({"id": pa.array([1, 2**63], pa.uint64())}))
        self.assertEqual((error.row, error.message[:10]), (1, "column id:"))

    def test_columns(self):
        beside = pa.table({"id": [1], "key": [1]})
        self.assertEqual(self.refuse(beside).hint.count("ignore_extra=True"), 1)
        other = pa.table({"key": [1, 2], "x": [0, 0]})
        found = self.leaf(other, map={"key": "id"}, ignore_extra=True)
        self.assertEqual(found, self.leaf(pa.table({"id": [1, 2]})))
        with self.assertRaisesRegex(TypeError, r"leaf\(\) got an unexpected keyword"):
            self.leaf(TABLE, atomic=True)
        for data in ([{"id": 1}], "rows.parquet", 5):
            with self.assertRaisesRegex(TypeError, "has no Arrow data"):
                self.leaf(data)

    def test_interrupted(self):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with psycopg.connect(server()) as other:
            other.execute("LOCK TABLE loaded")
            timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                self.leaf(TABLE)
            timer.join()

    def test_frames_of_pandas(self):
        frame = pd.DataFrame({"id": [3, 1, 2]}, index=["a", "b", "c"])
        expected = self.leaf(pa.table({"id": [3, 1, 2]}))
        self.assertEqual(self.leaf(frame.reset_index(drop=True)), expected)


if __name__ == "__main__":
    unittest.main()
