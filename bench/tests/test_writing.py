"""The record of small batches, its table and its chart."""

import json
import tempfile
import unittest
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

from pgsluice_lab.failure import LabError
from pgsluice_lab.machine import machine
from pgsluice_lab.record import Machine

from bench import tables
from bench.chart import writing_chart
from bench.writing import COPIES, WAYS, Batch, Copied, Writing

BATCHES = [Batch(way, rows, 10.0 * rows, 1.5, 2.5) for rows in (1, 100) for way in WAYS]
COPIED = [Copied(way, leaves, 1000, 0.5) for leaves in (16, 800) for way in COPIES]


def a_record() -> Writing:
    about = Machine(**machine())
    return Writing("2026-11-25T00:00:00+00:00", "0", "", about, "18.6", BATCHES, COPIED, 1)


class Records(unittest.TestCase):
    def test_records_are_read_back(self):
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "writing.json"
        file.write_text(json.dumps(asdict(a_record())))
        self.assertEqual(Writing.read(file), a_record())
        for change in ({"more": 1}, {"version": 0}, {"batches": [{"way": "copy"}]}):
            file.write_text(json.dumps(asdict(a_record()) | change))
            with self.assertRaises(LabError):
                Writing.read(file)

    def test_the_tables_have_each_figure(self):
        text = tables.writing(a_record())
        self.assertIn("| 100 | 1,000, 1.50 ms, 2.50 ms |", text)
        self.assertEqual(text.count("| 0.50 | 0.50 |"), len(COPIES))

    def test_the_chart_has_a_panel_for_each_size(self):
        picture = ElementTree.fromstring(writing_chart(a_record()))
        words = [text.text for text in picture.iter() if text.tag.endswith("text")]
        self.assertEqual([word for word in words if word.startswith("Batches")], PANELS)
        self.assertEqual(words.count("1,000 rows/s"), len(WAYS))


PANELS = ["Batches of 1 row", "Batches of 100 rows"]

if __name__ == "__main__":
    unittest.main()
