"""The rows that are generated."""

import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

from bench import inputs


class Inputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        cache = patch.object(inputs, "CACHE", Path(folder.name))
        self.addCleanup(cache.stop)
        cache.start()
        silent = patch("builtins.print")
        self.addCleanup(silent.stop)
        silent.start()

    def test_accounts_are_those_of_pgbench(self):
        lines = inputs.accounts(100_001).file.read_text().splitlines()
        self.assertEqual(len(lines), 100_001)
        self.assertEqual(lines[0], "1\t1\t0\t" + " " * 84)
        self.assertEqual(lines[99_999], "100000\t1\t0\t" + " " * 84)
        self.assertEqual(lines[100_000], "100001\t2\t0\t" + " " * 84)

    def test_uuids_are_distinct_of_version_4_and_others_for_another_seed(self):
        one, two = (inputs.uuids(7_000, seed).file.read_text().splitlines() for seed in (1, 2))
        self.assertEqual(len(one), 7_000)
        self.assertEqual(len({*one, *two}), 14_000)
        for line in one:
            self.assertEqual((str(UUID(line)), UUID(line).version), (line, 4))

    def test_few_rows_are_the_first(self):
        rows = inputs.accounts(10)
        some = inputs.few(rows, 3, rows.file.with_suffix(".few"))
        self.assertEqual(
            some.file.read_text(), "".join(rows.file.read_text().splitlines(keepends=True)[:3])
        )
        self.assertEqual(some.count, 3)


if __name__ == "__main__":
    unittest.main()
