"""The rows that experiments load."""

import hashlib
import os
import re
import tempfile
import unittest
from collections import Counter
from itertools import pairwise
from math import gcd
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

from pgsluice_lab import experiment, inputs, texts

ORDER = re.compile(
    r"\d+\t\d+\t[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\t202[45]-\d\d-\d\d \d\d:\d\d:\d\d\+00\t"
    r"(\\N|202[456]-\d\d-\d\d)\t[a-z]+\t\d+\.\d\d\t0\.\d\d\t\d+\t\d+\.\d{6}\t[tf]\t[A-Z][a-z]+\n"
)


class Inputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "cache"
        cache = patch.dict(os.environ, PGSLUICE_LAB_CACHE=str(self.folder))
        self.addCleanup(cache.stop)
        cache.start()

    def test_a_file_is_made_once_and_leaves_nothing_unfinished(self):
        file = inputs.cache("rows.txt", ["a\n"])
        self.assertEqual(inputs.cache("rows.txt", ["b\n"]), file)
        self.assertEqual(file.read_text(), "a\n")
        with self.assertRaises(ZeroDivisionError):
            inputs.cache("others.txt", (f"{1 // number}\n" for number in (1, 0)))
        self.assertEqual(list(self.folder.iterdir()), [file])

    def test_an_input_is_given_the_parameters_that_it_takes(self):
        parameters = {"rows": 3, "step": 2, "partitions": 4, "jobs": 1}
        rows = inputs.given("accounts", parameters)
        self.assertEqual(rows, inputs.accounts(3, 2))
        with self.assertRaises(ValueError):
            inputs.given("cache", parameters)

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

    def test_uuids_are_ordered_on_demand(self):
        rows, ordered = inputs.uuids(7_000).file, inputs.ordered_uuids(7_000).file
        lines = rows.read_text().splitlines()
        self.assertNotEqual(lines, sorted(lines))
        self.assertEqual(ordered.read_text().splitlines(), sorted(lines))

    def test_event_ids_are_those_of_sql(self):
        lines = inputs.event_ids(2).file.read_text().splitlines()
        self.assertEqual(lines, [str(UUID(hashlib.md5(each).hexdigest())) for each in (b"1", b"2")])

    def test_plans_are_the_same_rows_in_any_order(self):
        orders = ("random", "ordered", "subset")
        shuffled, ordered, subset = (inputs.plans(2_000, order) for order in orders)
        lines = shuffled.file.read_text().splitlines()
        self.assertEqual((shuffled.count, ordered.count, len(lines)), (2_000, 2_000, 2_000))
        self.assertNotEqual(lines, sorted(lines))
        self.assertEqual(ordered.file.read_text().splitlines(), sorted(lines))
        of_subset = [line for line in lines if line.startswith(texts.SUBSET)]
        self.assertEqual(subset.file.read_text().splitlines(), of_subset)
        self.assertEqual(subset.count, 2_000 * 8_804 // 537_056)
        with self.assertRaises(ValueError):
            inputs.plans(10, "backwards")

    def test_plans_have_ten_fields_and_a_key_of_their_own(self):
        rows = [
            line.split("\t") for line in inputs.plans(5_000, "random").file.read_text().split("\n")
        ][:-1]
        self.assertEqual({len(row) for row in rows}, {10})
        self.assertEqual(len({row[0] for row in rows}), 5_000)
        firsts = Counter(row[0][0] for row in rows)
        self.assertEqual(len(firsts), 36)
        # A letter also stands for its capital.
        self.assertAlmostEqual(firsts["k"] / firsts["3"], 2, delta=0.05)

    def test_suffixes_repeat_only_after_all_others(self):
        self.assertEqual(gcd(texts.PRIME, 36), 1)
        self.assertEqual(texts.suffix(36**texts.SUFFIX + 5), texts.suffix(5))

    def test_copytest_has_whole_transactions_and_at_least_ten(self):
        for batch, expected in ((1, 20), (10, 200), (25, 500), (100, 1_000)):
            rows = inputs.copytest(batch, transactions=20, most=500)
            lines = rows.file.read_text().splitlines()
            self.assertEqual((rows.count, len(lines)), (expected, expected))
            blocks = [line.split("\t")[2] for line in lines]
            self.assertEqual(set(Counter(blocks).values()), {batch})

    def test_pairs_are_within_their_bounds(self):
        lines = inputs.pairs(1_000, most=3).file.read_text().splitlines()
        self.assertEqual({tuple(line.split("\t")) for line in lines}, {*PAIRS})

    def test_changed_pairs_are_distinct_scattered_and_those_of_sql(self):
        lines = inputs.changed_pairs(1_000, most=30).file.read_text().splitlines()
        numbers = [int(line.split("\t")[0]) for line in lines]
        self.assertEqual(sorted(lines), sorted(f"{b}\t{b % 30 + 1}\t1" for b in range(1, 1_001)))
        self.assertFalse({1, -1} & {after - b for b, after in pairwise(numbers)})

    def test_changed_pairs_have_the_declared_number_at_every_scale(self):
        for scale in experiment.load("insert-routing").scales.values():
            self.assertEqual(gcd(inputs.SCATTER, scale.scalars["changes"]), 1)

    def test_orders_are_of_the_types_of_their_columns(self):
        lines = inputs.orders(3_000).file.read_text().splitlines(keepends=True)
        self.assertEqual(len(lines), 3_000)
        for line in lines:
            self.assertRegex(line, ORDER)
        months = {line.split("\t")[3][:7] for line in lines}
        self.assertEqual(len(months), 24)


PAIRS = [(a, b) for a in "123" for b in "123"]


if __name__ == "__main__":
    unittest.main()
