"""Shares of a load that come from Python: tables, streams and rows."""

import unittest

import pgsluice
import psycopg
import pyarrow as pa
from formats.place import server

from .place import Limited

TABLE = """
    DROP TABLE IF EXISTS shared;
    CREATE TABLE shared (id bigint, v text) PARTITION BY HASH (id);
    CREATE TABLE shared_0 PARTITION OF shared FOR VALUES WITH (MODULUS 2, REMAINDER 0);
    CREATE TABLE shared_1 PARTITION OF shared FOR VALUES WITH (MODULUS 2, REMAINDER 1);
"""


def table(first, last):
    ids = range(first, last)
    return pa.table({"id": ids, "v": [f"value {number}" for number in ids]})


class Participants(Limited):
    def setUp(self):
        self.connection = psycopg.connect(server(), autocommit=True)
        self.addCleanup(self.connection.close)
        self.connection.execute(TABLE)
        self.addCleanup(self.connection.execute, "DROP TABLE shared")
        self.load_id = self.id()

    def load(self, data, participant="0", **options):
        return pgsluice.load(
            data, "shared", server(), load_id=self.load_id, participant=participant, **options
        )

    def rows(self):
        return self.connection.execute("SELECT count(*), sum(id) FROM shared").fetchone()

    def test_shares_add_up(self):
        first, second = self.load(table(0, 1000)), self.load(table(1000, 3000), "1")
        self.assertEqual((first.rows_loaded, second.rows_loaded), (1000, 2000))
        both = (int(first.share.rows_hash, 16) + int(second.share.rows_hash, 16)) % 2**64
        (entry,) = [each for each in pgsluice.ledger(server()) if each.id == self.load_id]
        self.assertEqual((entry.state, entry.participants, entry.rows), ("unfinished", 2, 3000))
        finished = pgsluice.ledger_finish(
            self.load_id, server(), participants=2, rows_hash=f"{both:016x}"
        )
        self.assertEqual((finished.counts.inserted, finished.already_finished), (3000, False))
        self.assertEqual(self.rows(), (3000, sum(range(3000))))
        again = self.load(table(0, 1000))
        self.assertEqual((again.rows_loaded, again.rows_read), (0, 1000))
        self.assertTrue(again.already_finished and again.share.load_finished)
        with self.assertRaisesRegex(pgsluice.ServerError, "does not have participant 2"):
            self.load(table(0, 1000), "2")

    def test_neither_order_nor_batches_matter(self):
        whole = table(0, 50_000)
        first = self.load(whole)
        pieces = [whole.slice(at, 700) for at in range(0, 50_000, 700)]
        for again in (pieces, iter(reversed(pieces)), whole.sort_by([("id", "descending")])):
            done = self.load(again)
            self.assertEqual((done.rows_loaded, done.rows_already_loaded), (0, 50_000))
            self.assertEqual(done.share, first.share)
        self.assertEqual(self.rows(), (50_000, sum(range(50_000))))

    def test_other_rows_are_refused(self):
        self.load(table(0, 1000))
        for other in (table(0, 999), table(1, 1001), pa.concat_tables([table(0, 500)] * 2)):
            with self.assertRaisesRegex(pgsluice.InputError, "with other rows than these"):
                self.load(other)
        self.assertEqual(self.rows(), (1000, sum(range(1000))))

    def test_an_empty_share_counts(self):
        done = self.load(table(0, 0))
        self.assertEqual((done.rows_loaded, int(done.share.rows_hash, 16)), (0, 0))
        self.load(table(0, 10), "1")
        finished = pgsluice.ledger_finish(self.load_id, server(), participants=2)
        self.assertEqual(finished.counts.inserted, 10)

    def test_missing_shares_are_named(self):
        self.load(table(0, 10), "1", participants=3)
        with self.assertRaisesRegex(pgsluice.ServerError, "Missing: 0, 2"):
            pgsluice.ledger_finish(self.load_id, server())

    def test_rows_of_python(self):
        rows = [(number, None if number % 3 else "x") for number in range(500)]
        done = self.load(rows)
        again = self.load(iter(rows))
        self.assertEqual((done.rows_loaded, again.rows_already_loaded), (500, 500))
        self.assertEqual(done.share, again.share)


if __name__ == "__main__":
    unittest.main()
