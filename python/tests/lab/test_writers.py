"""Writers beside a command: their options, their log, and moves by each engine on a server."""

import os
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from pgsluice_lab import experiment, session
from pgsluice_lab.failure import LabError
from pgsluice_lab.programs import needed
from pgsluice_lab.writers import beside
from pgsluice_lab.writers.beside import Wish, figures
from pgsluice_lab.writers.latency import Transaction, ended, longest, ran, transactions
from pgsluice_lab.writers.pgbench import EXPERIMENT, UPDATE, Work, on_time

from .tiny import OnServer

SMALL = {"rows": 500, "partitions": 3, "clients": 2, "rate": 50, "alone": 1}
PROGRESS = "progress: {}.0 s, {} tps, lat 9.1 ms stddev 0.2, 0 failed, lag {} ms\n"


class Latency(unittest.TestCase):
    def test_lines_of_the_log_are_transactions(self):
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "log.1"
        file.write_text("0 1 250000 2 1000 500000 90\n3 7 failed 0 1001 0\n")
        first, second = transactions([file])
        self.assertEqual(first, (1000.25, 1000.5, False, 2))
        self.assertEqual(second, (1001.0, 1001.0, True, 0))

    def test_transactions_of_a_time_ran_or_ended_within_it(self):
        of_all = [Transaction(0, 5), Transaction(9, 11), Transaction(19, 22), Transaction(21, 99)]
        self.assertEqual(longest(ran(of_all, 10, 20)), 3000)
        self.assertEqual(longest(ended(of_all, 10, 20)), 2000)
        self.assertEqual(longest([]), 0)

    def test_latencies_are_of_what_was_due_and_the_rate_of_what_was_done(self):
        of_all = [
            Transaction(9, 10.5),
            Transaction(10, 10.5),
            Transaction(11, 11.25),
            Transaction(11.5, 19),
            Transaction(11.75, 11.75, failed=True),
            Transaction(12, 99),
        ]
        expected = {"tps": 1.5, "p50_ms": 500, "p99_ms": 500, "longest_ms": 7500, "failed": 1}
        self.assertEqual(figures(of_all, 10, 12), expected)


class Pgbench(unittest.TestCase):
    def test_a_rate_is_reported_each_second(self):
        slow = Work(10, 2, rate=5).command(Path("folder"), "url")
        self.assertLessEqual({"--rate=5", "--progress=1", "--define=rows=10"}, {*slow})
        fast = Work(10, 2).command(Path("folder"), "url")
        self.assertFalse([part for part in fast if "--rate" in part or "--progress" in part])

    def test_writers_are_on_time_after_a_whole_second_without_delay(self):
        late, none, good = (PROGRESS.format(2, *each) for each in ((9, 99), (0, 0), (9, 1)))
        for printed, expected in (
            ("", False),
            (good, False),
            (late + good, True),
            (good + late, False),
            (good + none, False),
        ):
            self.assertEqual(on_time(printed), expected, printed)


class Moves(OnServer):
    def test_each_engine_partitions_the_table_and_leaves_no_trace(self):
        shipped = experiment.load("partition-in-use")
        scale = shipped.scales["small"]
        scale = replace(scale, rounds=1, parameters={**scale.parameters, **SMALL})
        run = session.run(shipped, scale, self.site, self.records, lambda *_: None)
        for load in run.loads:
            with self.subTest(engine=load.engine):
                self.assertEqual((load.status, load.reason), ("done", None))
                self.assertEqual(load.seconds is None, load.engine == "pgbench-writers")
                self.assertEqual(load.client_peak_mib is None, load.engine == "pgbench-writers")
                # psql locks the table, so writers may wait during the whole of a small move.
                least = 0 if load.engine == "psql-partition" else 1e-9
                for name in ("tps", "p50_ms", "p99_ms", "longest_ms"):
                    self.assertGreaterEqual(load.figures[name], least, name)
                self.assertNotIn(str(EXPERIMENT), load.command)
        self.assertEqual([load.engine for load in run.loads], shipped.case["move"].engines)
        self.assertNotEqual(self.site.query("SELECT id FROM pgsluice.load"), [])
        # The ledger also belongs to another user, so it stays.
        with patch.object(self.site, "had_ledger", new=True):
            self.site.forget()
        self.assertEqual(self.site.query("SELECT id FROM pgsluice.load"), [])
        self.site.forget()
        self.assertEqual(self.site.query("SELECT to_regnamespace('pgsluice')"), [["None"]])

    def test_a_move_that_was_stopped_is_forgotten(self):
        schema = self.site.create()
        variables: dict[str, object] = {"name": "accounts", "rows": 9, "key": 1}
        self.site.script(EXPERIMENT / "plain.sql", schema, variables)
        command = [needed("pgsluice"), "partition", f"{schema}.accounts", "--by", "HASH (aid)"]
        command += ["--leaves", "2", "--until", "copy", "-q", "-d", self.site.url]
        self.site.run(command, schema)
        self.site.drop(schema)
        self.assertEqual(self.site.query("SELECT count(*) FROM pgsluice.move"), [["1"]])
        with patch.object(self.site, "had_ledger", new=True):
            self.site.forget()
        self.assertEqual(self.site.query("SELECT id FROM pgsluice.load"), [])
        self.assertEqual(self.site.query("SELECT count(*) FROM pgsluice.move"), [["0"]])

    def test_a_lost_row_or_update_is_an_error(self):
        schema = self.site.create()
        self.addCleanup(self.site.drop, schema)
        variables: dict[str, object] = {"name": "accounts", "rows": 9, "key": 1}
        self.site.script(EXPERIMENT / "plain.sql", schema, variables)
        self.site.execute(f"UPDATE {schema}.accounts SET abalance = 1 WHERE aid < 4")
        self.enterContext(patch.dict(os.environ, self.site.environment(schema)))
        wish = Wish(self.site.url, Work(9, 1), 4, [], 1)
        update, other = (Transaction(0, 1, script=each) for each in (UPDATE, UPDATE + 1))
        for updates in (2, 3):
            beside.check(wish, [update] * updates + [other])
        for updates in (1, 4):
            with self.assertRaisesRegex(LabError, "3 updates"):
                beside.check(wish, [update] * updates)
        with self.assertRaisesRegex(LabError, "in 0 partitions"):
            beside.check(replace(wish, command=["pgsluice"]), [update] * 3)
        with self.assertRaisesRegex(LabError, "9 rows"):
            beside.check(replace(wish, work=Work(10, 1)), [update] * 3)

    def test_a_command_that_fails_says_why(self):
        with self.assertRaisesRegex(LabError, "psql ended with status 2: .*nowhere"):
            beside.run(["psql", "host=nowhere.invalid"], os.environ)


if __name__ == "__main__":
    unittest.main()
