"""Loads of data in memory, into the tables of `formats.place`. Each test has a time limit."""

import faulthandler
import unittest
from collections.abc import Callable, Sequence
from typing import Any

import pgsluice
from formats.matrix import Line, Matrix
from formats.place import OnServer, server

# Seconds after which a test hangs; then all ends, with the stacks of its threads.
LIMIT = 60


class Limited(unittest.TestCase):
    """A test with a time limit."""

    limit = LIMIT

    def run(self, result=None):
        faulthandler.dump_traceback_later(self.limit, exit=True)
        try:
            return super().run(result)
        finally:
            faulthandler.cancel_dump_traceback_later()


class Loads(Limited, OnServer):
    """Tests that load into `loaded`, and compare with `copied`."""

    def put(self, data: Any, **options: Any) -> pgsluice.LoadResult:
        """Load data, with any result."""
        return pgsluice.load(data, "loaded", server(), **options)

    def fail_to_put(self, data: Any, **options: Any) -> pgsluice.Error:
        """Load data that must be rejected."""
        with self.assertRaises(pgsluice.Error) as caught:
            self.put(data, **options)
        return caught.exception

    def count(self) -> int:
        return self.connection.execute("SELECT count(*) FROM loaded").fetchone()[0]


class MemoryMatrix(Limited, Matrix):
    """Tests of a matrix of types whose rows come from memory instead of a file."""

    def setUp(self):
        super().setUp()
        self.data: Any = None

    def assert_in_memory(
        self,
        lines: Sequence[Line],
        make: Callable[[Sequence[int], dict[str, Line]], Any],
        wire: str | None = None,
        least: int = 1,
    ) -> None:
        """Load all lines from the data that `make` returns for ids and columns."""

        def keep(_, ids: Sequence[int], columns: dict[str, Line]) -> None:
            self.data = make(ids, columns)

        self.assert_lines(lines, keep, wire or "", [wire] if wire else [], least)

    def load_whole(self, *_, options=()):
        wire = options[0] if options else None
        try:
            done = pgsluice.load(self.data, "loaded", server(), no_ledger=True, wire=wire)
        except (pgsluice.Error, ValueError) as error:
            self.fail(str(error))
        if wire == "binary":
            self.assertNotIn("sent as text", str(done.fallbacks))
