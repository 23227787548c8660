"""The command line of the benchmarks: what counts as the whole one."""

import unittest
from unittest.mock import patch

from bench import program


class Whole(unittest.TestCase):
    def is_whole(self, *arguments: str) -> bool:
        with patch("sys.argv", ["bench", *arguments]):
            return program.arguments("case", "Doc.", rows=(100, "rows"), scale=(1.0, "scale")).whole

    def test_its_own_size_and_rounds_or_more(self):
        self.assertTrue(self.is_whole())
        self.assertTrue(self.is_whole("--rows", "100", "--scale", "1", "--rounds", "3"))
        self.assertTrue(self.is_whole("--rounds", "5"))

    def test_nothing_less_and_nothing_else(self):
        for less in ("--rows 99", "--scale 0.5", "--rounds 2", "--without floor", "-j 4"):
            self.assertFalse(self.is_whole(*less.split()), less)
        self.assertFalse(self.is_whole("--set", "fsync=off"))


if __name__ == "__main__":
    unittest.main()
