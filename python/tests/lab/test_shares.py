"""The division of work."""

import unittest
from itertools import chain

from pgsluice_lab.shares import shares


class Shares(unittest.TestCase):
    def test_each_has_about_as_much_by_weight(self):
        weights = {"a": 5, "b": 1, "c": 1, "d": 1, "e": 2}
        self.assertEqual(shares(weights, 2), [["a"], ["e", "b", "c", "d"]])

    def test_nothing_is_lost_or_done_twice(self):
        weights = {f"leaf{number}": number % 7 for number in range(800)}
        for jobs in (1, 2, 5):
            lists = shares(weights, jobs)
            self.assertEqual(len(lists), jobs)
            self.assertEqual(sorted(chain(*lists)), sorted(weights))
            loads = [sum(weights[leaf] for leaf in each) for each in lists]
            self.assertLessEqual(max(loads) - min(loads), 6)


if __name__ == "__main__":
    unittest.main()
