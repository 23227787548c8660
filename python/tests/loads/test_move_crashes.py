"""Moves whose server crashes at random moments: the next run resumes, and no row differs."""

import random
import subprocess
import time

from formats.place import program

from .own_server import OwnServer
from .place import LIMIT

SEED = 37
CRASHES = 12
# Seconds after which the server crashes; a move takes about three.
LATEST = 3.0

# Wide rows, so that more than one transaction copies them.
EVENTS = """
    DROP TABLE IF EXISTS events, events_old, before CASCADE;
    CREATE TABLE events (id bigint PRIMARY KEY, v text);
    INSERT INTO events SELECT i, repeat(md5(i::text), 12) FROM generate_series(1, 60000) AS i;
    CREATE TABLE before AS SELECT * FROM events
"""

# Changes of both tables, in one transaction.
CHANGES = """
    UPDATE {0} SET v = '{1}' WHERE id % 10 = 3;
    DELETE FROM {0} WHERE id % 10 = 4 AND id < 20000;
    INSERT INTO {0} VALUES (-{2}, '{1}');
"""

DIFFERENT = """
    SELECT count(*) FROM ((TABLE before EXCEPT ALL TABLE events)
                          UNION ALL (TABLE events EXCEPT ALL TABLE before)) AS d
"""

IS_MOVED = "SELECT relkind = 'p' FROM pg_class WHERE oid = 'events'::regclass"


class MovedThroughCrashes(OwnServer):
    settings = ("fsync=on",)
    limit = 3 * LIMIT

    def make_events(self) -> None:
        with self.connect() as connection:
            connection.execute(EVENTS)

    def change(self, step: int) -> None:
        changes = [CHANGES.format(table, f"changed {step}", step) for table in ("events", "before")]
        with self.connect() as connection:
            connection.execute("".join(changes))

    def move(self, crash_after: float | None) -> tuple[int, bytes]:
        """Move the table, and crash the server after `crash_after` seconds."""
        command = [program(), "partition", "events", "--by=HASH (id)", "--leaves=5", "-q"]
        with subprocess.Popen([*command, "-d", self.url], stderr=subprocess.PIPE) as running:
            if crash_after is not None:
                time.sleep(crash_after)
                self.crash()
            _, errors = running.communicate(timeout=LIMIT)
        return running.returncode, errors

    def test_crashes_at_random_moments(self):
        chance = random.Random(SEED)
        self.make_events()
        moved = 0
        for step in range(1, CRASHES + 1):
            self.change(step)
            status, errors = self.move(chance.uniform(0.1, LATEST))
            self.assertIn(status, (0, 1), errors)
            self.assertEqual(self.ask(DIFFERENT), (0,), step)
            if self.ask(IS_MOVED) == (True,):
                moved += 1
                self.make_events()
        # Otherwise no crash would have been during a move.
        self.assertLess(moved, CRASHES)
        self.assertEqual(self.move(None)[0], 0)
        self.assertEqual((self.ask(DIFFERENT), self.ask(IS_MOVED)), ((0,), (True,)))
