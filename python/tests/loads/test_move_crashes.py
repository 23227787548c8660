"""Moves whose server crashes in each phase: the next run goes on, and no row differs."""

import os
import subprocess
import time
from pathlib import Path

from formats.place import program

from .own_server import OwnServer
from .place import LIMIT

# The points of a move at which the server crashes.
POINTS = (
    "moving::created",
    "moving::logged",
    "payload::committed",
    "moving::copied",
    "moving::built",
    "moving::followed",
    "moving::committing",
)

# Wide rows, so that more than one transaction copies them.
EVENTS = """
    CREATE TABLE events (id bigint PRIMARY KEY, v text);
    INSERT INTO events SELECT i, repeat(md5(i::text), 12) FROM generate_series(1, 30000) AS i;
    CREATE TABLE before AS SELECT * FROM events
"""

# Changes of both tables.
CHANGES = """
    UPDATE {0} SET v = '{1}' WHERE id % 10 = 3;
    DELETE FROM {0} WHERE id % 10 = 4;
    INSERT INTO {0} VALUES (-{2}, '{1}')
"""

DIFFERENT = """
    SELECT count(*) FROM ((TABLE before EXCEPT ALL TABLE events)
                          UNION ALL (TABLE events EXCEPT ALL TABLE before)) AS d
"""


class MovedThroughCrashes(OwnServer):
    settings = ("fsync=on",)
    limit = 3 * LIMIT

    def start(self, **environment: str) -> subprocess.Popen:
        command = [program(), "partition", "events", "--by=HASH (id)", "--leaves=5", "-q"]
        return subprocess.Popen(
            [*command, "-d", self.url], env={**os.environ, **environment}, stderr=subprocess.PIPE
        )

    def change(self, step: int) -> None:
        with self.connect() as connection:
            for table in ("events", "before"):
                connection.execute(CHANGES.format(table, f"changed {step}", step))

    def crash_at(self, point: str, step: int) -> None:
        held = Path(self.folder, "held")
        running = self.start(PGSLUICE_FAILPOINT=point, PGSLUICE_FAILPOINT_HOLD=str(held))
        while not held.exists():
            self.assertIsNone(running.poll(), running.stderr)
            time.sleep(0.01)
        # Under the lock of the swap, no other session writes.
        if point != POINTS[-1]:
            self.change(step)
        self.crash()
        held.unlink()
        _, errors = running.communicate(timeout=LIMIT)
        self.assertEqual(running.returncode, 1, errors)

    def finish(self) -> None:
        running = self.start()
        _, errors = running.communicate(timeout=LIMIT)
        self.assertEqual(running.returncode, 0, errors)
        self.assertEqual(self.ask(DIFFERENT), (0,))
        kind = "SELECT relkind FROM pg_class WHERE oid = 'events'::regclass"
        self.assertEqual(self.ask(kind), ("p",))

    def test_a_crash_at_each_point(self):
        for point in POINTS:
            with self.subTest(point), self.connect() as connection:
                connection.execute("DROP TABLE IF EXISTS events, events_old, before CASCADE")
                connection.execute(EVENTS)
                connection.close()
                self.crash_at(point, 1)
                self.assertEqual(self.ask(DIFFERENT), (0,))
                self.change(2)
                self.finish()

    def test_a_crash_at_all_points_of_one_move(self):
        with self.connect() as connection:
            connection.execute(EVENTS)
        for step, point in enumerate(POINTS[2:]):
            self.crash_at(point, step)
        self.finish()
