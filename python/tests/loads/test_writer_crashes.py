"""Writers with durability="flush" whose server crashes: no row is lost without an error."""

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
from .test_writer_kills import VIOLENCE, times

# Keywords of a writer, and whether it has positions.
PLAIN = ({}, False)
NAMED = ({"load_id": "named"}, False)
WAITING = ({"wait": "20s"}, False)
PLACED = ({"load_id": "placed"}, True)
BOTH = ({"load_id": "both", "wait": "20s"}, True)
ROWS = 10


class Producer:
    """A writer with rows that are written but not durable."""

    def __init__(self, test: OwnServer, options: dict[str, Any], has_positions: bool):
        test.make()
        if "load_id" in options:
            options = {**options, "load_id": f"{options['load_id']}-{time.time()}"}
        self.test, self.has_positions = test, has_positions
        self.writer = pgsluice.Writer(
            "loaded",
            test.url,
            durability="flush",
            flush_rows=ROWS,
            flush_seconds=None,
            **options,
        )
        self.at = 0
        self.write()
        self.writer.flush()
        self.durable = self.at
        for _ in range(5):
            self.write()

    def write(self) -> None:
        numbers = [(number,) for number in range(self.at, self.at + ROWS)]
        position = {"position": self.at + ROWS} if self.has_positions else {}
        assert self.writer.write(numbers, **position).rows == ROWS
        self.at += ROWS

    def call(self, name: str) -> None:
        self.write() if name == "write" else getattr(self.writer, name)()

    def check_end(self) -> None:
        """Resume from the position, close, and find each row once."""
        self.at = self.writer.position or 0
        for _ in range(3):
            self.write()
        self.writer.close()
        counted = "SELECT count(*), count(DISTINCT id), max(id) FROM loaded"
        self.test.assertEqual(self.test.ask(counted), (self.at, self.at, self.at - 1))


class Crashed(OwnServer):
    limit = 3 * LIMIT

    def lose(
        self, crash: Callable[[], None], of_writer: tuple[dict[str, Any], bool], call: str
    ) -> None:
        """Crash the server after rows that are not durable: the next call reports their number."""
        with self.subTest(crash.__name__, options=of_writer, call=call):
            # A slow machine gives the server time to make all rows durable.
            for _ in range(5):
                producer = Producer(self, *of_writer)
                crash()
                (rows,) = self.ask("SELECT count(*) FROM loaded")
                if rows < producer.at:
                    break
            writer = producer.writer
            self.assertLess(rows, producer.at)
            self.assertGreaterEqual(rows, producer.durable)
            with self.assertRaises(pgsluice.ConnectError) as caught:
                producer.call(call)
            in_doubt = producer.at - (rows if writer.load_id else producer.durable)
            self.assertEqual(caught.exception.rows_in_doubt, in_doubt)
            if producer.has_positions:
                self.assertEqual((writer.position, writer.rows_waiting), (rows, 0))
                producer.check_end()
                return
            # Rows that were not lost still wait; nothing else is in doubt.
            self.assertEqual(writer.rows_waiting, ROWS if call == "write" else 0)
            writer.close()
            waiting = ROWS if call == "write" else 0
            self.assertEqual(self.ask("SELECT count(*) FROM loaded"), (rows + waiting,))

    def test_a_server_that_is_stopped_at_once(self):
        for of_writer in (PLAIN, NAMED, WAITING, PLACED, BOTH):
            for call in ("write", "flush", "close"):
                self.lose(self.crash, of_writer, call)

    def test_a_process_that_is_killed(self):
        """The postmaster's start time does not change in this case."""
        for of_writer in (PLAIN, PLACED):
            for call in ("write", "flush"):
                self.lose(self.kill_process, of_writer, call)

    def test_a_write_that_is_sent_again(self):
        """A crash during a write that waits for the server to come back."""
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
        self.assertEqual(producer.writer.position, rows)
        producer.check_end()

    def crash_behind_a_lock(self) -> None:
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while self.ask(waits) == (0,):
            time.sleep(0.05)
        self.crash()

    def test_the_end_of_with(self):
        writer = Producer(self, *PLACED).writer
        with self.assertRaises(pgsluice.ConnectError) as caught, writer:
            self.crash()
        self.assertGreater(caught.exception.rows_in_doubt, 0)
        self.assertEqual((writer.position,), self.ask("SELECT count(*) FROM loaded"))
        # Another error is not replaced, but gets a note.
        with self.assertRaises(KeyError) as other, Producer(self, *PLAIN).writer:
            self.crash()
            raise KeyError
        self.assertIn("may have lost", other.exception.__notes__[0])


class Kept(OwnServer):
    def end_session(self) -> None:
        """End the writer's session, and wait until it is gone: until then it accepts statements."""
        others = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
        end = f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {others}"
        while self.ask(end) != (0,):
            time.sleep(0.01)

    def test_a_session_that_ends_alone(self):
        """The server proves that it has all rows: the next call succeeds, and all are durable."""
        for of_writer in (PLAIN, NAMED, WAITING, PLACED):
            for call in ("write", "flush", "close"):
                with self.subTest(options=of_writer, call=call):
                    producer = Producer(self, *of_writer)
                    self.end_session()
                    producer.call(call)
                    if call != "close":
                        producer.call("close")
                    self.crash()
                    counted = "SELECT count(*), count(DISTINCT id) FROM loaded"
                    self.assertEqual(self.ask(counted), (producer.at, producer.at))

    def test_a_restart_in_order(self):
        for of_writer in (NAMED, PLACED):
            producer = Producer(self, *of_writer)
            self.restart()
            producer.write()
            producer.writer.close()
            self.assertEqual(self.ask("SELECT count(*) FROM loaded"), (producer.at,))
        # Without a ledger, this looks like a crash.
        producer = Producer(self, *PLAIN)
        self.restart()
        with self.assertRaises(pgsluice.ConnectError) as caught:
            producer.writer.flush()
        self.assertEqual(caught.exception.rows_in_doubt, producer.at - producer.durable)
        self.assertIn("load_id", caught.exception.hint)

    def test_flushed_rows_are_on_disk(self):
        flushed = "SELECT pg_current_wal_flush_lsn() >= %s::pg_lsn"
        for of_writer in (PLAIN, NAMED):
            for call in ("flush", "close"):
                with self.subTest(options=of_writer, call=call):
                    producer = Producer(self, *of_writer)
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
        with pgsluice.Writer("loaded", self.url, flush_seconds=None) as writer:
            writer.write([(number,) for number in range(ROWS)])
            # Its flush is the one of the commit.
            writer._send_if(lambda: True)
            self.crash()
            self.assertEqual(self.ask("SELECT count(*) FROM loaded"), (ROWS,))


PRODUCER = """
    import random, sys
    import pgsluice
    url, number, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    draw = random.Random()
    writer = pgsluice.Writer(
        "loaded", url, load_id=f"producer {number}", flush_rows=60, flush_seconds=0.05,
        durability=("commit", "flush")[number % 2], wait=draw.choice((None, "20s")),
    )
    print(writer.position, flush=True)
    at = writer.position or 0
    while True:
        try:
            while at < most:
                rows = range(at, min(at + draw.choice((1, 1, 5, 40, 1200)), most))
                writer.write([(row * 4 + number,) for row in rows], position=rows.stop)
                at = rows.stop
                if draw.random() < 0.02:
                    writer.flush()
            writer.close()
            break
        except pgsluice.Error as error:
            print(error.message, flush=True)
            writer.discard()
            at = writer.position or 0
    print("done", flush=True)
"""


class Rounds(OwnServer):
    """Producers with positions that are killed, and their server crashed, again and again.

    Two of them have `durability="flush"`. A round is one life of a producer: PGSLUICE_VIOLENCE=full
    runs 416 rounds.
    """

    limit = (100 if VIOLENCE else 2) * LIMIT

    def run_producer(self, number: int, most: int) -> subprocess.Popen:
        command = [sys.executable, "-c", textwrap.dedent(PRODUCER), self.url, str(number)]
        return subprocess.Popen([*command, str(most)], stdout=subprocess.PIPE, text=True)

    def positions(self) -> list[int]:
        """Check that each producer's rows are those before its position, each once."""
        with self.connect() as connection:
            found = connection.execute("""
                SELECT right(l.id, 1)::int, coalesce(position::int, 0), count(t.id),
                       count(DISTINCT t.id), coalesce(max(t.id) / 4 + 1, 0)
                FROM pgsluice.load l LEFT JOIN loaded t ON t.id % 4 = right(l.id, 1)::int
                GROUP BY l.id, position ORDER BY 1""").fetchall()
        for number, *counts in found:
            self.assertEqual(counts, counts[:1] * 4, f"producer {number}")
        return [position for _, position, *_ in found]

    def test_each_row_is_in_once(self):
        self.make()
        draw, cycles, printed = random.Random(13), times(2, 104), ""
        for cycle in range(cycles):
            producers = [self.run_producer(number, 10**9) for number in range(4)]
            for producer in producers:
                producer.stdout.readline()
            for _ in range(draw.choice((1, 1, 2))):
                time.sleep(draw.uniform(0, 0.4))
                draw.choice((self.crash, self.crash, self.kill_process))()
            for producer in producers:
                time.sleep(draw.uniform(0, 0.2))
                producer.kill()
                printed += producer.communicate()[0]
            positions = self.positions()
            if VIOLENCE and cycle % 10 == 9:
                lost = printed.count("the server lost")
                print(4 * cycle + 4, "rounds,", sum(positions), "rows,", lost, "losses", flush=True)
        most = [position + 500 for position in positions]
        producers = [self.run_producer(*of_producer) for of_producer in enumerate(most)]
        self.assertTrue(all("done" in producer.communicate()[0] for producer in producers))
        self.crash()
        self.assertEqual(self.positions(), most)


if __name__ == "__main__":
    unittest.main()
