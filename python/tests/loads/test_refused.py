"""Data that cannot be stored raises an exception of its kind, with the reason and the cause."""

import io
import pickle
import unittest
from datetime import timedelta

import pandas as pd
import pgsluice
import pyarrow as pa
from formats.place import server

from .place import Loads

TABLE = pa.table({"id": pa.array(range(100), pa.int64()), "v": pa.array(range(100), pa.int32())})


class Refused(Loads):
    def setUp(self):
        super().setUp()
        self.make(v="integer CHECK (v <> 50)")

    def assert_nothing(self, error: pgsluice.Error, kind: type, *message: str) -> None:
        self.assertIs(type(error), kind, error)
        for words in message:
            self.assertIn(words, str(error))
        self.assertEqual(self.count(), 0)

    def test_a_row_is_named(self):
        error = self.fail_to_put(TABLE)
        self.assert_nothing(error, pgsluice.DataError, "<data>:51: ", 'check constraint "')
        self.assertEqual((error.row, error.line, error.source), (50, 51, "<data>"))
        self.assertEqual((error.sqlstate, error.rows_committed), ("23514", 0))
        self.assertIn("Failing row contains (50, 50)", error.detail)
        self.assertIn('reject_file="bad.ndjson", max_rejects=100', error.hint)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), vars(again)), (str(error), vars(error)))

    def test_a_row_is_rejected(self):
        bad = self.folder / "bad.ndjson"
        done = self.put(iter(TABLE.to_batches(max_chunksize=9)), reject_file=bad, max_rejects=1)
        self.assertEqual((done.rows_rejected, done.rows_inserted), (1, 99))
        self.assertEqual(bad.read_text(), '{"id":"50","v":"50"}\n')

    def test_a_row_is_rejected_into_a_table(self):
        self.connection.execute('DROP TABLE IF EXISTS "Bad"')
        self.connection.execute('CREATE TABLE "Bad" (source text, "offset" bigint, "row" jsonb)')
        done = self.put(TABLE, reject_table='"Bad"', max_rejects=1)
        self.assertEqual((done.rows_rejected, done.rows_inserted), (1, 99))
        stored = self.connection.execute('SELECT "offset", "row" FROM "Bad"').fetchall()
        self.assertEqual(stored, [(50, {"id": "50", "v": "50"})])
        verified = pgsluice.verify(TABLE, "loaded", server(), reject_table='"Bad"')
        self.assertEqual((verified.equal, verified.rows_left_out), (True, 1))

    def test_hints_are_keywords(self):
        file = self.folder / "rows.csv"
        for text, options, message in (
            ("1,NULL\n2,3\n", {}, 'null="NULL"'),
            ('1,""\n', {}, 'force_null="v"'),
            ("id,v,w\n1,2,3\n", {"header": True}, 'header="map", ignore_extra=True'),
            ("sep=;\nid;v\n1;2\n", {"header": True}, 'header=2, delimiter=";"'),
        ):
            with self.subTest(text):
                file.write_text(text)
                error = self.fail_to_put(file, **options)
                self.assert_nothing(error, pgsluice.DataError)
                self.assertIn(message, error.hint)
                self.assertNotIn("--", error.hint)
        error = self.fail_to_put("ftp://example.org/rows.csv")
        message = 'pgsluice.load(subprocess.Popen("curl -fsSL ftp://example.org/rows.csv", '
        self.assert_nothing(error, pgsluice.InputError, message)

    def test_columns_that_do_not_fit(self):
        for columns, message in (
            ({"id": [1], "w": [1]}, (pgsluice.DataError, '"w"', "ignore_extra=True")),
            ({"id": [1], "v": [[1]]}, (pgsluice.DataError, "column v is of type integer")),
            ({"v": [1]}, (pgsluice.DataError, 'null value in column "id"')),
        ):
            with self.subTest(columns):
                for data in (pa.table(columns), iter([pa.table(columns)])):
                    self.assert_nothing(self.fail_to_put(data), *message)
        self.assertEqual(self.put(pa.table({"id": [1], "w": [1]}), ignore_extra=True).rows_read, 1)

    def test_batches_that_differ(self):
        other = pa.table({"id": pa.array([1], pa.int64()), "v": ["x"]})
        for data in ([TABLE[:10], other], iter([TABLE[:10], other])):
            error = self.fail_to_put(data)
            message = (
                "batch 2 of <data> has different columns from the first",
                '"v" Int32',
                '"v" Utf8',
            )
            self.assert_nothing(error, pgsluice.DataError, *message)
        error = self.fail_to_put(iter([TABLE[:10], TABLE[:5].select(["id"])]))
        self.assert_nothing(error, pgsluice.DataError, "The first has 2 columns, this one has 1.")

    def test_a_stream_that_raises(self):
        boom = ValueError("boom")

        def batches():
            yield TABLE[:10]
            raise boom

        def pieces():
            raise boom

        for options in ({}, {"on_conflict": "skip", "key": ["id"]}, {"atomic": True}):
            error = self.fail_to_put(batches(), **options)
            self.assert_nothing(error, pgsluice.InputError, "<data>: ValueError: boom")
            self.assertIs(error.__cause__, boom)
        error = self.fail_to_put(pa.RecordBatchReader.from_batches(TABLE.schema, pieces_of(boom)))
        self.assert_nothing(error, pgsluice.InputError, "boom")
        self.assertIsInstance(error.__cause__, ValueError)

        class File:
            def read(self, _):
                pieces()

        error = self.fail_to_put(File(), format="csv")
        self.assert_nothing(error, pgsluice.InputError, "<data>", "ValueError: boom")
        self.assertIs(error.__cause__, boom)

    def test_a_stream_that_raises_late(self):
        """The error states the rows that were committed before it, and how to load the rest."""
        table = pa.table({"id": range(200_000), "v": [1] * 200_000})

        def batches():
            for _ in range(8):
                yield from table.to_batches(max_chunksize=10_000)
            raise KeyError("late")

        error = self.fail_to_put(batches())
        self.assertIsInstance(error.__cause__, KeyError)
        self.assertEqual(error.rows_committed, self.count())
        if error.rows_committed:
            self.assertIn(f'load_id="{error.load_id}"', error.hint)

    def test_items_that_are_no_data(self):
        error = self.fail_to_put(iter([TABLE[:5], {"id": 1}]))
        message = "TypeError: an object of type dict has no Arrow data"
        self.assert_nothing(error, pgsluice.InputError, message)
        self.assertIsInstance(error.__cause__, TypeError)
        for data in (5, None, b"bytes", {"id": [1]}, [1], [TABLE, "x"], ["x", TABLE], [{}, ()]):
            with self.subTest(data), self.assertRaises(TypeError):
                self.put(data)
        error = self.fail_to_put([(1, object())])
        self.assertIsInstance(error.__cause__, TypeError)
        error = self.fail_to_put([("1",)])
        self.assert_nothing(error, pgsluice.DataError, "missing data for column")

    def test_a_text_file_is_no_binary_one(self):
        file = self.folder / "rows.csv"
        file.write_text("1,2\n")
        with file.open() as opened:
            for text in (opened, io.StringIO("1,2\n")):
                with self.assertRaisesRegex(TypeError, "in mode 'rb'"):
                    self.put(text)

    def test_a_column_is_no_table(self):
        for column in (pa.chunked_array([[1]]), pa.array([1])):
            error = self.fail_to_put(column)
            self.assert_nothing(error, pgsluice.InputError, "Arrow data, but is not a table")
            self.assertIsInstance(error.__cause__, TypeError)

    def test_pyarrow_says_what_it_cannot_convert(self):
        mixed = pd.DataFrame({"id": [1, 2], "v": pd.Series([1, "x"], dtype=object)})
        twice = pd.DataFrame([[1, 2]], columns=["id", "id"])
        for frame, message in (
            (mixed, "Conversion failed for column v with type object"),
            (twice, "Duplicate column names found"),
        ):
            for data in (frame, iter([frame])):
                error = self.fail_to_put(data)
                self.assert_nothing(error, pgsluice.InputError, message)
                self.assertIsInstance(error.__cause__, ValueError)

    def test_options(self):
        for options, message in (
            ({"jobs": 0}, "number of jobs must be between 1 and 256"),
            ({"on_conflict": "merge"}, "invalid value 'merge' for 'on_conflict'"),
            ({"reject_file": "x"}, "max_rejects"),
            ({"newer": "v"}, "newer applies only to rows that are updated"),
            ({"header": True}, "a header cannot be used"),
            ({"columns": ["id"]}, "ignore_extra"),
            ({"memory": "1 parsec"}, "'memory'"),
            ({"once": True}, "Leave out once"),
        ):
            with self.subTest(options):
                error = self.fail_to_put(TABLE, **options)
                self.assert_nothing(error, pgsluice.UsageError, message)
                self.assertIsInstance(error, ValueError)
                self.assertNotIn("--", str(error))
        with self.assertRaisesRegex(TypeError, r"'job'\. Did you mean 'jobs'\?"):
            self.put(TABLE, job=1)
        with self.assertRaises(TypeError):
            self.put(TABLE, columns=[1])
        with self.assertRaisesRegex(TypeError, r"load\(\) takes once as True or False, not 'no'"):
            self.put(TABLE, once="no")
        with self.assertRaisesRegex(TypeError, r"load\(\) takes table as a str, not Table"):
            pgsluice.load("loaded", TABLE, server())
        with self.assertRaisesRegex(TypeError, r"load\(\) takes conninfo as a str, not Connection"):
            pgsluice.load(TABLE, "loaded", self.connection)
        with self.assertRaises(TypeError):
            self.put([(1, 2)], format="csv")

    def test_names(self):
        error = self.fail_to_put(self.folder / "none.csv")
        self.assert_nothing(error, pgsluice.InputError, "No such file or directory")
        with self.assertRaises(pgsluice.ServerError) as caught:
            pgsluice.load(TABLE, "nowhere", server())
        self.assertEqual(caught.exception.sqlstate, "42P01")

    def test_a_server_that_is_not_there(self):
        for wait in (0, 0.2, "200ms", timedelta(milliseconds=200)):
            with self.assertRaises(pgsluice.ConnectError):
                pgsluice.load(TABLE, "loaded", "host=127.0.0.1 port=1 dbname=x", wait=wait)


def pieces_of(error: Exception):
    yield from TABLE[:10].to_batches()
    raise error


if __name__ == "__main__":
    unittest.main()
