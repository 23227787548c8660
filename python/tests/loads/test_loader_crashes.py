"""Loaders with durability="flush" whose server crashes: no row is lost without an error."""

import random
import subprocess
import sys
import textwrap
import threading
import time
import unittest
from collections.abc import Callable
from typing import Any

import pgsluice

from .own_server import OwnServer
from .place import LIMIT
from .test_loader_kills import VIOLENCE, times

# Keywords of a loader; whether it has positions.
PLAIN = ({}, False)
NAMED = ({"load_id": "named"}, False)
WAITING = ({"wait": "20s"}, False)
PLACED = ({"load_id": "placed"}, True)
BOTH = ({"load_id": "both", "wait": "20s"}, True)
ROWS = 10


class Producer:
    """A loader that has written rows that are not durable."""

    def __init__(self, test: OwnServer, options: dict[str, Any], has_positions: bool):
        test.make()
        if "load_id" in options:
            options = {**options, "load_id": f"{options['load_id']}-{time.time()}"}
        self.test, self.has_positions = test, has_positions
        self.loader = pgsluice.Loader(
            "loaded",
            test.url,
            durability="flush",
            flush_rows=ROWS,
            flush_seconds=None,
            **options,
        )
        self.at = 0
        self.write()
        self.loader.flush()
        self.durable = self.at
        for _ in range(5):
            self.write()

    def write(self) -> None:
        numbers = [(number,) for number in range(self.at, self.at + ROWS)]
        position = {"position": self.at + ROWS} if self.has_positions else {}
        assert self.loader.write(numbers, **position).rows == ROWS
        self.at += ROWS

    def call(self, name: str) -> None:
        self.write() if name == "write" else getattr(self.loader, name)()

    def check_end(self) -> None:
        """Go on from the position, close, and find each row once."""
        self.at = self.loader.position or 0
        for _ in range(3):
            self.write()
        self.loader.close()
        counted = "SELECT count(*), count(DISTINCT id), max(id) FROM loaded"
        self.test.assertEqual(self.test.ask(counted), (self.at, self.at, self.at - 1))


class Crashed(OwnServer):
    limit = 3 * LIMIT

    def lose(
        self, crash: Callable[[], None], of_loader: tuple[dict[str, Any], bool], call: str
    ) -> None:
        """Crash the server behind rows that are not durable: the next call says how many."""
        with self.subTest(crash.__name__, options=of_loader, call=call):
            producer = Producer(self, *of_loader)
            loader = producer.loader
            crash()
            (rows,) = self.ask("SELECT count(*) FROM loaded")
            self.assertLess(rows, producer.at)
            self.assertGreaterEqual(rows, producer.durable)
            with self.assertRaises(pgsluice.ConnectError) as caught:
                producer.call(call)
            in_doubt = producer.at - (rows if loader.load_id else producer.durable)
            self.assertEqual(caught.exception.rows_in_doubt, in_doubt)
            if producer.has_positions:
                self.assertEqual((loader.position, loader.rows_waiting), (rows, 0))
                producer.check_end()
                return
            # Rows that were not lost wait still; nothing else is in doubt.
            self.assertEqual(loader.rows_waiting, ROWS if call == "write" else 0)
            loader.close()
            waiting = ROWS if call == "write" else 0
            self.assertEqual(self.ask("SELECT count(*) FROM loaded"), (rows + waiting,))

    def test_a_server_that_is_stopped_at_once(self):
        for of_loader in (PLAIN, NAMED, WAITING, PLACED, BOTH):
            for call in ("write", "flush", "close"):
                self.lose(self.crash, of_loader, call)

    def test_a_process_that_is_killed(self):
        """The postmaster's start time does not change then."""
        for of_loader in (PLAIN, PLACED):
            for call in ("write", "flush"):
                self.lose(self.kill_process, of_loader, call)

    def test_a_write_that_is_sent_again(self):
        """A crash in the middle of a write that waits for the server to come back."""
        producer = Producer(self, *BOTH)
        other = self.connect()
        other.execute("BEGIN; LOCK TABLE loaded")
        thread = threading.Thread(target=self.crash_behind_a_lock)
        thread.start()
        with self.assertRaises(pgsluice.ConnectError) as caught:
            producer.write()
        thread.join()
        other.close()
        (rows,) = self.ask("SELECT count(*) FROM loaded")
        self.assertEqual(caught.exception.rows_in_doubt, producer.at - rows)
        self.assertGreater(producer.at, rows)
        self.assertEqual(producer.loader.position, rows)
        producer.check_end()

    def crash_behind_a_lock(self) -> None:
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while self.ask(waits) == (0,):
            time.sleep(0.05)
        self.crash()

    def test_the_end_of_with(self):
        loader = Producer(self, *PLACED).loader
        with self.assertRaises(pgsluice.ConnectError) as caught, loader:
            self.crash()
        self.assertGreater(caught.exception.rows_in_doubt, 0)
        self.assertEqual((loader.position,), self.ask("SELECT count(*) FROM loaded"))
        # Another error is not replaced, but has it as a note.
        with self.assertRaises(KeyError) as other, Producer(self, *PLAIN).loader:
            self.crash()
            raise KeyError
        self.assertIn("may have lost", other.exception.__notes__[0])


class Kept(OwnServer):
    def end_session(self) -> None:
        with self.connect() as connection:
            connection.execute("""
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'""")

    def test_a_session_that_ends_alone(self):
        """The server proves that it has all rows: the next call succeeds, and all are durable."""
        for of_loader in (PLAIN, NAMED, WAITING, PLACED):
            for call in ("write", "flush", "close"):
                with self.subTest(options=of_loader, call=call):
                    producer = Producer(self, *of_loader)
                    self.end_session()
                    producer.call(call)
                    if call != "close":
                        producer.call("close")
                    self.crash()
                    counted = "SELECT count(*), count(DISTINCT id) FROM loaded"
                    self.assertEqual(self.ask(counted), (producer.at, producer.at))

    def test_a_restart_in_order(self):
        for of_loader in (NAMED, PLACED):
            producer = Producer(self, *of_loader)
            self.restart()
            producer.write()
            producer.loader.close()
            self.assertEqual(self.ask("SELECT count(*) FROM loaded"), (producer.at,))
        # Without a ledger nothing tells it from a crash.
        producer = Producer(self, *PLAIN)
        self.restart()
        with self.assertRaises(pgsluice.ConnectError) as caught:
            producer.loader.flush()
        self.assertEqual(caught.exception.rows_in_doubt, producer.at - producer.durable)
        self.assertIn("load_id", caught.exception.hint)

    def test_what_was_flushed_is_on_disk(self):
        flushed = "SELECT pg_current_wal_flush_lsn() >= %s::pg_lsn"
        for of_loader in (PLAIN, NAMED):
            for call in ("flush", "close"):
                with self.subTest(options=of_loader, call=call):
                    producer = Producer(self, *of_loader)
                    with self.connect() as connection:
                        query = "SELECT pg_current_wal_insert_lsn()"
                        (written,) = connection.execute(query).fetchone()
                        is_flushed = connection.execute(flushed, [written]).fetchone()
                        self.assertEqual(is_flushed, (False,))
                        producer.call(call)
                        is_flushed = connection.execute(flushed, [written]).fetchone()
                        self.assertEqual(is_flushed, (True,))
                    self.crash()
                    self.assertEqual(self.ask("SELECT count(*) FROM loaded"), (producer.at,))

    def test_commits_wait_for_the_disk(self):
        self.make()
        with pgsluice.Loader("loaded", self.url, flush_seconds=None) as loader:
            loader.write([(number,) for number in range(ROWS)])
            # Its flush is no other one than that of the commit.
            loader._send_if(lambda: True)
            self.crash()
            self.assertEqual(self.ask("SELECT count(*) FROM loaded"), (ROWS,))


PRODUCER = """
    import random, sys
    import pgsluice
    url, durability, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
    draw = random.Random()
    loader = pgsluice.Loader(
        "loaded", url, load_id="rounds", flush_rows=60, flush_seconds=0.05,
        durability=durability, wait=draw.choice((None, "20s")),
    )
    print(loader.position, flush=True)
    at, lost = loader.position or 0, 0
    while True:
        try:
            while at < most:
                rows = min(draw.choice((1, 1, 5, 40, 200)), most - at)
                loader.write([(number,) for number in range(at, at + rows)], position=at + rows)
                at += rows
                if draw.random() < 0.02:
                    loader.flush()
            loader.close()
            break
        except pgsluice.LoadError as error:
            if error.rows_in_doubt and "lost" in error.message:
                lost += error.rows_in_doubt
                print("lost", error.rows_in_doubt, flush=True)
            loader.discard()
            at = loader.position or 0
    print("done", flush=True)
"""


class Rounds(OwnServer):
    """A producer with positions that is killed, and its server crashed, again and again.

    PGSLUICE_VIOLENCE=full has 413 rounds.
    """

    limit = (100 if VIOLENCE else 2) * LIMIT

    def test_each_row_is_in_once(self):
        self.make()
        draw, rounds, lost = random.Random(13), times(6, 413), 0
        command = [sys.executable, "-c", textwrap.dedent(PRODUCER), self.url]
        for number in range(rounds):
            durability = ("commit", "flush")[number % 2]
            producer = subprocess.Popen(
                [*command, durability, str(10**9)], stdout=subprocess.PIPE, text=True
            )
            producer.stdout.readline()
            for _ in range(draw.choice((0, 1, 1, 2))):
                time.sleep(draw.uniform(0, 0.4))
                draw.choice((self.crash, self.crash, self.kill_process))()
            time.sleep(draw.uniform(0, 0.4))
            producer.kill()
            said, _ = producer.communicate()
            lost += said.count("lost")
            if VIOLENCE and number % 50 == 49:
                print(number + 1, "rounds,", lost, "errors about lost rows", flush=True)
        (position,) = self.ask("SELECT position FROM pgsluice.load WHERE id = 'rounds'")
        most = int(position or 0) + 500
        done = subprocess.run(
            [*command, "flush", str(most)], capture_output=True, text=True, check=True
        )
        self.assertIn("done", done.stdout)
        self.crash()
        counted = "SELECT count(*), count(DISTINCT id), min(id), max(id) FROM loaded"
        self.assertEqual(self.ask(counted), (most, most, 0, most - 1))
        if VIOLENCE:
            print(f"{rounds} rounds, {most} rows, {lost} errors about lost rows: no gap, no double")


if __name__ == "__main__":
    unittest.main()
