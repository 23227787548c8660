"""Experiments as data: the shipped ones are complete, and mistakes are reported."""

import re
import string
import tempfile
import unittest
from pathlib import Path

from pgsluice_lab import engine, experiment, inputs
from pgsluice_lab.arithmetic import evaluate
from pgsluice_lab.experiment import SCALES
from pgsluice_lab.failure import LabError

from .tiny import TOML, experiment_in


class Shipped(unittest.TestCase):
    """Every experiment that comes with the lab, at every scale."""

    def each_case(self):
        for each in experiment.experiments():
            for case in each.cases:
                yield each, case

    def test_all_are_there(self):
        names = [each.name for each in experiment.experiments()]
        self.assertEqual(
            names,
            [
                "bulkload",
                "uuid-dedup",
                "copy-order",
                "insert-routing",
                "batch-size",
                "sluice",
                "partition-in-use",
            ],
        )

    def test_each_has_every_scale_and_points_and_counts(self):
        for each, case in self.each_case():
            self.assertEqual(sorted(each.scales), sorted(SCALES))
            for scale in each.scales.values():
                points = list(case.points(scale))
                self.assertTrue(points, f"{each.name} {case.name} {scale.name}")
                for point in points:
                    case.expected(scale, point)
                    self.assertGreater(case.size(scale, point), 0 if case.input else -1)

    def test_files_engines_and_inputs_exist(self):
        known = engine.engines()
        for each, case in self.each_case():
            for name in filter(None, [case.schema, case.prepare, case.variables.get("script")]):
                self.assertTrue((each.folder / name).is_file(), f"{each.name}: {name}")
            self.assertLessEqual(set(case.engines), known.keys())
            if case.input:
                self.assertTrue(callable(getattr(inputs, case.input)))

    def test_fields_of_commands_are_defined(self):
        known = engine.engines()
        comments = re.findall(r"^#.*", engine.FILE.read_text(), re.M)
        always = re.findall(r"{([a-z_.]+)}", "".join(comments))
        for each, case in self.each_case():
            for scale in each.scales.values():
                given = {*always, *case.parameters(scale, {}), *case.axes, *case.variables}
                for name in case.engines:
                    named = {
                        field
                        for part in known[name].command
                        for _, field, _, _ in string.Formatter().parse(part)
                        if field
                    }
                    self.assertLessEqual(named, given, f"{each.name} {case.name} {name}")

    def test_figures_that_claims_and_sentences_name_exist(self):
        for each in experiment.experiments():
            names = {figure.name for figure in each.figures}
            self.assertEqual(len(names), len(each.figures), each.name)
            for claim in each.claims:
                self.assertIn(claim.figure, names, each.name)
            for figure in each.figures:
                for which in filter(None, (figure.of, figure.over)):
                    self.assertIn(which["case"], each.case, f"{each.name}: {figure.name}")
                    self.assertIn(which["engine"], each.case[which["case"]].engines)


class Reading(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_points_are_the_product_of_the_axes_that_are_wanted(self):
        toml = TOML.replace("partitions = 4", "partitions = [4, 8]").replace(
            'axes = ["rows"]',
            'axes = ["rows", "partitions"]\nonly = ["rows == max(rows) or partitions == 4"]',
        )
        tiny = experiment_in(self.folder, toml)
        points = list(tiny.case["hash"].points(tiny.scales["small"]))
        values = [(point["rows"], point["partitions"]) for point in points]
        self.assertEqual(values, [(200, 4), (500, 4), (500, 8)])

    def test_a_key_too_many_is_an_error(self):
        with self.assertRaisesRegex(LabError, "tabel"):
            experiment_in(self.folder, TOML.replace("table =", "tabel ="))

    def test_an_unknown_experiment_says_which_there_are(self):
        with self.assertRaises(LabError) as raised:
            experiment.load("bulk")
        self.assertIn("bulkload", raised.exception.hint)


class Arithmetic(unittest.TestCase):
    def test_it_is_arithmetic(self):
        self.assertEqual(evaluate("rows * 2 + 1", {"rows": 4}), 9)
        self.assertTrue(evaluate("rows == max(rows)", {"rows": 4}, {"rows": [1, 4]}))

    def test_and_nothing_else(self):
        for formula in ("__import__('os')", "rows.real", "[1]", "rows +", "nothing", "max(1, 2)"):
            with self.assertRaises(ValueError, msg=formula):
                evaluate(formula, {"rows": 4})


if __name__ == "__main__":
    unittest.main()
