"""A small move in each way, with writers and with swaps, on a server."""

import io
import unittest
from contextlib import redirect_stdout

from pgsluice_lab import site

from bench.move import phases, speed, swaps
from bench.move.options import Options
from bench.move.record import AFTER, BASELINE
from bench.move.ways import WAYS

SMALL = Options(rows=1000, leaves=4, rounds=1, memory=64, clients=2, warm=0, baseline=1, after=1,
                swaps=1, swap_rows=500)  # fmt: skip


class Runs(unittest.TestCase):
    def test_each_part_measures(self):
        with redirect_stdout(io.StringIO()), site.opened(None) as place:
            before = len(place.own())
            spent = speed.measure(place, SMALL)
            writing = phases.measure(place, SMALL)
            [swap] = swaps.measure(place, SMALL)
            self.assertEqual(len(place.own()), before)
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


if __name__ == "__main__":
    unittest.main()
