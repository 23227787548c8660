"""Records: runs go on where they stopped, and only if they measure the same."""

import tempfile
import unittest
from pathlib import Path

from pgsluice_lab import record
from pgsluice_lab.record import Run, begin, newest

HEAD = {
    "experiment": "tiny",
    "scale": "small",
    "date": "2026-11-21T10:00:00+00:00",
    "pgsluice": "1",
    "rounds": 1,
    "parameters": {"rows": [1]},
    "machine": {"cores": 2},
    "postgresql": {"version": "18.6", "major": 18},
    "engines": {},
}
LOAD = {"case": "hash", "point": {"rows": 1}, "engine": "psql", "round": 1, "status": "done"}


class Records(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_run_that_did_not_end_goes_on(self):
        first, resumed = begin(self.folder, HEAD)
        self.assertFalse(resumed)
        first.add(LOAD)
        again, resumed = begin(self.folder, {**HEAD, "date": "2026-11-21T11:00:00+00:00"})
        self.assertTrue(resumed)
        self.assertEqual(again.file, first.file)
        self.assertEqual(again.done(), {record.key("hash", {"rows": 1}, "psql", 1)})

    def test_a_line_that_was_cut_off_is_measured_again(self):
        first, _ = begin(self.folder, HEAD)
        first.add(LOAD)
        with first.file.open("a") as out:
            out.write('{"kind": "load", "case": "ha')
        again, _ = begin(self.folder, HEAD)
        self.assertEqual(len(again.done()), 1)
        again.add({**LOAD, "round": 2})
        again.end()
        read = Run.read(first.file)
        self.assertEqual([load["round"] for load in read.loads], [1, 2])
        self.assertTrue(read.ended)

    def test_a_run_that_ended_or_measures_other_things_does_not(self):
        for change in ({}, {"rounds": 2}, {"machine": {"cores": 4}}, {"parameters": {"rows": [2]}}):
            first, _ = begin(self.folder, HEAD)
            if not change:
                first.end()
            date = f"2026-11-21T12:00:0{len(list(self.folder.iterdir()))}+00:00"
            other, resumed = begin(self.folder, {**HEAD, **change, "date": date})
            self.assertFalse(resumed, change)
            self.assertNotEqual(other.file, first.file)
            for file in self.folder.iterdir():
                file.unlink()

    def test_the_newest_that_ended_is_shown(self):
        for hour, ends in ((10, True), (11, True), (12, False)):
            run, _ = begin(self.folder, {**HEAD, "date": f"2026-11-21T{hour}:00:00+00:00"})
            run.add({**LOAD, "seconds": hour})
            if ends:
                run.end()
        [shown] = newest(self.folder)
        self.assertEqual([load["seconds"] for load in shown.loads], [11])


if __name__ == "__main__":
    unittest.main()
