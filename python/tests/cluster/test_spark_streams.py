"""Streams that are stopped and killed within micro-batches, and resume from their checkpoint."""

import json
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import ExitStack
from pathlib import Path

import pgsluice
import pyarrow as pa
import pyarrow.parquet as pq

from .spark_cluster import SETTINGS, end_group
from .spark_place import RESTARTS, OnCluster, cluster, expected

BATCH = 30_000
# The driver is killed at every third restart; otherwise its query is stopped.
KILLS = 3


class Streams(OnCluster):
    limit = 240 + 40 * RESTARTS

    def setUp(self):
        super().setUp()
        self.make()
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(dir="/var/tmp")))
        self.open = self.enterContext(ExitStack())
        self.driver: subprocess.Popen | None = None

    def write_files(self, batches: int) -> None:
        """Write the stream's files, one per micro-batch."""
        (self.folder / "files").mkdir()
        for number in range(batches):
            ids = range(number * BATCH, (number + 1) * BATCH)
            table = pa.table(
                {
                    "id": pa.array(ids, pa.int64()),
                    "v": pa.array([n % 1009 for n in ids], pa.int32()),
                    "note": [f"note {n}" * 20 for n in ids],
                }
            )
            pq.write_table(table, self.folder / "files" / f"{number:04}.parquet")

    def start(self, **more: object) -> None:
        """Start the driver, which resumes from the checkpoint."""
        settings = {
            "master": cluster().url,
            "spark": SETTINGS | {"spark.cores.max": 2, "spark.executor.cores": 1},
            "files": str(self.folder / "files"),
            "checkpoint": str(self.folder / "checkpoint"),
            "conninfo": self.url,
        } | more
        program = Path(__file__).with_name("stream_driver.py")
        process = subprocess.Popen(
            [sys.executable, str(program), json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=cluster().environment(),
            text=True,
            start_new_session=True,
        )
        self.driver = self.open.enter_context(process)
        self.open.callback(end_group, process)
        self.wait_for("started")

    def wait_for(self, word: str) -> str:
        """Wait until the driver prints a word, and return its earlier output."""
        lines = []
        for line in self.driver.stdout:
            if line.strip() == word:
                return "".join(lines)
            lines.append(line)
        return self.fail("".join(lines))

    def stop_in_batch(self, kill: bool) -> bool:
        """Stop the query when some but not all tasks of a micro-batch have committed.

        Return whether the micro-batch was still unfinished when the query had stopped.
        """
        while self.count() % BATCH == 0:
            if self.driver.poll() is not None:
                self.fail(self.driver.stdout.read())
            time.sleep(0.001)
        if kill:
            end_group(self.driver)
            self.driver.wait()
        else:
            self.tell("stop")
            self.wait_for("stopped")
        return self.count() % BATCH != 0

    def tell(self, word: str) -> None:
        self.driver.stdin.write(word + "\n")
        self.driver.stdin.flush()


class Restarts(Streams):
    def test_every_row_is_there_once(self):
        self.write_files(2 * RESTARTS + 4)
        self.start()
        kills = within = 0
        for number in range(RESTARTS):
            kill = number % KILLS == KILLS - 1
            within += self.stop_in_batch(kill)
            kills += kill
            if kill:
                self.start()
            else:
                self.tell("go")
                self.wait_for("started")
        self.wait_for("done")
        rows = BATCH * (2 * RESTARTS + 4)
        self.assertEqual(self.sums()[:6], expected(self.connection, rows)[:6])
        loads = pgsluice.ledger(self.url)
        self.assertEqual({load.state for load in loads}, {"finished"})
        self.assertEqual(sum(load.rows for load in loads), rows)
        print(f"\n{RESTARTS} restarts, {within} within micro-batches, {kills} by kills", flush=True)
        self.assertGreaterEqual(within, RESTARTS // 2)


class Replayed(Streams):
    def test_another_number_of_partitions_is_refused(self):
        self.write_files(20)
        self.start(participants=3)
        while not self.stop_in_batch(kill=True):
            self.start(participants=3)
        rows = self.count()
        self.start(participants=4, partitions=4)
        printed = self.driver.stdout.read()
        self.assertNotEqual(self.driver.wait(), 0, printed)
        self.assertIn("SQLSTATE 55000", printed)
        self.assertIn("ledger forget", printed)
        self.assertEqual(self.count(), rows)


if __name__ == "__main__":
    unittest.main()
