"""The figures, sentences and charts of the shipped experiments: each is meaningful and unique."""

import string
import unittest

from pgsluice_lab import experiment
from pgsluice_lab.experiment import Experiment, Scale

WHO = ("case", "engine", "server")
EXTREMES = {"max": max, "min": min}
BARS = ("case", "engine", "server")
BY_HAND = ("psql-staged", "psql-staged-leaves")


def points(each: Experiment, scale: Scale, case: str, where: dict) -> list[dict]:
    """Return the points of a case that have these values on the axes that the case has."""
    wanted = {
        axis: EXTREMES[value](scale.values(axis)) if value in EXTREMES else value
        for axis, value in where.items()
        if axis not in WHO
    }
    return [
        point
        for point in each.case[case].points(scale)
        if all(point.get(axis, value) == value for axis, value in wanted.items())
    ]


class Shipped(unittest.TestCase):
    def each_scale(self):
        for each in experiment.experiments():
            for scale in each.scales.values():
                yield each, scale

    def test_a_figure_means_one_point(self):
        for each, scale in self.each_scale():
            for figure in each.figures:
                for who in filter(None, (figure.of, figure.over)):
                    found = points(each, scale, who["case"], who)
                    self.assertEqual(len(found), 1, f"{each.name} {scale.name} {figure.name}")

    def test_sentences_name_figures_or_parameters_but_not_one_of_both(self):
        for each, scale in self.each_scale():
            figures = {figure.name for figure in each.figures}
            for sentence in each.sentences:
                for _, name, _, _ in string.Formatter().parse(sentence.text):
                    if name:
                        self.assertEqual((name in figures) + (name in scale.parameters), 1, name)

    def test_charts_have_points_of_every_case_that_they_name(self):
        for each, scale in self.each_scale():
            for chart in each.charts:
                for case in chart.cases or each.case:
                    found = points(each, scale, case, chart.where)
                    self.assertTrue(found, f"{each.name} {scale.name} {chart.title}: {case}")
                    named = set(chart.engines or each.case[case].engines)
                    self.assertTrue(named & set(each.case[case].engines), chart.title)
                if chart.x not in BARS:
                    self.assertIn(chart.x, scale.parameters)

    def test_medium_has_the_rows_that_claims_are_about(self):
        medium = {each.name: each.scales["medium"] for each in experiment.experiments()}
        rounds = {name: 5 if name in ("copy-order", "batch-size") else 3 for name in medium}
        self.assertEqual({name: scale.rounds for name, scale in medium.items()}, rounds)
        most = {name: max(medium["bulkload"].values(name)) for name in ("rows", "partitions")}
        self.assertGreaterEqual(most["rows"] // most["partitions"], 15_000)
        for name, parameter in (("uuid-dedup", "rows"), ("insert-routing", "partitions")):
            full = experiment.load(name).scales["full"]
            self.assertEqual(medium[name].values(parameter), full.values(parameter))
        self.assertGreaterEqual(medium["uuid-dedup"].scalars["ids"], 2_000_000)

    def test_ids_that_are_there_are_left_out_by_hand_as_well(self):
        dedup = experiment.load("uuid-dedup")
        for table in ("hash", "list", "exclude"):
            for name, share in (("half", 50), ("all", 100)):
                case = dedup.case[f"{table}-{name}"]
                self.assertEqual((case.prepare, case.variables), ("there.sql", {"share": share}))
                self.assertEqual(case.schema, dedup.case[table].schema)
                self.assertEqual(case.engines[:3], [*BY_HAND, "pgsluice-skip"])
        for name in ("half", "all"):
            of = [f"{table}-{name}" for table in ("hash", "list", "exclude")]
            self.assertIn(of, [chart.cases for chart in dedup.charts])
            [advice] = [
                [option["engine"] for option in each.options]
                for each in dedup.advice
                if {option["case"] for option in each.options} == {f"hash-{name}"}
            ]
            self.assertEqual(advice, [*BY_HAND, "pgsluice-skip"])

    def test_updates_are_of_all_rows_by_hand_as_well(self):
        routing = experiment.load("insert-routing")
        for name in ("none", "hash", "hash4"):
            case = routing.case[f"update-{name}"]
            self.assertEqual(case.engines, ["psql-staged-update", "pgsluice-update"])
            self.assertEqual(case.checks, dict.fromkeys(case.engines, "updated == changes"))
            schema = (routing.folder / case.schema).read_text()
            self.assertIn("PRIMARY KEY (b, a)", schema)

    def test_scales_say_how_long_they_take(self):
        for each in experiment.experiments():
            minutes = [each.scales[name].minutes for name in experiment.SCALES]
            self.assertGreater(minutes[0], 0)
            self.assertEqual(minutes, sorted(minutes))

    def test_claims_say_what_agrees_with_them(self):
        for each in experiment.experiments():
            for claim in each.claims:
                low, high = claim.holds
                self.assertLess(low, high, claim.says)


if __name__ == "__main__":
    unittest.main()
