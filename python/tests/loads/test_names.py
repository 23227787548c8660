"""The names of Python are those of the command line and of `--json`, all of them."""

import inspect
import json
import re
import subprocess
import unittest
from dataclasses import fields
from pathlib import Path

import pgsluice
from formats.place import program
from pgsluice import options

SCHEMA = Path(__file__).parents[3] / "docs/manual/json.schema.json"
# What only the command line has: what is shown, and who types a password.
ONLY_THERE = {"json", "quiet", "password", "no-password", "help"}


class Names(unittest.TestCase):
    def test_options_are_those_of_the_command_line(self):
        shown = subprocess.run(
            [program(), "load", "--help"], capture_output=True, text=True, check=True
        )
        lines = [line.strip() for line in shown.stdout.splitlines()]
        heads = " ".join(line for line in lines if line.startswith("-"))
        known = set(re.findall(r"--([a-z][a-z-]*)", heads))
        self.assertEqual(known - ONLY_THERE, set(options.KEYWORDS))

    def test_a_result_has_what_json_has(self):
        schema = json.loads(SCHEMA.read_text())["$defs"]["load"]

        def of(properties: dict, kind: type) -> None:
            self.assertEqual({field.name for field in fields(kind)}, set(properties["properties"]))

        of(schema, pgsluice.LoadResult)
        of(schema["properties"]["fate"], pgsluice.Fate)
        of(schema["properties"]["by_leaf"]["items"], pgsluice.OfLeaf)
        of(schema["properties"]["lanes"], pgsluice.Lanes)
        of(schema["properties"]["first_row"], pgsluice.FirstRow)
        of(schema["properties"]["fallbacks"]["items"], pgsluice.Fallback)

    def test_help_shows_each_option(self):
        for function in (pgsluice.load, pgsluice.aload):
            names = set(inspect.signature(function).parameters)
            self.assertEqual(
                names, {"data", "table", "conninfo", "progress", *options.KEYWORDS.values()}
            )


if __name__ == "__main__":
    unittest.main()
