"""Verdicts: the direction first, then the size, and both from all rounds."""

import unittest
from dataclasses import replace

from pgsluice_lab.experiment import Claim
from pgsluice_lab.report import verdicts
from pgsluice_lab.report.results import Measured
from pgsluice_lab.report.verdicts import ABSENT, HOLDS, LESS, MORE, NOT, ONCE, SIZE, UNTOLD

FASTER = Claim("it is faster", "it", "1.43 times as fast", [1.2, 1.9], if_not="So it is.")
SLOWER = replace(FASTER, holds=[0.5, 0.8])
ALIKE = replace(FASTER, holds=[0.9, 1.1])


def word(claim: Claim, *rounds: float) -> str:
    return verdicts.verdict(claim, Measured(rounds)).word


class Words(unittest.TestCase):
    def test_a_direction_that_rounds_disagree_on_cannot_be_told(self):
        self.assertEqual(word(FASTER, 0.84, 1.07, 1.32), UNTOLD)
        self.assertEqual(word(SLOWER, 0.7, 0.9, 1.0), UNTOLD)

    def test_more_than_was_published_holds_all_the_more(self):
        self.assertEqual(word(FASTER, 10, 12, 13), MORE)
        self.assertEqual(word(SLOWER, 0.1, 0.2, 0.3), MORE)

    def test_less_than_half_holds_less(self):
        self.assertEqual(word(FASTER, 1.06, 1.1, 1.15), LESS)
        self.assertEqual(word(SLOWER, 0.85, 0.9, 0.91), LESS)

    def test_the_size_is_judged_by_the_median_if_not_all_rounds_say_otherwise(self):
        self.assertEqual(word(FASTER, 1.1, 1.3, 2.5), HOLDS)
        self.assertEqual(word(FASTER, 1.8, 2.5, 2.6), SIZE)
        self.assertEqual(word(FASTER, 1.05, 1.1, 1.3), SIZE)

    def test_the_other_direction_does_not_hold(self):
        self.assertEqual(word(FASTER, 0.8, 0.9, 0.95), NOT)
        self.assertEqual(word(SLOWER, 1.1, 1.2, 1.3), NOT)

    def test_a_tenth_of_the_effect_is_none(self):
        collapse = replace(FASTER, holds=[20.0, float("inf")])
        self.assertEqual(word(collapse, 1.13, 1.16, 1.19), NOT)
        self.assertEqual(word(collapse, 1.07, 1.14, 3.4), UNTOLD)
        self.assertEqual(word(collapse, 1.07, 3.0, 3.4), LESS)
        self.assertEqual(word(collapse, 3.0, 4.0, 5.0), LESS)
        self.assertEqual(word(collapse, 200, 300, 400), HOLDS)

    def test_no_difference_is_claimed(self):
        self.assertEqual(word(ALIKE, 0.95, 1.0, 1.05), HOLDS)
        self.assertEqual(word(ALIKE, 0.95, 1.0, 1.15), UNTOLD)
        self.assertEqual(word(ALIKE, 1.2, 1.3, 1.5), NOT)

    def test_a_figure_with_a_unit_has_no_direction(self):
        seconds = replace(FASTER, shown="s", holds=[0, 9])
        self.assertEqual(word(seconds, 7, 8), HOLDS)
        self.assertEqual(word(seconds, 8, 10), UNTOLD)

    def test_one_round_says_nothing(self):
        self.assertEqual(word(FASTER, 1.43), ONCE)

    def test_an_interval_may_have_no_end(self):
        self.assertEqual(word(replace(FASTER, holds=[0.0, 0.9]), 0.5, 0.6), HOLDS)


class Shown(unittest.TestCase):
    def test_the_spread_is_reported_without_its_words(self):
        found = verdicts.verdict(FASTER, Measured((1.4, 1.5, 5.0)))
        self.assertEqual((found.shown, found.spread), ("1.50 times as fast", "1.40 to 5.0"))
        self.assertEqual(verdicts.verdict(FASTER, Measured((2.0, 2.0))).spread, "")

    def test_unmeasured_claims_are_not_judged(self):
        found = verdicts.verdict(FASTER, None)
        self.assertEqual((found.word, found.shown, found.spread, found.why), (ABSENT, "", "", ""))

    def test_confirmed_claims_need_no_explanation(self):
        self.assertEqual(verdicts.verdict(FASTER, Measured((1.4, 1.5))).why, "")
        self.assertEqual(verdicts.verdict(FASTER, Measured((2.4, 2.5))).why, "So it is.")

    def test_a_sentence_does_not_tell_what_cannot_be_told(self):
        fill = verdicts.Filled().format
        self.assertEqual(fill("{it:fast} as", it=Measured((1.2, 1.3))), "1.25 times as fast as")
        told = fill("{it:fast} as", it=Measured((0.9, 1.3)))
        self.assertEqual(told, "as fast, within the spread, as")
        once = fill("{it:fast} as", it=Measured((1.2,)))
        self.assertEqual(once, "in one round 1.20 times as fast as")


if __name__ == "__main__":
    unittest.main()
