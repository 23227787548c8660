"""The page's recommendations: the fastest measured way, if it is so in all rounds."""

import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from pgsluice_lab.experiment import Advice, experiments
from pgsluice_lab.report.recommendations import WORDS, Recommendation, recommended
from pgsluice_lab.report.results import newest

from . import synthetic
from .test_shipped_figures import points

ADVICE = Advice(
    "a table",
    [
        {"do": "Copy", "named": "psql", "case": "one", "engine": "psql"},
        {"do": "Load", "named": "pgsluice", "case": "one", "engine": "pgsluice"},
        {"do": "Exchange", "named": "exchange", "case": "one", "engine": "pgsluice-exchange"},
    ],
)


class Recommended(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        synthetic.write(Path(folder.name))
        self.run_ = newest(Path(folder.name))["batches"][0]

    def advised(self, advice: Advice = ADVICE, **seconds: tuple) -> Recommendation | None:
        names = {"exchange": "pgsluice-exchange"}
        loads = [
            replace(each, seconds=taken, rows_per_second=1000 / taken, round=number)
            for name, rounds in seconds.items()
            for number, taken in enumerate(rounds, 1)
            for each in synthetic.rounds("one", {}, names.get(name, name), 1, 1, 1000)
        ]
        return recommended(advice, [replace(self.run_, loads=loads)])

    def test_the_fastest_way_is_named(self):
        found = self.advised(psql=(2, 2), pgsluice=(1.5, 1), exchange=(0.5, 0.4))
        expected = Recommendation("a table", "Exchange", "4.5 times as fast as psql (4.0 to 5.0)")
        self.assertEqual(found, expected)

    def test_a_rate_is_better_the_higher_it_is(self):
        rates = replace(ADVICE, figure="rows_per_second")
        found = self.advised(rates, psql=(2, 2), pgsluice=(1, 1))
        self.assertEqual((found.do, found.why), ("Load", "2.0 times as fast as psql"))

    def test_a_way_that_is_not_faster_in_all_rounds_is_not_advised(self):
        found = self.advised(psql=(2, 2), pgsluice=(1, 3))
        self.assertEqual(found.do, "Copy")
        self.assertEqual(found.why, "no difference to pgsluice beyond the spread")
        either = replace(ADVICE, otherwise="Take either")
        self.assertEqual(self.advised(either, psql=(2, 2), pgsluice=(1, 3)).do, "Take either")

    def test_the_first_way_may_be_the_fastest(self):
        found = self.advised(psql=(1, 1), pgsluice=(1.5, 1.6))
        self.assertEqual(found.do, "Copy")
        self.assertEqual(found.why, "1.55 times as fast as pgsluice (1.50 to 1.60)")

    def test_one_round_is_reported_as_one(self):
        found = self.advised(psql=(2,), pgsluice=(1,))
        self.assertEqual(found.why, "2.0 times as fast as psql (one round)")

    def test_without_figures_there_is_no_advice(self):
        self.assertIsNone(self.advised(pgsluice=(1, 1)))
        self.assertIsNone(recommended(ADVICE, []))


class Shipped(unittest.TestCase):
    def test_every_option_means_one_point(self):
        for each in experiments():
            self.assertTrue(each.advice, each.name)
            for scale in each.scales.values():
                for option in (option for advice in each.advice for option in advice.options):
                    where = {name: value for name, value in option.items() if name not in WORDS}
                    found = points(each, scale, option["case"], where)
                    self.assertEqual(len(found), 1, f"{each.name} {scale.name} {option}")
                    self.assertIn(option["engine"], each.case[option["case"]].engines)


if __name__ == "__main__":
    unittest.main()
