"""The generated rows."""

import os
import tempfile
import unittest
from unittest.mock import patch

from bench import inputs


class Inputs(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(patch.dict(os.environ, {"PGSLUICE_LAB_CACHE": folder}))

    def test_one_row_in_a_hundred_is_spoilt_in_one_of_two_ways(self):
        good = inputs.given("accounts", {"rows": 1_000})
        bad = inputs.given("spoilt_accounts", {"rows": 1_000})
        self.assertEqual(bad.count, 1_000)
        pairs = zip(*(each.file.read_text().splitlines() for each in (good, bad)), strict=True)
        odd = {number: row for number, (one, row) in enumerate(pairs, 1) if one != row}
        self.assertEqual(list(odd), list(range(100, 1_001, 100)))
        self.assertEqual([row.split("\t")[2] for row in odd.values()], ["-1", "none"] * 5)

    def test_one_account_is_one_row(self):
        rows = inputs.given("one_account", {"step": 7919})
        self.assertEqual((rows.count, len(rows.file.read_text().splitlines())), (1, 1))

    def test_accounts_have_a_scale_of_the_benchmarks(self):
        rows = inputs.given("scaled_accounts", {"scale": 0.0001, "key": 1})
        self.assertEqual((rows.count, len(rows.file.read_text().splitlines())), (500, 500))


if __name__ == "__main__":
    unittest.main()
