"""Loads of the same bytes from an object store and from the disk, into the table `loaded`."""

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pgsluice
from formats.place import OnServer, program, server
from loads.place import Limited

from .servers import Store

Snapshot = list[tuple[str, str]]
# Keys of the summary that are not the same in two equal loads.
VARYING = ("load_id", "seconds", "first_row")


class OnStores(Limited, OnServer):
    """Tests that load from servers of objects."""

    limit = 120

    def run_from(
        self,
        store: Store,
        *args: str | Path,
        environment: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Run the program with the credentials of a server."""
        done = subprocess.run(
            [program(), *map(str, args), "-d", server()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            cwd=self.folder,
            env=store.variables() | dict(environment or {}),
        )
        self.assertNotIn("panicked", done.stderr)
        return done

    def load_from(
        self, store: Store, *names: str | Path, options: Iterable[str | Path] = (), **given: Any
    ) -> subprocess.CompletedProcess[str]:
        """Load objects or files without a ledger, whatever comes of it."""
        args = ("load", *names, "-t", "loaded", "--no-ledger", *options)
        return self.run_from(store, *args, **given)

    def python_from(self, store: Store, data: Any, **options: Any) -> pgsluice.LoadResult:
        """Load in this process, with the credentials of a server."""
        with mock.patch.dict(os.environ, store.variables(), clear=True):
            return pgsluice.load(data, "loaded", server(), no_ledger=True, **options)

    def ids(self) -> list[int]:
        found = self.connection.execute("SELECT id FROM loaded ORDER BY id")
        return [number for (number,) in found]

    def snapshot(self) -> Snapshot:
        """Return the rows of the table with their leaves, and empty it."""
        query = "SELECT tableoid::regclass::text, loaded::text FROM loaded ORDER BY 1, 2"
        found = self.connection.execute(query).fetchall()
        self.empty("loaded")
        return found


def summary(done: subprocess.CompletedProcess[str], places: Iterable[str]) -> dict[str, Any]:
    """Return the JSON of a load without what varies, and with `PLACE` for its places."""
    text = done.stdout
    for place in places:
        text = text.replace(place, "PLACE/")
    given = json.loads(text)
    return {key: value for key, value in given.items() if key not in VARYING}
