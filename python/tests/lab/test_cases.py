"""The options of cases besides an emptied table, each on a real server, and wrong loads."""

import tempfile
import unittest
from pathlib import Path

from pgsluice_lab import experiment, record, session
from pgsluice_lab.record import Load

from .tiny import HASH, KEY, OnServer

ENGINES = """
[one]
title = "psql, {jobs} times one"
program = "psql"
oneself = true
command = ["{program}", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", "\\\\copy {table} from {literal}", "{url}"]

[twice]
like = "one"
title = "psql, a row more"
command = ["{program}", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", "\\\\copy {table} from {literal}", "-c", "insert into {table} values (7)", "{url}"]

[binary]
title = "leaves, binary"
program = "psql"
form = "leaves-binary"
command = ["{program}", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "{file}", "{url}"]

[text]
like = "binary"
title = "leaves, text"
form = "leaves"

[staged]
like = "binary"
title = "leaves, staged"
form = "staged-leaves"

[pgsluice]
title = "pgsluice"
program = "pgsluice"
oneself = true
command = ["{program}", "load", "{file}", "-d", "{url}", "-t", "{table}", "{load...}", "--json", "-q"]
figures = { rows_read = '"rows_read":([0-9]+)', wire = '"wire":"(\\w+)"' }

[rejecting]
like = "pgsluice"
title = "pgsluice, {jobs} connections"
rejects = true
statuses = [3]
more = ["--reject-file", "{rejects}", "--max-rejects", "100%"]
"""  # noqa: E501 - a command is a line
HEAD = """
title = "Cases"
question = "Are they run as they say?"
order = 1

[scale.full]
rounds = 2
limit = 60
rows = 500
partitions = 4
there = 100
jobs = 2
"""
CASE = """
[[case]]
name = "case"
title = "a case"
schema = "hash.sql"
table = "accounts"
input = "accounts"
"""
THERE = "insert into accounts select aid from generate_series(1, :there) aid;\n"
LIMITED = f"{KEY}alter table accounts add check (aid <= 400);\n"


class Cases(OnServer):
    def run_case(self, *lines: str, schema: str = HASH) -> record.Run:
        place = Path(self.enterContext(tempfile.TemporaryDirectory())) / "cases"
        place.mkdir()
        (place / "experiment.toml").write_text("\n".join([HEAD, CASE, *lines]))
        (place / "hash.sql").write_text(schema)
        (place / "there.sql").write_text(THERE)
        (place / "empty.sql").write_text("truncate :table;\n")
        shelf = place.parent / "engines.toml"
        shelf.write_text(ENGINES)
        cases = experiment.load("cases", place.parent, shelf)
        scale = cases.scales["full"]
        return session.run(cases, scale, self.site, self.records, lambda *_: None, commit="c0ffee")

    def statuses(self, *lines: str, schema: str = HASH) -> dict[str, set[str]]:
        """Return the statuses of the loads of each engine."""
        found: dict[str, set[str]] = {}
        for load in self.run_case(*lines, schema=schema).loads:
            found.setdefault(load.engine, set()).add(load.status)
        self.assertEqual(self.site.lab_schemas(), [])
        return found

    def test_rows_of_loads_before_stay_and_a_row_more_is_wrong(self):
        found = self.statuses("keep = true", 'counts = ""', 'engines = ["one", "twice"]')
        self.assertEqual(found, {"one": {"done"}, "twice": {"wrong"}})

    def test_a_table_can_be_fresh_for_each_load(self):
        found = self.statuses("fresh = true", "checkpoint = true", 'engines = ["one", "twice"]')
        self.assertEqual(found, {"one": {"done"}, "twice": {"wrong"}})

    def test_rows_can_be_there_before_and_leaves_are_files_of_the_inputs_alone(self):
        about = ('before = "there.sql"', 'counts = "rows + there"', 'order = "aid desc"')
        found = self.statuses(*about, 'engines = ["one", "binary", "text", "pgsluice", "twice"]')
        self.assertEqual(found.pop("twice"), {"wrong"})
        self.assertEqual(set(map(str, found.values())), {"{'done'}"})

    def test_leaves_are_files_of_the_input_where_a_script_prepares_the_table(self):
        about = ('prepare = "there.sql"', 'engines = ["staged", "text", "twice"]')
        found = self.statuses(*about, schema=KEY)
        # Only the staging skips existing rows.
        self.assertEqual(found, {"staged": {"done"}, "text": {"failed"}, "twice": {"failed"}})

    def test_summaries_of_loads_are_checked(self):
        for check, status in (
            # This few rows are sent in psql's way.
            ("rows_read == rows and wire == 'text'", "done"),
            ("rows_read == rows and wire == 'binary'", "wrong"),
            ("unheard == 1", "wrong"),
        ):
            [load, _] = self.loads(check)
            self.assertEqual(load.status, status, check)
        self.assertIn("unheard", load.reason)

    def loads(self, check: str) -> list[Load]:
        return self.run_case(
            'engines = ["pgsluice"]', "[case.checks]", f'pgsluice = "{check}"'
        ).loads

    def test_rows_in_the_file_of_rejects_are_counted(self):
        about = ('prepare = "empty.sql"', 'counts = "rows - 100"', 'engines = ["rejecting"]')
        for load in self.limited(*about, "[case.checks]", 'rejecting = "reject_lines == 100"'):
            self.assertEqual((load.status, load.reason), ("done", None))
            self.assertEqual(load.figures["reject_lines"], 100)
        for load in self.limited(*about, "[case.checks]", 'rejecting = "reject_lines == 99"'):
            self.assertEqual(load.status, "wrong")

    def limited(self, *lines: str) -> list[Load]:
        run = self.run_case(*lines, schema=LIMITED)
        self.assertEqual(run.head.commit, "c0ffee")
        self.assertEqual(run.head.engines["rejecting"].title, "pgsluice, 2 connections")
        return run.loads


if __name__ == "__main__":
    unittest.main()
