"""Names under a writer: each batch maps its own names to columns; a missing one erases nothing."""

import pandas as pd
import pgsluice
import pyarrow as pa
from formats.place import server

from .place import Loads


class Names(Loads):
    def setUp(self):
        super().setUp()
        self.connection.execute("DROP SCHEMA IF EXISTS pgsluice CASCADE")
        self.connection.execute(
            "DROP TABLE IF EXISTS named; CREATE TABLE named"
            " (id int PRIMARY KEY, a text, status text DEFAULT 'new')"
        )

    def rows(self) -> list[tuple]:
        return self.connection.execute("SELECT * FROM named ORDER BY id").fetchall()

    def open(self, **options) -> pgsluice.Writer:
        return pgsluice.Writer("named", server(), flush_seconds=None, **options)

    def test_columns_of_later_batches(self):
        for of in (pd.DataFrame, pa.table):
            for flushes in (True, False):
                self.connection.execute("TRUNCATE named")
                with self.open(ignore_extra=True) as writer:
                    for batch in (
                        {"id": [1]},
                        {"id": [2], "a": ["x"], "other": [1]},
                        {"ID": [3], "status": ["sold"]},
                        {"id": [4]},
                    ):
                        writer.write(of(batch))
                        if flushes:
                            writer.flush()
                expected = [(1, None, "new"), (2, "x", "new"), (3, None, "sold"), (4, None, "new")]
                self.assertEqual(self.rows(), expected, (of, flushes))

    def test_keys_of_later_dicts(self):
        with self.open(ignore_extra=True) as writer:
            for row in ({"id": 1, "a": "y"}, {"id": 2, "status": "sold"}, {"id": 3, "w": 1}):
                writer.write([row])
                writer.flush()
        expected = [(1, "y", "new"), (2, None, "sold"), (3, None, "new")]
        self.assertEqual(self.rows(), expected)

    def test_updates_leave_other_columns_alone(self):
        batches = [{"id": 1, "a": "A"}, {"id": 2, "status": "gone"}, {"id": 3}, {"id": 1, "a": "B"}]
        for flushes in (True, False):
            self.connection.execute(
                "TRUNCATE named; INSERT INTO named VALUES (1, 'x', 'old'), (2, 'y', 'old')"
            )
            with self.open(on_conflict="update", load_id=f"names {flushes}") as writer:
                for position, row in enumerate(batches):
                    writer.write([row], position=position)
                    if flushes:
                        writer.flush()
                        self.assertEqual(writer.position, position)
                writer.flush()
                self.assertEqual(writer.position, 3)
            expected = [(1, "B", "old"), (2, "y", "gone"), (3, None, "new")]
            self.assertEqual(self.rows(), expected)

    def test_keys_that_only_some_dicts_have(self):
        self.connection.execute("INSERT INTO named VALUES (1, 'x', 'old'), (2, 'y', 'old')")
        rows = [{"id": 1, "a": "A"}, {"id": 2, "status": "gone"}]
        with self.assertRaises(pgsluice.Error) as caught:
            pgsluice.load(rows, "named", server(), on_conflict="update")
        self.assertIn("is missing, and an update would set", str(caught.exception))
        self.assertEqual(self.rows(), [(1, "x", "old"), (2, "y", "old")])
        with self.open(on_conflict="update") as writer:
            writer.write(rows)
            with self.assertRaises(pgsluice.Error):
                writer.flush()
            writer.discard()
        result = pgsluice.load(
            rows, "named", server(), on_conflict="update", update=["a", "status"]
        )
        self.assertEqual(result.counts.updated, 2)
        self.assertEqual(self.rows(), [(1, "A", None), (2, None, "gone")])

    def test_names_that_are_left_out(self):
        rows = [{"id": 1, "w": 1}, {"id": 2, "x": 1}]
        result = pgsluice.load(rows, "named", server(), ignore_extra=True)
        self.assertEqual((result.extra_names, result.extra_names_count), (("w", "x"), 2))
        audit = pgsluice.verify(rows, "named", server(), ignore_extra=True)
        self.assertTrue(audit)
        self.assertEqual(audit.extra_names_count, 2)

    def test_a_name_that_no_dict_has(self):
        with self.assertRaisesRegex(pgsluice.Error, 'the input has no field "x"'):
            pgsluice.load([{"id": 1}], "named", server(), map={"x": "a"})
