"""Tables in memory: the same rows as files, loaded in each way, and measured separately."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

from pgsluice_lab import inputs as lab_inputs
from pgsluice_lab import session, site
from pyarrow import parquet

from bench import accounts, inputs, tables
from bench.__main__ import arguments, load, scaled
from bench.goals import judge
from bench.record import Record
from bench.ways.__main__ import WAYS
from bench.ways.spent import Meter

MIB = 1 << 20
SMALL = ["--rows", "1000", "--leaves", "4", "--scale", "0.001", "--rounds", "1", "--memory", "64"]


class InCache(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(patch.dict(os.environ, {"PGSLUICE_LAB_CACHE": str(self.folder)}))
        self.enterContext(patch.object(inputs, "CACHE", self.folder))


class Tables(InCache):
    def test_accounts_are_the_rows_of_their_text(self):
        rows = lab_inputs.accounts(1_000)
        file = self.folder / "accounts.parquet"
        accounts.main(str(rows.file), str(file))
        table = parquet.read_table(file)
        lines = ["\t".join(map(str, row.values())) for row in table.to_pylist()]
        self.assertEqual(lines, rows.file.read_text().splitlines())


class Metering(unittest.TestCase):
    def test_memory_is_counted_from_the_start_and_at_its_peak(self):
        table = b"x" * (256 * MIB)
        before = Meter()
        spent = before.stop()
        self.assertLess(spent["client_peak_mib"], 16)
        during = Meter()
        taken = len(b"y" * (64 * MIB))
        spent = during.stop()
        self.assertGreaterEqual(spent["client_peak_mib"], 60)
        self.assertLess(spent["client_peak_mib"], 128)
        self.assertEqual((len(table), taken), (256 * MIB, 64 * MIB))


class Ways(InCache):
    def test_each_loads_each_table_and_is_metered(self):
        records = Path(self.enterContext(tempfile.TemporaryDirectory()))
        whole = load("python")
        chosen, scale = scaled(whole, arguments(whole, SMALL))
        with site.opened(None) as place:
            run = session.run(chosen, scale, place, records, lambda *_: None, inputs.given)
        self.assertEqual([], [each.reason for each in run.loads if not each.done])
        record = Record(run.head, run.loads)
        self.assertEqual(len(record.cases), 2)
        for case in record.cases:
            own = (each.command.partition(" -m bench.ways ")[2] for each in case.loads)
            ways = {each.split()[0] for each in own if each}
            self.assertEqual(ways, set(WAYS))
            for each in case.loads:
                if each.engine.startswith("python"):
                    # The whole process, Python and its libraries, would take more.
                    self.assertLess(each.client_peak_mib, 40, each.engine)
                    self.assertNotIn("client_peak_mib", each.figures)
        [measured] = record.within("hash").loads_of("python-load")
        self.assertEqual(
            (measured.figures["rows_read"], measured.figures["fallbacks"]), (1_000, "[]")
        )
        self.assertIn("| pgsluice.load(table), jobs=2 |", tables.python(record))
        self.assertNotIn("not measured", [each.verdict for each in judge("python", record)])


if __name__ == "__main__":
    unittest.main()
