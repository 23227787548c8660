"""Loads that are stopped: by a signal, a cancelled task, a callback that raises, or the exit."""

import asyncio
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
import unittest
from pathlib import Path
from unittest.mock import patch

import pgsluice
import pyarrow as pa
from formats.place import server
from pgsluice import running
from pgsluice.options import PlaceOptions, spec
from pgsluice.session import Session

from .place import Loads

TABLE = pa.table({"id": range(1000)})


def forever():
    """Yield batches without end, but slowly."""
    for _ in itertools.count():
        yield TABLE
        time.sleep(0.01)


def silent():
    """Yield a batch, and then nothing for a long time."""
    yield TABLE
    time.sleep(5)


class Stuck:
    """A file with one row, and then nothing for a long time."""

    def __init__(self):
        self.pieces = iter([b"1\n"])

    def read(self, _):
        for piece in self.pieces:
            return piece
        time.sleep(5)
        return b""


class Stopped(Loads):
    def setUp(self):
        super().setUp()
        self.make()

    def later(self, seconds: float, act, *args) -> None:
        timer = threading.Timer(seconds, act, args)
        timer.start()
        self.addCleanup(timer.join)

    def test_keyboard_interrupt(self):
        # Background jobs of a shell ignore the signal.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        for data in (forever(), silent(), Stuck()):
            began = time.monotonic()
            self.later(0.5, os.kill, os.getpid(), signal.SIGINT)
            with self.assertRaises(KeyboardInterrupt) as caught:
                self.put(data)
            # The error states the stored rows.
            self.assertIn(" of this load ", "".join(caught.exception.__notes__))
            self.assertLess(time.monotonic() - began, 4)
            # Nothing of it continues.
            count = self.count()
            time.sleep(0.3)
            self.assertEqual(self.count(), count)

    def test_interrupted_again(self):
        """The wait for the end of the load also ends, and only the first interrupt is visible."""

        class Slow:
            def wait(self, _):
                raise KeyboardInterrupt

            def stop(self):
                pass

            def events(self):
                return []

        with self.assertRaises(KeyboardInterrupt) as caught:
            running.wait(Slow())
        self.assertIsNone(caught.exception.__context__)

    def test_an_outcome_stays(self):
        """A signal may end the wait that has received the outcome."""
        session = Session()
        given = spec("Writer", PlaceOptions, {}, server(), "loaded")
        doing = session.writer.open(json.dumps(given), False)
        while (outcome := doing.wait(1)) is None:
            pass
        self.assertEqual(doing.wait(0), outcome)
        session.wait(session.writer.close)

    def test_cancelled(self):
        async def cancel(data):
            task = asyncio.create_task(pgsluice.aload(data, "loaded", server()))
            await asyncio.sleep(0.5)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            return self.count()

        for data in (forever(), silent(), Stuck()):
            began = time.monotonic()
            count = asyncio.run(cancel(data))
            self.assertLess(time.monotonic() - began, 4)
            time.sleep(0.3)
            self.assertEqual(self.count(), count)

    def test_cancelled_says_the_load_id(self):
        async def cancel():
            task = asyncio.create_task(pgsluice.aload(forever(), "loaded", server()))
            while not self.count():
                await asyncio.sleep(0.1)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError) as caught:
                await task
            return caught.exception.__notes__

        (note,) = asyncio.run(cancel())
        count = self.count()
        whole = iter([TABLE] * (count // len(TABLE) + 1))
        done = self.put(whole, load_id=re.search(r'load_id="(\w+)"', note)[1])
        self.assertEqual(done.rows_already_loaded, count)
        self.assertEqual(self.count(), count + len(TABLE))

    def test_cancelled_again(self):
        async def cancel():
            task = asyncio.create_task(pgsluice.aload(silent(), "loaded", server()))
            await asyncio.sleep(0.5)
            for _ in range(2):
                task.cancel()
                await asyncio.sleep(0)
            with self.assertRaises(asyncio.CancelledError) as caught:
                await task
            return traceback.format_exception(caught.exception)

        self.assertNotIn("another exception", "".join(asyncio.run(cancel())))

    def test_other_tasks_go_on(self):
        async def both():
            ticks = 0

            async def tick():
                nonlocal ticks
                while True:
                    ticks += 1
                    await asyncio.sleep(0.01)

            ticking = asyncio.create_task(tick())
            data = itertools.islice(forever(), 30)
            done = await pgsluice.aload(data, "loaded", server())
            ticking.cancel()
            return done, ticks

        done, ticks = asyncio.run(both())
        self.assertEqual(done.rows_inserted, 30_000)
        self.assertGreater(ticks, 10)

    def test_aload_fails_as_load_does(self):
        async def fail():
            await pgsluice.aload(iter([5]), "loaded", server())

        with self.assertRaises(pgsluice.InputError) as caught:
            asyncio.run(fail())
        self.assertIsInstance(caught.exception.__cause__, TypeError)

    def test_a_callback(self):
        seen = []
        self.put(itertools.islice(forever(), 40), progress=seen.append)
        self.assertGreater(len(seen), 1)
        self.assertIsInstance(seen[0], pgsluice.Progress)
        self.assertLessEqual(seen[0].rows_read, seen[-1].rows_read)

    def test_progress_without_a_terminal_says_little(self):
        with patch("sys.stderr", io.StringIO()) as printed:
            self.put(TABLE, progress=True)
        self.assertEqual(printed.getvalue(), "")

    def test_a_callback_that_raises(self):
        def fail(_):
            raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            self.put(forever(), progress=fail)

        async def call():
            await pgsluice.aload(forever(), "loaded", server(), progress=fail)

        with self.assertRaisesRegex(LookupError, "enough"):
            asyncio.run(call())

    def test_in_threads(self):
        """Several loads at once, and a generator that works in Python at the same time."""
        self.connection.execute("CREATE TABLE IF NOT EXISTS counted (id bigint)")
        outcomes = []

        def one():
            outcomes.append(self.put(itertools.islice(forever(), 10)).rows_inserted)

        threads = [threading.Thread(target=one) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(outcomes, [10_000] * 4)
        self.assertEqual(self.count(), 40_000)

    def test_the_interpreter_ends(self):
        """Loads in unfinished threads are stopped, whatever their data does."""
        for data in ("forever()", "silent()", "many()"):
            done = run_alone(
                f"""
                many = lambda: pa.table({{"id": range(5_000_000)}})
                go = lambda: pgsluice.load({data}, "loaded", {server()!r})
                for _ in range(3):
                    threading.Thread(target=go, daemon=True).start()
                time.sleep(0.7)
                """
            )
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_fork_after_the_import(self):
        done = run_alone(
            f"""
            import os
            pgsluice.load(TABLE, "loaded", {server()!r})
            child = os.fork()
            done = pgsluice.load(TABLE, "loaded", {server()!r})
            assert done.rows_inserted == 1000
            if child:
                assert os.waitpid(child, 0)[1] == 0
            """
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.count(), 3000)


def run_alone(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program that uses the names of this file."""
    opening = "import sys, threading, time; import pgsluice, pyarrow as pa\n" + (
        f"sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from loads.test_stopped import TABLE, forever, silent\n"
    )
    command = [sys.executable, "-c", opening + textwrap.dedent(program)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


if __name__ == "__main__":
    unittest.main()
