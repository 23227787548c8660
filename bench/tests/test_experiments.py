"""The benchmarks' experiments: each can be read, and its engines, inputs and scripts exist."""

import unittest

from pgsluice_lab import engine, inputs

from bench.__main__ import ENGINES, EXPERIMENTS, OTHERS, arguments, load
from bench.inputs import KNOWN
from bench.record import PARTS
from bench.report import TABLES
from bench.source import SCRIPT

CASES = sorted(file.parent.name for file in EXPERIMENTS.glob("*/experiment.toml"))
ALL = engine.engines(ENGINES)


class Experiments(unittest.TestCase):
    def test_each_is_shown_by_the_report(self):
        parts = {part: whole for whole, parts in PARTS.items() for part in parts}
        shown = {parts.get(case, case) for case in CASES}
        self.assertLessEqual(parts.keys(), set(CASES))
        self.assertEqual({*shown, *OTHERS}, {name.removesuffix("-pg15") for name in TABLES})

    def test_names_in_cases_exist(self):
        for name in CASES:
            each = load(name)
            self.assertLessEqual(set(each.engines), ALL.keys(), name)
            for case in each.cases:
                self.assertIn(case.input, {**inputs.BY_NAME, **KNOWN})
                self.assertLessEqual(case.checks.keys(), set(case.engines))
                for script in filter(None, (case.schema, case.prepare, case.before)):
                    self.assertTrue((each.folder / script).is_file(), script)

    def test_cases_of_another_server_have_rows_for_it(self):
        for name in CASES:
            each = load(name)
            reads = any("{source}" in ALL[engine].command for engine in each.engines)
            self.assertEqual(reads, (each.folder / SCRIPT).is_file(), name)

    def test_each_takes_the_options_that_it_has(self):
        for name in CASES:
            self.assertTrue(arguments(load(name), []).whole, name)

    def test_each_way_to_load_has_a_name_of_its_own(self):
        for name in CASES:
            used = load(name).engines
            self.assertEqual(len({ALL[each].title for each in used}), len(used), name)

    def test_an_engine_has_the_keys_of_the_one_that_it_is_like(self):
        good, rejecting = ALL["pgsluice-good"], ALL["pgsluice-rejects"]
        self.assertEqual(rejecting.command, good.command)
        self.assertTrue(rejecting.rejects)
        self.assertEqual((good.statuses, rejecting.statuses), ([0], [3]))
        self.assertEqual(good.figures, ALL["pgsluice"].figures)
        self.assertEqual(ALL["pgsluice-slow"].command, [*ALL["pgsluice"].command, "--no-native"])

    def test_figures_of_a_load_are_read_from_its_summary(self):
        output = (
            '{"rows_read":7,"lanes":{"routed_natively":5,"routed_by_query":2,"routed_by_server":0},"wire":"binary",'
            '"first_row":{"seconds":0.25,"cpu_seconds":0.125},"fallbacks":[]}'
        )
        expected = {
            "rows_read": 7,
            "wire": "binary",
            "native": 5,
            "server": 2,
            "slow": 0,
            "fallbacks": "[]",
            "first_row_seconds": 0.25,
            "first_row_cpu_seconds": 0.125,
        }
        self.assertEqual(ALL["pgsluice"].read_figures(output), expected)


if __name__ == "__main__":
    unittest.main()
