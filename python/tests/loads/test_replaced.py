"""Leaves that are swapped in with the data's rows, replacing the old ones."""

import pgsluice
import pyarrow as pa
from formats.place import server

from .place import Loads

NEW = pa.table({"id": pa.array(range(20), pa.int64()), "v": ["new"] * 20})


class Replaced(Loads):
    def setUp(self):
        super().setUp()
        self.connection.execute(
            """
            CREATE TABLE months (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
            CREATE TABLE months_1 PARTITION OF months FOR VALUES FROM (0) TO (10);
            CREATE TABLE months_2 PARTITION OF months FOR VALUES FROM (10) TO (20);
            CREATE TABLE months_3 PARTITION OF months FOR VALUES FROM (20) TO (30);
            INSERT INTO months SELECT g, 'old' FROM generate_series(5, 24) g WHERE g < 10 OR g > 19
            """
        )
        self.addCleanup(self.connection.execute, "DROP TABLE months")

    def content(self) -> list[tuple[str, int]]:
        sql = "SELECT v, count(*) FROM months GROUP BY v ORDER BY v"
        return self.connection.execute(sql).fetchall()

    def test_the_leaves_of_the_data_are_replaced(self):
        planned = pgsluice.plan(NEW, "months", server(), exchange="replace")
        self.assertEqual(planned.exchangeable, 3)
        done = pgsluice.load(NEW, "months", server(), exchange="replace")
        self.assertEqual((done.exchanged, done.replaced, done.rows_loaded), (2, 1, 20))
        self.assertEqual(self.content(), [("new", 20), ("old", 5)])
        found = pgsluice.verify(NEW, "months", server(), replaced=True)
        self.assertTrue(found)
        self.assertEqual((found.replaced, found.rows_table, len(found.leaves)), (True, 20, 2))
        self.assertFalse(pgsluice.verify(NEW.slice(1), "months", server(), replaced=True))

    def test_a_true_exchange_keeps_rows(self):
        done = pgsluice.load(NEW.slice(10), "months", server(), exchange=True)
        self.assertEqual((done.exchanged, done.replaced), (1, 0))
        self.assertEqual(self.content(), [("new", 10), ("old", 10)])

    def test_leaves_that_cannot_be_replaced_are_errors(self):
        self.connection.execute("CREATE VIEW first AS SELECT * FROM months_1")
        self.addCleanup(self.connection.execute, "DROP VIEW IF EXISTS first")
        with self.assertRaises(pgsluice.ServerError) as caught:
            pgsluice.load(NEW, "months", server(), exchange="replace")
        self.assertIn("cannot exchange public.months_1", str(caught.exception))
        self.assertEqual(self.content(), [("old", 10)])
        self.connection.execute("DROP VIEW first")
