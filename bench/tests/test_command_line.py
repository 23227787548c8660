"""The command line of the benchmarks: when it is the whole benchmark, and its exclusions."""

import unittest

from bench.__main__ import arguments, load, scaled


class Whole(unittest.TestCase):
    def is_whole(self, *args: str) -> bool:
        return arguments(load("hash800"), list(args)).whole

    def test_its_own_size_and_rounds_or_more(self):
        self.assertTrue(self.is_whole())
        self.assertTrue(self.is_whole("--rows", "5000000", "--leaves", "800", "--rounds", "5"))
        self.assertTrue(self.is_whole("--rounds", "7"))
        self.assertTrue(self.is_whole("--major", "15"))

    def test_nothing_less_and_nothing_else(self):
        less = ("--rows 99", "--leaves 50", "--rounds 4", "--without floor-text", "-j 4")
        for each in less:
            self.assertFalse(self.is_whole(*each.split()), each)
        self.assertFalse(self.is_whole("--set", "fsync=off"))

    def test_options_choose_the_cases(self):
        whole = load("hash800")
        args = ["--rows", "99", "--rounds", "2", "--without", "psql-plain"]
        chosen, scale = scaled(whole, arguments(whole, args))
        self.assertEqual((scale.rounds, scale.parameters["rows"]), (2, 99))
        self.assertEqual([case.name for case in chosen.cases], ["hash"])

    def test_an_axis_has_several_values(self):
        options = arguments(load("leaves"), ["--leaves", "16", "100"])
        self.assertEqual(options.leaves, [16, 100])


if __name__ == "__main__":
    unittest.main()
