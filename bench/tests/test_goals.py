"""Goals: what they say of a figure, and that every one of them is measured and reported."""

import unittest
from importlib.util import find_spec

from bench.goals import GOALS, judge, verdict
from bench.report import TABLES


class Goals(unittest.TestCase):
    def verdicts(self, case: str, **measured: float | None) -> dict[str, str]:
        return {goal["figure"]: verdict(goal) for goal in judge(case, measured)}

    def test_least_and_most_hold_at_their_limit_and_not_beyond(self):
        at = self.verdicts("uuids", root=6.0, exchange=9.99, floor=1.15)
        self.assertEqual(at, {"root": "holds", "exchange": "falls short", "floor": "holds"})
        over = self.verdicts("uuids", root=5.99, exchange=10.0, floor=1.16)
        self.assertEqual(over, {"root": "falls short", "exchange": "holds", "floor": "falls short"})

    def test_what_is_not_measured_is_said(self):
        some = self.verdicts("uuids", root=7.0, exchange=None)
        expected = {"root": "holds", "floor": "not measured", "exchange": "not measured"}
        self.assertEqual(some, expected)

    def test_each_is_of_a_benchmark_that_the_report_shows(self):
        for goal in GOALS:
            self.assertIn(goal.case, TABLES)

    def test_the_report_shows_programs(self):
        for case in TABLES:
            self.assertIsNotNone(find_spec(f"bench.{case}"), case)


if __name__ == "__main__":
    unittest.main()
