"""Records: a run is resumed only under the same conditions."""

import re
import tempfile
import unittest
from dataclasses import fields, replace
from pathlib import Path

from pgsluice_lab import record
from pgsluice_lab.failure import LabError
from pgsluice_lab.record import (
    Head,
    Load,
    Machine,
    Postgresql,
    Program,
    Run,
    begin,
    line,
    newest,
)

ROOT = Path(__file__).resolve().parents[3]

HEAD = Head(
    experiment="tiny",
    scale="small",
    date="2026-11-21T10:00:00+00:00",
    pgsluice="1",
    rounds=1,
    parameters={"rows": [1]},
    machine=Machine(2, "A Processor", 8, "Linux x86_64"),
    postgresql=Postgresql("18.6", {"fsync": "on"}, 18, embedded=True),
    engines={"psql": Program("psql", version="18.6"), "pgloader": Program("pgloader")},
    version=record.VERSION,
)
LOAD = Load("hash", {"rows": 1}, "psql", 1, "done", figures={"tps": 1.5})


class Records(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_run_that_did_not_end_goes_on(self):
        first, resumed = begin(self.folder, HEAD)
        self.assertFalse(resumed)
        first.add(LOAD)
        again, resumed = begin(self.folder, replace(HEAD, date="2026-11-21T11:00:00+00:00"))
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
        again.add(replace(LOAD, round=2))
        again.end()
        read = Run.read(first.file)
        self.assertEqual([load.round for load in read.loads], [1, 2])
        self.assertTrue(read.ended)

    def test_a_run_that_ended_or_measures_other_things_does_not(self):
        for change in ({}, {"rounds": 2}, {"pgsluice": "2"}, {"parameters": {"rows": [2]}}):
            first, _ = begin(self.folder, HEAD)
            if not change:
                first.end()
            # This also holds for runs that begin in the same second.
            other, resumed = begin(self.folder, replace(HEAD, **change))
            self.assertFalse(resumed, change)
            self.assertGreater(other.file, first.file)
            self.assertEqual(Run.read(first.file).head, HEAD)
            for file in self.folder.iterdir():
                file.unlink()

    def test_the_newest_that_ended_is_shown(self):
        for hour, ends in ((10, True), (11, True), (12, False)):
            run, _ = begin(self.folder, replace(HEAD, date=f"2026-11-21T{hour}:00:00+00:00"))
            run.add(replace(LOAD, seconds=hour))
            if ends:
                run.end()
        [shown] = newest(self.folder)
        self.assertEqual([load.seconds for load in shown.loads], [11])

    def read(self, *lines: str) -> Run:
        file = self.folder / "some.jsonl"
        file.write_text("".join(f"{line}\n" for line in lines))
        return Run.read(file)

    def test_records_are_read_back(self):
        run, _ = begin(self.folder, HEAD)
        run.add(LOAD)
        self.assertEqual(Run.read(run.file), run)

    def test_unknown_keys_are_refused_by_name(self):
        head, load = line("run", HEAD).strip(), line("load", LOAD).strip()
        newer = f'"version": {record.VERSION + 1}'
        for lines, words in (
            ([head.replace('"version": 2', newer)], "line 1 of some.jsonl is of version 3"),
            ([head.replace('"cores"', '"kernels"')], "machine, .*: cores, kernels"),
            ([head, load.replace('"round"', '"number"')], "line 2 of .*: number, round"),
            ([head, load.replace('"done"', '"well"')], "unknown status: well"),
            ([head, '{"kind": "stage"}'], "line 2 .* unknown kind: stage"),
            ([head, load[:9], load], "line 2 of some.jsonl is not JSON"),
            ([load], "line 1 .* unknown kind: load"),
        ):
            with self.subTest(words), self.assertRaisesRegex(LabError, words):
                self.read(*lines)

    def test_every_record_that_is_kept_is_read(self):
        for folder in ("docs/lab/records", "bench/records"):
            for file in (ROOT / folder).glob("*.jsonl"):
                with self.subTest(file=file.name):
                    self.assertTrue(Run.read(file).loads)

    def test_the_page_of_the_format_has_every_key(self):
        words = set(re.findall(r"`(\w+)`", (ROOT / "docs/lab/FORMAT.md").read_text()))
        for kind in (Head, Machine, Postgresql, Program, Load):
            self.assertLessEqual({each.name for each in fields(kind)}, words, kind.__name__)


class Rows(unittest.TestCase):
    """Several experiments, one after the other, into one folder."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def ran(self, name: str, day: str, ended: bool = True) -> None:
        run, _ = record.begin(self.folder, replace(HEAD, experiment=name, date=f"{day}+00:00"))
        if ended:
            run.end()

    def left(self, rounds: int | None = None) -> str:
        which = HEAD.rounds if rounds is None else rounds, HEAD.parameters
        wanted = {f"{name}-{HEAD.scale}-pg{HEAD.postgresql.major}": which for name in "abc"}
        return "".join(name[0] for name in record.remaining(wanted, self.folder))

    def test_all_are_left_if_none_was_cut_short(self):
        self.assertEqual(self.left(), "abc")
        for name in "abc":
            self.ran(name, "2026-11-22T10:00:00")
        self.assertEqual(self.left(), "abc")

    def test_recent_runs_before_an_interrupted_one_are_kept(self):
        self.ran("c", "2026-11-20T10:00:00")
        self.ran("a", "2026-11-22T10:00:00")
        self.ran("b", "2026-11-22T11:00:00", ended=False)
        self.assertEqual(self.left(), "bc")
        self.assertEqual(self.left(rounds=9), "abc")

    def test_old_runs_are_repeated(self):
        self.ran("a", "2026-11-19T10:00:00")
        self.ran("b", "2026-11-22T11:00:00", ended=False)
        self.assertEqual(self.left(), "abc")


if __name__ == "__main__":
    unittest.main()
