"""The pages' tables and the chart, from all records that exist."""

import json
import tempfile
import unittest
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree

from pgsluice_lab.failure import LabError
from pgsluice_lab.record import Run

from bench import rounds, stages, tables, writing
from bench.chart import chart, move_chart, writing_chart
from bench.correctness import record as correctness
from bench.move import record as move
from bench.record import PARTS, RECORDS, Record, newest
from bench.report import (
    BENCHMARKS,
    CHART,
    GOALS,
    MOVE_CHART,
    README,
    TABLES,
    TITLES,
    WRITING_CHART,
    section,
    splice,
)
from bench.stages import Stages

from .loads import PSQL, a_record

NAME = "{http://www.w3.org/2000/svg}"


class Tables(unittest.TestCase):
    def widths(self, text: str) -> set[int]:
        return {line.count("|") for line in text.splitlines() if line.startswith("|")}

    def test_every_record_is_a_table_with_equal_rows(self):
        files = sorted(RECORDS.glob("*.jsonl"))
        self.assertTrue(files)
        for file in files:
            run = Run.read(file)
            if table := TABLES.get(run.head.experiment):
                text = table(Record(run.head, run.loads))
                self.assertLessEqual(len(self.widths(text)), 1, file.name)
            else:
                self.assertIn(run.head.experiment, chain(*PARTS.values()))
        self.assertEqual(len(self.widths(TABLES["stages"](stages.newest()))), 1)

    def test_medians_are_of_each_way_by_itself(self):
        table = tables.loads(a_record("x", {"a": [1, 3, 2], "b": [10, 20, 90]})).splitlines()
        self.assertEqual(table[2], "| a | 2.00 | 50 | 0.10 | - | 20 | - |")
        self.assertEqual(table[3], "| b | 20.00 | 5 | 0.10 | - | 20 | - |")

    def test_rows_of_a_table_have_a_table_for_each_kind_of_leaves(self):
        parts = [
            a_record("relation", {"psql": [seconds]}, {"leaves": 800}, {"key": key})
            for key, seconds in ((0, 2), (1, 4))
        ]
        record = Record(parts[0].head, [load for part in parts for load in part.loads])
        lines = [line for line in tables.relation(record).splitlines() if PSQL in line]
        self.assertEqual([line.split(" | ")[1] for line in lines], ["2.00", "4.00"])

    def test_goals_without_a_record_are_reported_as_unmeasured(self):
        few = a_record("few", {"psql": [1.0], "pgsluice": [1.1]})
        lines = tables.goals({"few": few}).splitlines()
        [line] = (each for each in lines if each.startswith("| 100 rows into 800 leaves |"))
        self.assertIn("| 1.10 times its time | at most 1.2 | holds |", line)
        self.assertTrue(lines[2].endswith("|  | at least 5.3 | not measured |"))


class Readme(unittest.TestCase):
    def test_readme_says_how_much_faster_each_load_is(self):
        record = a_record("hash800", {"psql": [10], "pgsluice": [2.5]})
        lines = tables.readme({"hash800": record}).splitlines()
        self.assertEqual(lines[2:], ["| 5 M pgbench rows, 800 hash leaves | 10.00 | 2.50 | 4.0 |"])


class Committed(unittest.TestCase):
    def test_the_pages_and_the_chart_hold_the_newest_records(self):
        records = newest()
        self.assertIn(tables.readme(records), README.read_text())
        moved = move.newest()
        others = {case: rounds.newest(case) for case in rounds.CASES}
        self.assertIn(tables.goals({**records, "move": moved, **others}), GOALS.read_text())
        panels = [(title, records[bench]) for bench, title in TITLES.items()]
        self.assertEqual(chart(panels), CHART.read_text())
        written = writing.newest()
        self.assertEqual(writing_chart(written), WRITING_CHART.read_text())
        if moved:
            self.assertEqual(move_chart(moved), MOVE_CHART.read_text())
        shown = {**records, "stages": stages.newest(), "writing": written, "move": moved}
        shown |= {**others, "correctness": correctness.newest()}
        for bench in TABLES:
            with self.subTest(bench=bench):
                page = BENCHMARKS.read_text()
                self.assertEqual(splice(page, bench, section(bench, shown.get(bench))), page)


class OfStages(unittest.TestCase):
    def test_unknown_keys_are_refused(self):
        record = json.loads(next(RECORDS.glob("stages-*.json")).read_text())
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "stages.json"
        for change, words in (
            ({"version": 3}, "not of version 2"),
            ({"bench": "stages"}, "stages.json .*: bench"),
            ({"stages": [{"stage": "split"}]}, "stage, .*: gb_a_second, input, ns_a_row"),
        ):
            file.write_text(json.dumps({**record, **change}))
            with self.subTest(words), self.assertRaisesRegex(LabError, words):
                Stages.read(file)


class Splice(unittest.TestCase):
    def test_only_what_is_between_the_markers_changes(self):
        text = "a\n<!-- bench:x -->\nold\n<!-- /bench -->\n<!-- bench:y -->\n<!-- /bench -->\n"
        expected = text.replace("old", "one\n\ntwo \\1")
        self.assertEqual(splice(text, "x", "one\n\ntwo \\1"), expected)

    def test_a_document_without_markers_is_an_error(self):
        self.assertRaises(SystemExit, splice, "nothing", "x", "text")


class Chart(unittest.TestCase):
    def test_bars_are_as_long_as_their_seconds_and_inside(self):
        record = a_record("x", {"ours <&>": [2.5], "psql": [10]})
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
