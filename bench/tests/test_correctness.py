"""The comparison of tools: its verdicts, its record, its tables, and a run on a server."""

import json
import tempfile
import unittest
from dataclasses import asdict, replace
from pathlib import Path

from pgsluice_lab.failure import LabError
from pgsluice_lab.machine import machine
from pgsluice_lab.record import Machine, Postgresql

from bench.correctness import command, markdown
from bench.correctness.judge import LONGEST, Stored, judge
from bench.correctness.record import Correctness, Input, Program, Result
from bench.correctness.tools import TOOLS, Tool
from bench.correctness.trial import Bench, error, expected
from bench.report import section

CASES = {case.name: case for cases in command.GROUPS.values() for case in cases}
NAMES = ("id", "note")
ROWS = [("t_0", "1", "a"), ("t_1", "2", None), ("t_1", "10", "")]


def a_record(*results: Result) -> Correctness:
    """Return a record with the first two tools and these results."""
    return Correctness(
        date="2026-11-28T00:00:00+00:00",
        pgsluice="0",
        commit="",
        machine=Machine(**machine()),
        postgresql=Postgresql("18.6", {}, 18, True),
        tools=[Program(each.name, each.title, f"{each.name} 1") for each in TOOLS[:2]],
        inputs=[Input(name, "group", f"title of {name}") for name in ("empty", "words")],
        results=[*results],
    )


class Verdicts(unittest.TestCase):
    def judged(self, rows: list, *, failed: bool = False, refused: bool = False) -> tuple:
        return judge(NAMES, Stored(rows, failed), None if refused else ROWS)

    def test_the_same_rows_are_right_in_any_order(self):
        self.assertEqual(self.judged(ROWS[::-1]), ("right", ""))

    def test_other_values_are_wrong_and_shown(self):
        rows = [("t_0", "1", "a|b"), ("t_1", "2", ""), ("t_1", "10", None)]
        notes = "`a|b`, not `a`; an empty string, not NULL; NULL, not an empty string"
        self.assertEqual(self.judged(rows), ("wrong", notes))

    def test_another_leaf_is_wrong(self):
        rows = [("t_1", *ROWS[0][1:]), *ROWS[1:]]
        self.assertEqual(self.judged(rows), ("wrong", "`t_1`, not `t_0`"))

    def test_another_number_of_rows_is_wrong(self):
        self.assertEqual(self.judged(ROWS * 2), ("wrong", "6 rows in the table, not 3"))

    def test_rows_that_are_repeated_are_wrong(self):
        words = "some rows are missing, and others are repeated"
        self.assertEqual(
            judge(NAMES, Stored([ROWS[0], *ROWS[1:], ROWS[0]], False), [*ROWS, ROWS[1]]),
            ("wrong", words),
        )

    def test_another_key_is_wrong(self):
        rows = [("t_0", "7", "a"), *ROWS[1:]]
        self.assertEqual(self.judged(rows), ("wrong", "id `7`, not `1`"))

    def test_an_error_is_a_refusal_if_the_table_is_empty(self):
        self.assertEqual(self.judged([], failed=True), ("refused", ""))
        self.assertEqual(self.judged([], failed=True, refused=True), ("refused", ""))
        note = "an error, and 1 row in the table"
        self.assertEqual(self.judged(ROWS[:1], failed=True, refused=True), ("partly", note))

    def test_success_is_wrong_if_the_input_should_be_refused(self):
        for rows, words in (([], "0 rows"), (ROWS, "3 rows")):
            note = f"no error, and {words} in the table"
            self.assertEqual(self.judged(rows, refused=True), ("wrong", note))

    def test_a_long_value_is_cut(self):
        _, note = self.judged([("t_0", "1", "x" * 99), *ROWS[1:]])
        self.assertEqual(note, f"`{'x' * LONGEST}...`, not `a`")


class Errors(unittest.TestCase):
    def test_the_exception_of_a_traceback_is_named(self):
        output = (
            'Traceback (most recent call last):\n  File "x"\na.b.DataError: no\nCONTEXT:  x: y\n'
        )
        self.assertEqual(error(output), "a.b.DataError: no")

    def test_the_first_line_of_another_program_is_its_error(self):
        self.assertEqual(error("\nERROR:  no\nDETAIL:  more\n"), "ERROR:  no")
        self.assertEqual(error(""), "")


class Records(unittest.TestCase):
    def test_records_are_read_back(self):
        record = a_record(Result("empty", "psql", "right"))
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "correctness.json"
        file.write_text(json.dumps(asdict(record)))
        self.assertEqual(Correctness.read(file), record)
        for change in ({"more": 1}, {"version": 0}, {"results": [{"tool": "psql"}]}):
            file.write_text(json.dumps(asdict(record) | change))
            with self.assertRaises(LabError):
                Correctness.read(file)

    def test_equal_notes_have_one_number(self):
        record = a_record(
            Result("empty", "psql", "right"),
            Result("empty", "pgsluice", "wrong", "this"),
            Result("words", "psql", "partly", "that"),
            Result("words", "pgsluice", "wrong", "this"),
        )
        lines = markdown.tables(record).splitlines()
        self.assertEqual(lines[2], "| title of empty | right | wrong (1) |")
        self.assertEqual(lines[3], "| title of words | partly (2) | wrong (1) |")
        self.assertEqual(lines[5:7], ["1. this", "2. that"])
        self.assertEqual(lines[-1], "Versions: psql 1; pgsluice 1.")

    def test_the_section_says_when_it_was_run(self):
        record = replace(a_record(), inputs=[])
        self.assertIn("2026-11-28, PostgreSQL 18.6.", section("correctness", record))


class Runs(unittest.TestCase):
    def test_names_are_unique(self):
        listed = [case.name for cases in command.GROUPS.values() for case in cases]
        self.assertEqual(len(listed), len(CASES))

    def test_each_tool_is_run(self):
        with command.opened() as bench:
            tried = self.tried(bench, "nowhere", *TOOLS)
            self.assertEqual(set(tried.values()), {"refused"}, tried)
            ours = self.tried(bench, "empty", *TOOLS[:2])
            self.assertEqual(ours, {"psql": "right", "pgsluice": "right"})
            again = self.tried(bench, "again", *TOOLS[:2])
            self.assertEqual(again, {"psql": "wrong", "pgsluice": "right"})
            killed = self.tried(bench, "killed", TOOLS[1])
            self.assertEqual(killed, {"pgsluice": "right"})

    def tried(self, bench: Bench, name: str, *tools: Tool) -> dict[str, str]:
        """Return the verdicts on these tools."""
        case = CASES[name]
        bench.prepare(case)
        wanted = expected(bench, case)
        self.assertEqual(wanted is None, case.is_refused)
        return {each.name: command.compare_one(bench, each, case, wanted).verdict for each in tools}


if __name__ == "__main__":
    unittest.main()
