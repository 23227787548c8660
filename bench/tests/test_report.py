"""The pages' tables and the chart, from every record that was ever written."""

import json
import unittest
from xml.etree import ElementTree

from bench import tables
from bench.chart import chart
from bench.goals import judge
from bench.record import RECORDS, newest
from bench.report import BENCHMARKS, GOALS, README, TABLES, measured, splice
from bench.rounds import PSQL

NAME = "{http://www.w3.org/2000/svg}"


def run(how: str, seconds: float) -> dict:
    """A load as a record holds it."""
    return {"how": how, "seconds": seconds, "client_cpu_seconds": 0.1, "client_peak_mib": 20.0}


class Tables(unittest.TestCase):
    def test_every_record_is_a_table_with_equal_rows(self):
        files = sorted(RECORDS.glob("*.json"))
        self.assertTrue(files)
        for file in files:
            record = json.loads(file.read_text())
            lines = TABLES[record["bench"]](record).splitlines()
            widths = {line.count("|") for line in lines if line.startswith("|")}
            self.assertLessEqual(len(widths), 1, file.name)

    def test_medians_are_of_each_way_by_itself(self):
        runs = [run("a", 1), run("b", 10), run("a", 3), run("b", 20), run("a", 2), run("b", 90)]
        table = tables.loads({"case": {"rows": 100}, "runs": runs}).splitlines()
        self.assertEqual(table[2], "| a | 2.00 | 50 | 0.10 | - | 20 | - |")
        self.assertEqual(table[3], "| b | 20.00 | 5 | 0.10 | - | 20 | - |")

    def test_goals_without_a_record_are_said_to_be_unmeasured(self):
        few = {"few": {"goals": judge("few", {"root": 1.1})}}
        lines = tables.goals(few).splitlines()
        self.assertIn("| 1.10 times its time | at most 1.2 | holds |", lines[-2])
        self.assertTrue(lines[2].endswith("|  | at least 4 | not measured |"))


class Readme(unittest.TestCase):
    def test_readme_says_how_much_faster_each_load_is(self):
        record = {"case": {"jobs": 2}, "runs": [run(PSQL, 10), run("pgsluice load -j 2", 2.5)]}
        lines = tables.readme({"hash800": record}).splitlines()
        self.assertEqual(lines[2:], ["| 5 M pgbench rows, 800 hash leaves | 10.00 | 2.50 | 4.0 |"])


class Committed(unittest.TestCase):
    def test_the_pages_hold_the_newest_records(self):
        records = {bench: newest(bench) for bench in TABLES}
        self.assertIn(tables.readme(records), README.read_text())
        self.assertIn(tables.goals(records), GOALS.read_text())
        for bench, record in records.items():
            with self.subTest(bench=bench):
                self.assertIn(measured(bench, record), BENCHMARKS.read_text())


class Splice(unittest.TestCase):
    def test_only_what_is_between_the_markers_changes(self):
        text = "a\n<!-- bench:x -->\nold\n<!-- /bench -->\n<!-- bench:y -->\n<!-- /bench -->\n"
        expected = text.replace("old", "one\n\ntwo \\1")
        self.assertEqual(splice(text, "x", "one\n\ntwo \\1"), expected)

    def test_a_document_without_markers_is_an_error(self):
        self.assertRaises(SystemExit, splice, "nothing", "x", "text")


class Chart(unittest.TestCase):
    def test_bars_are_as_long_as_their_seconds_and_inside(self):
        record = {"runs": [run("ours <&>", 2.5), run(PSQL, 10)]}
        picture = ElementTree.fromstring(chart([("title", record), ("other", record)]))
        bars = [bar for bar in picture.iter(f"{NAME}rect") if bar.get("class") != "paper"]
        widths = [float(bar.get("width")) for bar in bars]
        self.assertEqual(widths[:2], widths[2:])
        self.assertAlmostEqual(widths[0], 4 * widths[1], delta=0.3)
        edge = max(float(bar.get("x")) + float(bar.get("width")) for bar in bars)
        self.assertLess(edge, float(picture.get("width")))
        words = [text.text for text in picture.iter(f"{NAME}text")]
        self.assertEqual(words[:5], ["title", PSQL, "10.00 s", "ours <&>", "2.50 s"])


if __name__ == "__main__":
    unittest.main()
