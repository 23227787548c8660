"""The report on records: medians, ratios, verdicts, sentences, tables, and its bytes."""

import math
import re
import string
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import plotly
from pgsluice_lab import engine
from pgsluice_lab.experiment import Figure, experiments
from pgsluice_lab.report import charts, page, palette, tables, verdicts
from pgsluice_lab.report.numerals import SPECS, shown
from pgsluice_lab.report.palette import DARK, LIGHT
from pgsluice_lab.report.results import newest
from pgsluice_lab.report.series import drawing

from . import synthetic

ROOT = Path(__file__).resolve().parents[3]


class Reported(unittest.TestCase):
    """Made-up records, and their evaluation by the parts of the report."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        synthetic.write(self.folder)
        self.experiments = synthetic.experiments()
        self.bulkload, self.batches, _ = self.experiments
        self.runs = newest(self.folder)

    def file(self, name: str) -> Path:
        return next(self.folder.glob(f"{name}-*.jsonl"))

    def drawn(self, title: str, experiment=None):
        experiment = experiment or self.bulkload
        chart = next(each for each in experiment.charts if each.title.startswith(title))
        return drawing(chart, experiment, self.runs[experiment.name])


class Figures(Reported):
    def test_a_ratio_is_the_median_of_the_rounds_ratios(self):
        # Rounds of 3 and 1, 3 and 2, 8 and 4 seconds: the ratio of the medians would be 1.5.
        loads = [
            replace(load, point={}, round=number, seconds=seconds)
            for engine, all_seconds in (("psql", (3, 3, 8)), ("pgsluice", (1, 2, 4)))
            for number, seconds in enumerate(all_seconds, 1)
            for load in synthetic.rounds("none", {}, engine, 1, 1, 1)
        ]
        runs = [replace(self.runs["bulkload"][0], loads=loads)]
        of, over = ({"case": "none", "engine": name} for name in ("psql", "pgsluice"))
        found = verdicts.evaluate(Figure("it", of, over=over), runs)
        self.assertEqual((found.low, found.value, found.high), (1.5, 2, 3))

    def test_a_point_is_found_by_the_ends_of_its_axes(self):
        found = verdicts.figures(self.bulkload, self.runs["bulkload"])
        self.assertAlmostEqual(found["hash800"].value, 2)
        self.assertAlmostEqual(found["hash800before"].value, 2)
        self.assertNotIn("exchange", found)

    def test_more_than_one_point_is_an_error(self):
        vague = Figure("vague", {"case": "hash", "engine": "psql", "rows": "max"})
        with self.assertRaisesRegex(ValueError, "not one point but 4"):
            verdicts.evaluate(vague, self.runs["bulkload"])

    def test_a_load_done_at_last_counts_and_its_failure_does_not(self):
        run = self.runs["bulkload"][0]
        failed = replace(synthetic.FAILED, round=1)
        mended = replace(run, loads=[failed, *run.loads])
        self.assertEqual(
            tables.not_done(self.bulkload, mended), tables.not_done(self.bulkload, run)
        )

    def test_the_newest_run_of_each_server_is_taken(self):
        self.assertEqual([run.major for run in self.runs["bulkload"]], [18, 13])


class Numerals(unittest.TestCase):
    def test_numbers_have_the_digits_that_mean_something(self):
        for value, spec, expected in (
            (1.2364, "s", "1.24 s"),
            (12.36, "s", "12.4 s"),
            (99.96, "s", "100 s"),
            (0.5, "s", "0.500 s"),
            (0.00123456, "s", "0.00123 s"),
            (0.0, "s", "0 s"),
            (4321.9, "ms", "4,320 ms"),
            (831_234.5, "rate", "831,000 rows/s"),
            (10 * 1024 * 1024, "mib", "10.0 MiB"),
            (2.449, "fast", "2.4 times as fast"),
            (331.0, "fast", "330 times as fast"),
            (1.0749, "fast", "1.07 times as fast"),
            (0.9, "fast", "0.90 times as fast"),
            (0.0052, "fast", "0.0052 times as fast"),
            (1.996, "large", "2.0 times as large"),
            (1.59, "much", "1.59 times as much processor time"),
            (800, "plain", "800"),
            (2500.0, "plain", "2,500"),
            (22_315.0, "digits", "22,300"),
        ):
            self.assertEqual(shown(value, spec), expected)

    def test_an_unknown_way_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "no way 'quick'"):
            shown(1, "quick")


class Charts(Reported):
    def test_a_case_without_the_axis_is_a_level_line(self):
        found = self.drawn("Time by number of partitions")
        level = {each.name: each for each in found.series if each.level}
        self.assertEqual([*level], ["one plain table, psql \\copy", "one plain table, pgsluice"])
        points = level["one plain table, psql \\copy"].points
        self.assertEqual([x for x, _ in points], [200, 800])
        self.assertEqual({value.value for _, value in points}, {0.5})

    def test_a_series_has_its_points_in_order(self):
        found = self.drawn("Time by number of partitions")
        psql = next(each for each in found.series if each.name == "hash partitions, psql \\copy")
        self.assertEqual([x for x, _ in psql.points], [200, 400, 600, 800])
        for (_, value), expected in zip(psql.points, (0.625, 0.75, 0.875, 1), strict=True):
            self.assertAlmostEqual(value.value, expected)

    def test_axes_that_nothing_fixes_make_series_of_their_own(self):
        chart = replace(self.bulkload.charts[0], where={}, engines=["psql"], cases=["hash"])
        found = drawing(chart, self.bulkload, self.runs["bulkload"])
        self.assertEqual([each.name for each in found.series], ["rows 250,000", "rows 500,000"])

    def test_engines_of_one_case_each_are_named_alone(self):
        run = self.runs["bulkload"][0]
        own = {("none", "psql"), ("hash", "pgsluice")}
        loads = [load for load in run.loads if (load.case, load.engine) in own]
        chart = self.bulkload.charts[1]
        for engines, expected in (
            ([], ["psql \\copy", "pgsluice"]),
            (["psql"], ["one plain table"]),
        ):
            some = replace(chart, engines=engines)
            found = drawing(some, self.bulkload, [replace(run, loads=loads)])
            self.assertEqual([each.name for each in found.series], expected)

    def test_servers_stand_side_by_side(self):
        found = self.drawn("Time by server")
        psql = found.series[0]
        self.assertEqual(psql.name, "psql \\copy")
        self.assertEqual(
            [(x, round(value.value, 3)) for x, value in psql.points], [(18, 1), (13, 2)]
        )
        self.assertEqual(found.ticks, [13, 18])

    def test_bars_are_one_for_each_engine(self):
        found = self.drawn("WAL of each engine")
        [bars] = found.series
        expected = ["psql \\copy", "psql \\copy, input ordered by partition", "pgsluice"]
        self.assertEqual([x for x, _ in bars.points], expected)

    def test_bars_of_one_engine_are_of_one_series(self):
        chart = replace(self.bulkload.charts[3], engines=["psql"])
        [bars] = drawing(chart, self.bulkload, self.runs["bulkload"]).series
        self.assertEqual([x for x, _ in bars.points], ["one plain table", "hash partitions"])

    def test_unmeasured_experiments_have_no_chart(self):
        chart = replace(self.bulkload.charts[0], figure="tps")
        self.assertIsNone(drawing(chart, self.bulkload, self.runs["bulkload"]))

    def test_ticks_that_would_run_into_each_other_have_no_number(self):
        batches = [1, 5, 10, 50, 100, 1000, 10_000, 100_000]
        told = charts.apart(batches, math.log)
        self.assertEqual(told, {1, 10, 100, 1000, 10_000, 100_000})
        self.assertEqual(charts.apart([200, 400, 600, 800], float), {200, 400, 600, 800})
        self.assertEqual(charts.apart([0, 7], float), {0, 7})

    def test_a_program_has_one_colour_in_all_charts(self):
        seen: dict[str, set] = {}
        for each in self.experiments[:2]:
            for one in page.drawings(each, self.runs[each.name]):
                figure = charts.plot(one)
                for series, trace in zip(one.series, figure.data, strict=True):
                    if one.chart.x == "engine":
                        for (title, _), colour in zip(
                            series.points, trace.marker.color, strict=True
                        ):
                            seen.setdefault(one.titles[title], set()).add(colour)
                    else:
                        colour = trace.marker.color
                        colours = {colour} if isinstance(colour, str) else set(colour)
                        seen.setdefault(series.engine, set()).update(colours)
        self.assertEqual({engine: len(colours) for engine, colours in seen.items()},
                         dict.fromkeys(seen, 1))  # fmt: skip
        self.assertEqual(seen["pgsluice"], {LIGHT["pgsluice"]})
        self.assertEqual(seen["psql-ordered"], {LIGHT["psql-ordered"]})

    def test_every_engine_has_a_colour(self):
        for name in engine.engines():
            self.assertNotEqual(palette.engine_colour(name), LIGHT["quiet"], name)

    def test_a_light_colour_has_one_dark_twin(self):
        self.assertEqual(LIGHT.keys(), DARK.keys())
        self.assertEqual(len(set(LIGHT.values())), len(LIGHT))


class Page(Reported):
    def setUp(self):
        super().setUp()
        self.page = page.html(self.experiments, self.runs)
        self.words = self.page.split("<footer>")[0].replace("&nbsp;", " ")

    def test_the_same_records_give_the_same_bytes(self):
        self.assertEqual(page.html(synthetic.experiments(), newest(self.folder)), self.page)

    def test_it_says_what_was_claimed_and_measured(self):
        counted = re.findall(
            r'number">(\d+)</td><td><span class="verdict (\w+)">([^<]*)<', self.words
        )
        expected = [("1", "good", "holds"), ("1", "weak", verdicts.LESS)]
        self.assertEqual(counted, [*expected, ("1", "open", "not measured")])
        self.assertIn('<td class="number">3</td><td>published claims</td>', self.words)
        self.assertIn("2.0 times as fast</td>", self.words)
        sentence = "into a plain table was 2.0 times as fast as into 800 hash partitions."
        self.assertEqual(self.words.count(sentence), 1)
        self.assertNotIn("An exchange took", self.words)

    def test_it_says_what_has_no_figures(self):
        self.assertIn("stopped after 60 seconds (in 2 rounds)", self.words)
        self.assertIn("the table has 499,999 rows &amp; not 500,000", self.words)
        self.assertIn("pgloader is not on the PATH", self.words)
        self.assertIn("<code>pgsluice-lab run nobody</code>", self.words)

    def test_it_says_how_to_repeat_it(self):
        self.assertIn("pgsluice-lab run bulkload --scale small --rounds 3", self.words)
        self.assertIn("psql --of &#39;hash&#39; &#34;$URL&#34; &lt;input", self.words)

    def test_claims_that_all_hold_are_counted_as_such(self):
        holding = replace(self.bulkload, claims=self.bulkload.claims[1:2])
        words = page.html([holding], self.runs)
        self.assertIn("published claim</td>", words)
        self.assertNotIn('class="verdict bad"', words)

    def test_it_opens_with_what_to_do(self):
        opening = self.words.split("</table>")[0]
        self.assertIn("If your table is like this, do that", opening)
        self.assertIn("<td>800 hash partitions</td>", opening)
        self.assertIn("<strong>Load it with <code>pgsluice load</code></strong>", opening)
        self.assertIn("5.0 times as fast as psql&#39;s <code>\\copy</code>", opening)
        self.assertIn("Measured at the scale <code>small</code>", self.words)

    def test_shared_explanations_appear_once(self):
        [claim, *_] = self.bulkload.claims
        twice = replace(self.bulkload, claims=[claim, claim])
        words = page.html([twice], self.runs)
        self.assertEqual(words.count("The leaves are small here"), 1)
        self.assertEqual(words.count("<sup>1</sup>"), 2)

    def test_documents_are_linked_to_where_they_lie(self):
        self.assertNotIn('href="METHOD.md"', self.page)
        (self.folder / "METHOD.md").write_text("# How")
        linked = page.html(self.experiments, self.runs, self.folder)
        self.assertIn('<a href="METHOD.md">', linked)
        self.assertNotIn('href="BIAS.md"', linked)

    def test_the_first_chart_stands_beside_the_sentences(self):
        lead = self.page.split('<div class="headline">')[1].split("<h3>")[0]
        self.assertEqual(lead.count("<figure"), 1)
        self.assertIn("Time by number of partitions", lead)
        part = page.part(self.bulkload, self.runs["bulkload"])
        bars = replace(self.bulkload, charts=[self.bulkload.charts[2], *self.bulkload.charts])
        part = page.part(bars, self.runs["bulkload"])
        self.assertEqual(len(part.headlines), 2)

    def test_numbers_stay_on_a_line_with_their_units(self):
        marked = str(page.mark_up("12 % of `full` by --wire text <1 s>"))
        option = '<span class="option">--wire</span>'
        expected = f"12&nbsp;% of <code>full</code> by {option} text &lt;1&nbsp;s&gt;"
        self.assertEqual(marked, expected)

    def test_markup_in_records_is_escaped(self):
        self.assertIn("A published article &lt;about&gt; bulk loads", self.words)
        self.assertNotIn("<about>", self.page)

    def test_it_asks_for_nothing_from_elsewhere(self):
        fetched = re.findall(
            r"<(?:script|img|iframe|link)[^>]*(?:src|href)=\"([^\"]*)\"", self.page
        )
        self.assertEqual(fetched, ["data:,"])
        self.assertNotIn("@import", self.page)

    def test_every_point_is_in_the_tables(self):
        table = tables.everything(self.bulkload, self.runs["bulkload"][0])
        self.assertEqual(table.size, 2 * 2 + 8 * 3)
        self.assertEqual(table.titles[:3], ["rows", "partitions", "engine"])
        [table] = tables.comparisons(self.bulkload, self.runs["bulkload"][0], "seconds")
        self.assertEqual(table.size, 2 + 8)

    def test_engines_without_a_figure_have_no_column_of_it(self):
        run = self.runs["batches"][0]
        loads = [
            replace(load, figures={"tps": 9.0} if load.engine == "psycopg-copy" else {})
            for load in run.loads
        ]
        [table] = tables.comparisons(self.batches, replace(run, loads=loads), "tps")
        self.assertEqual(table.titles, ["batch", "COPY by psycopg"])

    def test_cases_with_no_engine_in_common_are_not_compared(self):
        loads = [
            *synthetic.rounds("none", {"rows": 1}, "psql", 1, 1, 1),
            *synthetic.rounds("hash", {"rows": 1}, "pgsluice", 1, 1, 1),
        ]
        run = replace(self.runs["bulkload"][0], loads=loads)
        first, second = tables.comparisons(self.bulkload, run, "seconds")
        self.assertEqual(first.titles, ["rows", "psql \\copy"])
        self.assertEqual(second.titles, ["rows", "pgsluice"])

    def test_a_case_without_axes_is_a_row_of_its_own(self):
        loads = [
            replace(load, point={}, case=case)
            for case in ("none", "hash")
            for load in synthetic.rounds(case, {}, "psql", 2, 1, 100)
        ]
        run = replace(self.runs["bulkload"][0], loads=loads)
        [table] = tables.comparisons(self.bulkload, run, "seconds")
        [(_, rows)] = table.groups
        self.assertEqual([row[0].value for row in rows], ["one plain table", "hash partitions"])

    def test_a_run_without_its_end_is_reported_as_one(self):
        file = self.file("batches")
        lines = file.read_text().splitlines()
        file.write_text("\n".join([*lines[:-1], '{"kind": "lo']))
        self.assertNotIn("did not come to its end", self.words)
        cut = page.html(self.experiments, newest(self.folder))
        self.assertIn("did not come to its end", cut)

    def test_loads_of_cases_since_renamed_do_no_harm(self):
        file = self.file("batches")
        file.write_text(file.read_text().replace('"case": "batches"', '"case": "before"'))
        words = page.html(self.experiments, newest(self.folder))
        self.assertIn("INSERT against COPY", words)
        self.assertIn("No load has figures yet", words)

    def test_an_axis_with_nothing_on_it_is_not_logarithmic(self):
        file = self.file("batches")
        file.write_text(file.read_text().replace('{"batch": 1}', '{"batch": 0}'))
        [chart] = page.drawings(self.batches, newest(self.folder)["batches"])
        self.assertEqual(charts.plot(chart).layout.xaxis.type, "linear")


class Shipped(unittest.TestCase):
    """The experiments, the committed report and the library in it."""

    def test_claims_and_sentences_name_what_there_is(self):
        for each in experiments():
            known = {figure.name for figure in each.figures}
            with self.subTest(experiment=each.name):
                self.assertEqual({claim.figure for claim in each.claims} - known, set())
                self.assertEqual({claim.shown for claim in each.claims} - SPECS.keys(), set())
                parameters = {name for scale in each.scales.values() for name in scale.parameters}
                for sentence in each.sentences:
                    for _, name, spec, _ in string.Formatter().parse(sentence.text):
                        self.assertIn(name, known | parameters | {None}, sentence.text)
                        self.assertIn(spec or "plain", SPECS, sentence.text)
                for figure in each.figures:
                    for who in filter(None, (figure.of, figure.over)):
                        self.assertIn(who["engine"], each.case[who["case"]].engines, figure.name)
                for chart in each.charts:
                    self.assertLessEqual(set(chart.cases), each.case.keys(), chart.title)

    def test_the_plotly_inside_is_the_one_that_figures_are_made_for(self):
        header = (page.HERE / "plotly-basic.min.js").read_text(encoding="utf-8")[:200]
        version = plotly.offline.get_plotlyjs_version()
        self.assertIn(f"plotly.js (basic - minified) v{version}\n", header)

    def test_the_committed_report_is_that_of_the_committed_records(self):
        place = ROOT / "docs" / "lab"
        if not (place / "report.html").exists():
            self.skipTest("no report is committed")
        built = page.html(experiments(), newest(place / "records"), place)
        committed = (place / "report.html").read_text(encoding="utf-8")
        self.assertTrue(built == committed, "docs/lab/report.html is not of docs/lab/records")
        self.assertLess(len(committed.encode()), 5_000_000)


if __name__ == "__main__":
    unittest.main()
