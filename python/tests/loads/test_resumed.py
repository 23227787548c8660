"""A load with the same id resumes where it stopped; other data is refused."""

import unittest

import pgsluice
import pyarrow as pa

from .place import Loads

ROWS = 400_000
TABLE = pa.table({"id": range(ROWS), "v": [f"some text for row {n}" * 5 for n in range(ROWS)]})
OTHER = TABLE.set_column(1, "v", [[f"other text for row {n}" * 5 for n in range(ROWS)]])


def batches(table: pa.Table = TABLE, fail_at: int | None = None):
    for number, batch in enumerate(table.to_batches(max_chunksize=10_000)):
        if number == fail_at:
            raise ConnectionError("the source went away")
        yield batch


class Resumed(Loads):
    def setUp(self):
        super().setUp()
        self.make(v="text")

    def begin(self, data) -> pgsluice.Error:
        """Begin a load that fails with rows in the table."""
        error = self.fail_to_put(data, load_id="one", memory="16MB", jobs=2)
        self.assertGreater(error.rows_committed, 0)
        self.assertLess(error.rows_committed, ROWS)
        self.assertEqual(error.load_id, "one")
        return error

    def assert_whole(self) -> None:
        query = "SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE v LIKE 'some%') FROM"
        found = self.connection.execute(f"{query} loaded").fetchone()
        self.assertEqual(found, (ROWS, ROWS, ROWS))

    def forget(self) -> None:
        self.run_program("ledger", "forget", "one")
        self.empty("loaded")

    def test_a_stream_is_given_again(self):
        self.addCleanup(self.forget)
        error = self.begin(batches(fail_at=35))
        for data in (batches(OTHER), batches(TABLE[1:])):
            refused = self.fail_to_put(data, load_id="one", memory="16MB")
            self.assertEqual(refused.sqlstate, "55000", refused)
            self.assertIn("<data> differs from what was read before, at row", str(refused))
        done = self.put(batches(), load_id="one", memory="16MB")
        self.assertEqual(done.rows_already_loaded, error.rows_committed)
        self.assert_whole()
        again = self.put(batches(), load_id="one")
        self.assertTrue(again.already_finished)
        refused = self.fail_to_put(batches(OTHER), load_id="one")
        self.assertIn("<data> has other contents", str(refused))
        refused = self.fail_to_put(batches(TABLE[:10_000]), load_id="one")
        self.assertIn("<data> had 400000 rows and now has 10000", str(refused))
        self.assert_whole()

    def test_a_table_is_given_again(self):
        self.addCleanup(self.forget)
        # Its last row is rejected.
        self.connection.execute(f"ALTER TABLE loaded ADD CONSTRAINT few CHECK (id < {ROWS - 1})")
        error = self.begin(TABLE)
        self.assertEqual(error.row, ROWS - 1)
        self.connection.execute("ALTER TABLE loaded DROP CONSTRAINT few")
        for data in (OTHER, TABLE[::-1]):
            refused = self.fail_to_put(data, load_id="one", memory="16MB")
            self.assertEqual(refused.sqlstate, "55000", refused)
        done = self.put(TABLE, load_id="one", memory="16MB")
        self.assertEqual(done.rows_already_loaded, error.rows_committed)
        self.assert_whole()
        self.assertTrue(self.put(TABLE, load_id="one").already_finished)
        self.assertEqual(self.fail_to_put(OTHER, load_id="one").sqlstate, "55000")

    def test_rows_are_given_again(self):
        self.addCleanup(self.forget)
        rows = TABLE.to_pylist()
        self.connection.execute(f"ALTER TABLE loaded ADD CONSTRAINT few CHECK (id < {ROWS - 1})")
        error = self.begin(rows)
        self.connection.execute("ALTER TABLE loaded DROP CONSTRAINT few")
        done = self.put(rows, load_id="one", memory="16MB")
        self.assertEqual(done.rows_already_loaded, error.rows_committed)
        self.assert_whole()


if __name__ == "__main__":
    unittest.main()
