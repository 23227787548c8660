"""Rows of a table on the same server and on another one: each way, and its record."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

from pgsluice_lab import session, site

from bench import inputs, source, tables
from bench.__main__ import arguments, load, scaled
from bench.goals import judge
from bench.record import Record

SMALL = ["--scale", "0.0002", "--leaves", "4", "--rounds", "1", "--memory", "64"]
ROWS = 1_000


class Loads(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(patch.dict(os.environ, {"PGSLUICE_LAB_CACHE": folder}))
        self.records = Path(self.enterContext(tempfile.TemporaryDirectory()))
        whole = load("relation")
        self.chosen, self.scale = scaled(whole, arguments(whole, SMALL))

    def test_each_way_loads_all_rows_into_their_leaves(self):
        with (
            site.opened(None) as place,
            source.opened(self.chosen, self.scale, place, None, []),
        ):
            self.assertNotEqual(place.source.url, place.url)
            hidden = (place.url, place.source.url, place.env["PGPASSWORD"])
            run = session.run(
                self.chosen, self.scale, place, self.records, lambda *_: None, inputs.given
            )
        self.assertEqual([], [each.reason for each in run.loads if not each.done])
        self.assertEqual(len(run.loads), 2 * 4)
        for each in run.loads:
            self.assertEqual(each.rows, ROWS)
            self.assertGreater(each.wal_bytes, 0, each.engine)
            self.assertEqual(
                "$SOURCE" in each.command, each.engine in ("psql-pipe", "pgsluice-from")
            )
            for secret in hidden:
                self.assertNotIn(secret, each.command)
        record = Record(run.head, run.loads)
        self.assertIn("| psql INSERT INTO ... SELECT, same server |", tables.relation(record))
        self.assertNotIn("not measured", [each.verdict for each in judge("relation", record)])


if __name__ == "__main__":
    unittest.main()
