"""A load from an object store that is killed and resumed loads every row once.

KILLS_OBJECTS says how often loads are killed.
"""

import gzip
import os
import random
import subprocess
import time
import unittest
from functools import cache

import pyarrow as pa
from formats.place import program, server

from .place import OnStores
from .servers import Seaweed, started
from .test_equal import csv_of, ndjson_of, parquet_of, text_of

KILLS = int(os.environ.get("KILLS_OBJECTS", "5"))
ROWS = 120_000
# Small transactions, so that most kills leave some committed.
OPTIONS = ("--memory", "16MB", "--jobs", "2", "--end-other", "--json")


@cache
def objects() -> dict[str, bytes]:
    """Return the same rows as objects of several formats, of up to 25 MB."""
    names = [f"some text for row {n} " * 8 for n in range(ROWS)]
    data = pa.table({"id": range(ROWS), "name": names})
    return {
        "rows.tsv": text_of(data),
        "rows.csv.gz": gzip.compress(csv_of(data).encode(), 1),
        "rows.ndjson": ndjson_of(data),
        "rows.parquet": parquet_of(data, 25_000),
    }


class Killed(OnStores):
    limit = 60 + 20 * KILLS

    def setUp(self):
        super().setUp()
        self.store = started(Seaweed)
        self.make(name="text")

    def test_every_row_is_loaded_once(self):
        for name, data in objects().items():
            self.store.put(f"killed/{name}", data)
        seed = time.time_ns()
        chance = random.Random(seed)
        names = list(objects())
        chance.shuffle(names)
        kills, loads = 0, 0
        while kills < KILLS:
            name = names[loads % len(names)]
            loads += 1
            with self.subTest(name, seed=seed):
                kills += self.load_with_kills(name, f"killed-{loads}", chance, KILLS - kills)

    def load_with_kills(self, name: str, load: str, chance: random.Random, most: int) -> int:
        """Load an object, killing up to `most` runs. Returns how many were killed."""
        header = ["--header"] if "csv" in name else []
        address = self.store.address(f"killed/{name}")
        command = [program(), "load", address, "-t", "loaded", "-d", server(), "--load-id", load]
        kills = 0
        self.empty("loaded")
        while True:
            run = subprocess.Popen(
                [*command, *header, *OPTIONS],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=self.store.variables(),
            )
            delay = chance.uniform(0.1, 2.5) if kills < min(most, 4) else None
            try:
                out, err = run.communicate(timeout=delay)
                break
            except subprocess.TimeoutExpired:
                run.kill()
                run.communicate()
                kills += 1
        self.assertEqual(run.returncode, 0, out + err)
        query = "SELECT count(*), count(DISTINCT id), min(id), max(id) FROM loaded"
        found = self.connection.execute(query).fetchone()
        self.assertEqual(found, (ROWS, ROWS, 0, ROWS - 1))
        text = "repeat(format('some text for row %s ', id), 8)"
        query = f"SELECT count(*) FROM loaded WHERE name <> {text}"
        self.assertEqual(self.connection.execute(query).fetchone(), (0,))
        self.run_program("ledger", "forget", load)
        self.empty("loaded")
        return kills

    def test_a_changed_object_is_not_resumed(self):
        text = objects()["rows.tsv"]
        self.store.put("changed.tsv", text + b"no number\tx\n")
        address = self.store.address("changed.tsv")
        args = ("load", address, "-t", "loaded", "--load-id", "changed", "--memory", "16MB")
        self.addCleanup(self.run_program, "ledger", "forget", "changed")
        done = self.run_from(self.store, *args)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("committed before", done.stderr)
        before = self.ids()
        self.assertGreater(len(before), 0)
        # Of the same size.
        self.store.put("changed.tsv", text + b"120000000\tx\n")
        done = self.run_from(self.store, *args)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("changed", done.stderr)
        self.assertEqual(self.ids(), before)


if __name__ == "__main__":
    unittest.main()
