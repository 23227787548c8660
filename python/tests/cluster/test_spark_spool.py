"""Rows of a task beyond its memory go to a file of Spark's local directory, which is deleted."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

import pgsluice
import pyarrow as pa
from pgsluice.spark.spool import Spool, local_directory

from .spark_place import OnCluster, expected, frame

BATCHES = pa.table({"id": range(10_000), "v": [1] * 10_000}).to_batches(max_chunksize=1000)


class Spooled(OnCluster):
    def setUp(self):
        super().setUp()
        self.make("id bigint, v int")
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(patch.dict(os.environ, {"SPARK_LOCAL_DIRS": str(self.folder)}))

    def spool(self, memory: int, batches=BATCHES):
        with Spool(BATCHES[0].schema, memory) as spool:
            for batch in batches:
                spool.add(batch)
            yield spool.data()

    def test_in_memory_and_in_a_file(self):
        for memory in (0, 40_000, 1 << 20):
            for data in self.spool(memory):
                self.assertEqual(isinstance(data, str), memory < 1 << 20)
                how = {"format": "arrow"} if isinstance(data, str) else {}
                # It can be read more than once.
                self.assertEqual(pgsluice.plan(data, "events", self.url, **how).rows, 10_000)
                done = pgsluice.load(data, "events", self.url, **how)
                self.assertEqual(done.rows_inserted, 10_000)
            self.assertEqual(list(self.folder.iterdir()), [])
        self.assertEqual(self.ask("SELECT sum(id), count(*) FROM events"), (3 * 49_995_000, 30_000))

    def test_no_rows(self):
        for data in self.spool(1000, []):
            self.assertEqual((data.num_rows, data.schema), (0, BATCHES[0].schema))

    def test_an_error_leaves_no_file(self):
        def broken():
            yield from BATCHES
            raise ConnectionError

        with self.assertRaises(ConnectionError):
            list(self.spool(0, broken()))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_several_directories(self):
        with patch.dict(os.environ, {"SPARK_LOCAL_DIRS": "/a,/b"}):
            self.assertIn(local_directory(), ("/a", "/b"))


class SpooledTasks(OnCluster):
    def test_a_job_beyond_its_memory(self):
        self.make()
        rows = 60_000
        writer = frame(rows, 3).write.format("pgsluice").option("table", "events")
        writer.options(conninfo=self.url, memory="1MB").mode("append").save()
        self.assertEqual(self.sums(), expected(self.connection, rows))


if __name__ == "__main__":
    unittest.main()
