"""A small move in each way, with writers and with swaps, on a server."""

import io
import time
import unittest
from contextlib import redirect_stdout

from pgsluice_lab import site

from bench.move import phases, speed, swaps, waits
from bench.move.accounts import Accounts
from bench.move.options import Options
from bench.move.record import AFTER, BASELINE
from bench.move.ways import WAYS

SMALL = Options(rows=1000, leaves=4, rounds=1, memory=64, clients=2, warm=0, baseline=1, after=1,
                swaps=1, swap_rows=500)  # fmt: skip

SOON = 60
WAITING = "SELECT 1 FROM pg_locks WHERE relation = '{}.accounts'::regclass AND NOT granted"


class Runs(unittest.TestCase):
    def test_each_part_measures(self):
        with redirect_stdout(io.StringIO()), site.opened(None) as place:
            before = len(place.lab_schemas())
            spent = speed.measure(place, SMALL)
            writing = phases.measure(place, SMALL)
            [swap] = swaps.measure(place, SMALL)
            self.assertEqual(len(place.lab_schemas()), before)
        self.assertEqual([each.way for each in spent], [*WAYS])
        for each in spent:
            self.assertEqual(len(each.seconds), 1, each.way)
            self.assertGreater(each.wal_bytes[0], 0, each.way)
        names = [each.phase for each in writing.phases]
        self.assertEqual((names[0], names[-2], names[-1]), (BASELINE, "swap", AFTER))
        for each in (writing.phases[0], writing.phases[-1]):
            self.assertGreater(each.transactions, 0, each.phase)
        self.assertGreater(swap.longest_ms, 0)
        self.assertGreater(swap.beside_ms, 0)
        self.assertEqual(sum(each.failed for each in writing.phases), 0)

    def test_a_wait_of_a_writer_is_reported(self):
        with site.opened(None) as place:
            accounts = Accounts(place, SMALL.rows, "keyed")
            accounts.lend("keyed")
            schema = accounts.work
            with waits.writing(place, schema, SMALL.rows, SMALL) as writers:
                with place.connection.transaction():
                    place.execute(f"LOCK TABLE {schema}.accounts IN SHARE MODE")
                    while not place.query(WAITING.format(schema)):
                        time.sleep(0.01)
                    place.query("SELECT pg_sleep(0.1)")
                until = time.monotonic() + SOON
                while not waits.longest_wait(writers.printed()) and time.monotonic() < until:
                    time.sleep(0.01)
                self.assertGreater(waits.longest_wait(writers.printed()), waits.REPORTED_MS)
                self.assertTrue([*writers.stop()])
            accounts.drop()


if __name__ == "__main__":
    unittest.main()
