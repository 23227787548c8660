"""Writers whose program is killed, and whose server is stopped: each row is in once.

PGSLUICE_VIOLENCE=full repeats this as often as documented, and a number that often.
"""

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import pgsluice
import psycopg
import pyarrow as pa
from formats.place import server

from .own_server import OwnServer
from .place import LIMIT, Loads

VIOLENCE = os.environ.get("PGSLUICE_VIOLENCE", "")


def times(some: int, full: int) -> int:
    """Return the number of repetitions: `some`, unless the environment overrides it."""
    return full if VIOLENCE == "full" else int(VIOLENCE or some)


# Seconds for each of these tests.
PATIENCE = 20 * LIMIT if VIOLENCE else LIMIT

PRODUCER = """
    import random, sys
    import pgsluice, pyarrow as pa
    url, keys, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    changes = {"on_conflict": "update"} if keys else {}
    writer = pgsluice.Writer(
        "loaded", url, load_id="killed", flush_rows=60, flush_seconds=0.05, **changes
    )
    print(writer.position, flush=True)
    at = writer.position or 0
    while at < most:
        rows = min(random.choice((1, 1, 5, 40, 1200)), most - at)
        numbers = range(at, at + rows)
        ids = [number % keys if keys else number for number in numbers]
        writer.write(pa.table({"id": ids, "number": numbers}), position=at + rows)
        at += rows
    writer.close()
    print("done", flush=True)
"""


class Killed(Loads):
    limit = PATIENCE

    def kill(self, keys: int) -> int:
        """Kill a producer often, and let it end; return the number of rows that it has written."""
        self.connection.execute("DROP SCHEMA IF EXISTS pgsluice CASCADE")
        draw = random.Random(7)
        kills, wanted = 0, times(8, 100)
        # More rows than it can write before all its kills.
        most = 10**9
        command = [sys.executable, "-c", textwrap.dedent(PRODUCER), server(), str(keys)]
        query = "SELECT position::int FROM pgsluice.load WHERE id = 'killed'"
        position = None
        # On a busy machine it writes no rows for some time.
        while kills < wanted or position is None:
            producer = subprocess.Popen([*command, str(most)], stdout=subprocess.PIPE, text=True)
            producer.stdout.readline()
            time.sleep(draw.uniform(0, 1 + kills / wanted))
            producer.send_signal(signal.SIGKILL)
            producer.wait()
            producer.stdout.close()
            kills += 1
            position = self.connection.execute(query).fetchone()[0]
        most = position + 500
        done = subprocess.run([*command, str(most)], capture_output=True, text=True, check=True)
        self.assertIn("done", done.stdout)
        # Some were killed after they had written rows.
        self.assertGreater(most, 500)
        return most

    def test_a_producer_with_positions(self):
        self.make(number="bigint")
        most = self.kill(keys=0)
        counted = "SELECT count(*), count(DISTINCT id), min(id), max(id) FROM loaded"
        rows = self.connection.execute(counted).fetchone()
        self.assertEqual(rows, (most, most, 0, most - 1))

    def test_one_that_changes_rows(self):
        self.make(number="bigint")
        self.connection.execute("ALTER TABLE loaded ADD PRIMARY KEY (id)")
        most = self.kill(keys=50)
        rows = self.connection.execute("SELECT id, number FROM loaded ORDER BY number").fetchall()
        self.assertEqual(rows, [(number % 50, number) for number in range(most - 50, most)])
        counts = pgsluice.ledger_show("killed", server()).counts
        self.assertEqual(counts.inserted, 50)
        self.assertEqual(counts.inserted + counts.updated + counts.duplicate, most)


class Ended(Loads):
    def end_what_waits(self):
        query = """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND datname = current_database()"""
        with psycopg.connect(server(), autocommit=True) as connection:
            while not connection.execute(query).fetchall():
                time.sleep(0.05)

    def test_a_session_while_it_sends(self):
        self.make()
        with pgsluice.Writer("loaded", server(), flush_seconds=None) as writer:
            writer.write([(1,)])
            with self.connection.transaction():
                self.connection.execute("LOCK TABLE loaded")
                ending = threading.Thread(target=self.end_what_waits)
                ending.start()
                with self.assertRaises(pgsluice.ConnectError) as caught:
                    writer.flush()
                ending.join()
            self.assertEqual(caught.exception.sqlstate, "57P01")
            self.assertIn("Send the rows again", caught.exception.hint)
            self.assertEqual(writer.flush().rows, 1)
        self.assertEqual(self.count(), 1)


class Stopped(OwnServer):
    limit = PATIENCE
    settings = ()

    def test_a_writer_that_waits(self):
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("CREATE TABLE loaded (id bigint) PARTITION BY HASH (id)")
            for leaf in range(3):
                connection.execute(
                    f"CREATE TABLE loaded_{leaf} PARTITION OF loaded"
                    f" FOR VALUES WITH (MODULUS 3, REMAINDER {leaf})"
                )
        over = threading.Event()

        def disturb():
            for _ in range(times(3, 20)):
                time.sleep(0.4)
                self.server("stop")
                time.sleep(0.2)
                self.server("start")
            over.set()

        thread = threading.Thread(target=disturb)
        thread.start()
        draw, at = random.Random(8), 0
        with pgsluice.Writer("loaded", self.url, wait="120s", flush_rows=40) as writer:
            while not over.is_set() or at <= 1000:
                rows = draw.choice((1, 1, 5, 40, 1200))
                writer.write(pa.table({"id": range(at, at + rows)}))
                at += rows
        thread.join()
        with psycopg.connect(self.url) as connection:
            counted = "SELECT count(*), count(DISTINCT id) FROM loaded"
            self.assertEqual(connection.execute(counted).fetchone(), (at, at))

    def test_one_that_does_not(self):
        """After a lost connection, the next rows have another one, and so has the end."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("CREATE TABLE loaded (id bigint)")
        with pgsluice.Writer("loaded", self.url, flush_seconds=None, load_id="one") as writer:
            writer.write([(1,)])
            writer.flush()
            self.server("stop")
            writer.write([(2,)])
            with self.assertRaises(pgsluice.ConnectError):
                writer.flush()
            self.assertEqual(writer.rows_waiting, 1)
            self.server("start")
            self.assertEqual(writer.flush().rows, 1)
            self.server("stop")
            self.server("start")
        details = pgsluice.ledger_show("one", self.url)
        self.assertEqual((details.state, details.rows), ("finished", 2))
        self.assertIsNone(details.position)
        with psycopg.connect(self.url) as connection:
            rows = connection.execute("SELECT id FROM loaded ORDER BY id").fetchall()
            self.assertEqual(rows, [(1,), (2,)])


if __name__ == "__main__":
    unittest.main()
