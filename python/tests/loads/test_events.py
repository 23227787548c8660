"""Events: metrics as Prometheus' own parser reads them, records of `logging`, and warnings."""

import asyncio
import logging
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import pgsluice
from formats.place import program, server
from prometheus_client.parser import text_string_to_metric_families

from .place import Loads


def metrics(file: Path) -> dict[str, float]:
    """Return each series of a file, as `name` or `name{label}`."""
    families = list(text_string_to_metric_families(file.read_text()))
    assert all(family.documentation for family in families)
    assert {family.type for family in families} == {"counter", "gauge"}
    return {
        sample.name + "".join(f"{{{value}}}" for value in sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


class Reported(Loads):
    def setUp(self):
        super().setUp()
        self.make(v="text")
        self.connection.execute("DROP SCHEMA IF EXISTS pgsluice CASCADE")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "run.prom"

    def metrics(self) -> dict[str, float]:
        return metrics(self.file)


class Metrics(Reported):
    def test_a_load(self):
        before = time.time()
        self.put([{"id": i, "v": "x"} for i in range(1000)], metrics=self.file)
        found = self.metrics()
        self.assertEqual(found["pgsluice_committed_rows_total"], 1000)
        self.assertEqual(found["pgsluice_finished"], 1)
        self.assertEqual(found["pgsluice_succeeded"], 1)
        self.assertEqual(found["pgsluice_waiting_seconds_total{lag}"], 0)
        self.assertEqual(found["pgsluice_move_phase{copy}"], 0)
        self.assertGreater(found["pgsluice_last_commit_timestamp_seconds"], before - 1)
        self.assertEqual(self.file.stat().st_mode & 0o444, 0o444)

    def test_a_load_that_fails(self):
        with self.assertRaises(pgsluice.DataError):
            self.put([{"id": "x", "v": "x"}], metrics=str(self.file))
        found = self.metrics()
        self.assertEqual(found["pgsluice_finished"], 1)
        self.assertEqual(found["pgsluice_succeeded"], 0)
        self.assertEqual(found["pgsluice_committed_rows_total"], 0)

    def test_the_lag_of_a_stream(self):
        with pgsluice.Writer("loaded", server(), metrics=self.file) as writer:
            writer.report_lag(70_000)
        self.assertEqual(self.metrics()["pgsluice_lag_messages"], 70_000)
        with pgsluice.Writer("loaded", server(), metrics=self.file) as writer:
            writer.report_lag(-1)
        self.assertEqual(self.metrics()["pgsluice_lag_messages"], 0)

    def test_a_file_that_cannot_be_written(self):
        with self.assertRaisesRegex(pgsluice.InputError, "could not write metrics"):
            self.put([{"id": 1}], metrics=self.file / "none")
        self.assertEqual(self.count(), 0)

    def test_a_stream(self):
        rejected = []
        with pgsluice.Writer(
            "loaded",
            server(),
            flush_seconds=None,
            metrics=self.file,
            on_reject=lambda _, error: rejected.append(error.sqlstate),
        ) as writer:
            self.assertEqual(self.metrics()["pgsluice_last_commit_timestamp_seconds"], 0)
            for batch in range(3):
                rows = [{"id": str(batch * 10 + i), "v": "x"} for i in range(10)]
                writer.write([*rows, {"id": "none", "v": "x"}] if batch == 1 else rows)
                writer.flush()
            time.sleep(1.5)
            found = self.metrics()
            self.assertEqual(found["pgsluice_committed_rows_total"], 30)
            self.assertEqual(found["pgsluice_finished"], 0)
            commit = found["pgsluice_last_commit_timestamp_seconds"]
            self.assertLess(abs(time.time() - commit), 30)
        self.assertEqual(rejected, ["22P02"])
        found = self.metrics()
        self.assertEqual(found["pgsluice_rejected_rows_total{22P02}"], 1)
        self.assertEqual(found["pgsluice_transactions_total"], 3)
        self.assertEqual(found["pgsluice_succeeded"], 1)

    def test_a_stream_whose_program_fails(self):
        with (
            self.assertRaises(ZeroDivisionError),
            pgsluice.Writer("loaded", server(), metrics=self.file),
        ):
            raise ZeroDivisionError
        found = self.metrics()
        self.assertEqual((found["pgsluice_finished"], found["pgsluice_succeeded"]), (1, 0))

    def test_a_move(self):
        self.connection.execute(
            "DROP TABLE IF EXISTS moved, moved_old;"
            "CREATE TABLE moved (id int PRIMARY KEY, v text);"
            "INSERT INTO moved SELECT i, i::text FROM generate_series(1, 5000) AS i"
        )
        command = [program(), "partition", "moved", "--by=HASH (id)", "--leaves=3"]
        command += ["-d", server(), "--metrics", str(self.file), "--until=copy"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        found = self.metrics()
        self.assertEqual(found["pgsluice_committed_rows_total"], 5000)
        self.assertEqual(found["pgsluice_built_indexes"], 3)
        command = [program(), "partition", "swap", "moved", "-d", server()]
        command += ["--metrics", str(self.file)]
        with self.connection.transaction():
            self.connection.execute("LOCK TABLE moved IN ACCESS SHARE MODE")
            swap = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            while self.metrics()["pgsluice_move_phase{swap}"] == 0:
                self.assertIsNone(swap.poll())
                time.sleep(0.1)
        self.assertEqual(swap.wait(60), 0, swap.stderr.read())
        swap.stderr.close()
        self.assertEqual(self.metrics()["pgsluice_succeeded"], 1)


class Logged(Reported):
    def test_records_have_levels(self):
        with self.assertLogs("pgsluice", logging.DEBUG) as logs:
            self.put([{"id": 1, "v": "x"}])
            self.put([])
        of = {record.levelno: record.getMessage() for record in logs.records}
        self.assertIn("the input has no rows", of[logging.WARNING])
        text = "\n".join(record.getMessage() for record in logs.records)
        self.assertIn("attempt 1", text)
        self.assertIn("committed 1 row", text)
        self.assertIn("finished with 1 row", text)

    def test_handlers_run_in_the_thread_that_waits(self):
        with self.assertLogs("pgsluice", logging.DEBUG) as logs:
            asyncio.run(pgsluice.aload([{"id": 1, "v": "x"}], "loaded", server()))
            with pgsluice.Writer("loaded", server(), flush_seconds=None) as writer:
                writer.write([{"id": 2, "v": "x"}])
        self.assertEqual({it.thread for it in logs.records}, {threading.get_ident()})
        committed = [it for it in logs.records if "committed 1 row " in it.getMessage()]
        self.assertEqual(len(committed), 2)

    def test_warnings_without_a_handler(self):
        code = (
            "import pgsluice, sys, warnings\n"
            "warnings.simplefilter('always')\n"
            "pgsluice.load([], 'loaded', sys.argv[1])\n"
        )
        command = [sys.executable, "-c", code, server()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        warning = "<string>:3: LoadWarning: the input has no rows"
        self.assertEqual(done.stderr.splitlines()[0], warning)
        self.assertEqual(done.stderr.count("no rows"), 1)

    def test_warnings_with_a_handler(self):
        code = (
            "import logging, pgsluice, sys\n"
            "logging.basicConfig(format='%(levelname)s %(message)s')\n"
            "pgsluice.load([], 'loaded', sys.argv[1])\n"
        )
        command = [sys.executable, "-c", code, server()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(done.stderr.splitlines(), ["WARNING the input has no rows"])

    def test_a_warning_can_be_an_error(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", pgsluice.LoadWarning)
            with self.assertRaises(pgsluice.LoadWarning):
                self.put([])
