"""The oracle: each library's rows of each type's tree are stored where COPY puts them."""

import unittest

import pgsluice
import psycopg
from formats.place import server

from . import trees
from .place import Limited

# Fewer cases would be a mistake in how they are found.
LEAST = 60
# The libraries for which `leaf` is also tested.
LEAVES = ("text", "pyarrow")


class Trees(Limited):
    limit = 300

    def test_each_library_equals_copy(self):
        with psycopg.connect(server()) as connection:
            cases = trees.cases(connection.info.server_version // 10000)
        self.assertGreaterEqual(len(cases), LEAST)
        for folder in cases:
            tree = trees.Tree(folder, server())
            for library in trees.LIBRARIES:
                with self.subTest(folder.name, library=library):
                    self.assert_equal(tree, library)
            tree.close()

    def assert_equal(self, tree: trees.Tree, library: str) -> None:
        data, expected = tree.data(library)
        self.assertTrue(expected)
        leaves = self.leaves(tree, data) if library in LEAVES else None
        tree.connection.execute("DELETE FROM t")
        done = pgsluice.load(data, "t", tree.url, no_ledger=True)
        self.assertEqual(done.rows_inserted, len(expected))
        self.assertEqual(tree.stored(), expected)
        if library in LEAVES:
            # `leaf` does not answer for rows that have to take the slow lane.
            self.assertEqual(leaves is None, done.lanes.routed_by_server > 0, done.fallbacks)
        if leaves:
            self.assertEqual(leaves, [leaf for leaf, _ in expected])

    def leaves(self, tree: trees.Tree, data) -> list[str] | None:
        """Return the result of `leaf`, if it has one."""
        try:
            found = pgsluice.leaf("t", data, tree.url).to_pylist()
        except pgsluice.DataError as error:
            self.assertIn("only the server can find the leaf of this row", str(error))
            return None
        return [*map(tree.unqualified, found)]


if __name__ == "__main__":
    unittest.main()
