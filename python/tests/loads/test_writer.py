"""Rows that are written a few at a time equal the rows of COPY, however they are sent."""

import asyncio
import gc
import os
import signal
import threading
import time
import unittest
from pathlib import Path

import pandas as pd
import pgsluice
import polars as pl
import pyarrow as pa
from formats.place import server

from .place import Loads
from .test_copying import COLUMNS, as_text, table
from .test_stopped import run_alone

# Columns whose types can be unnested from arrays: all but arrays and composites.
SCALARS = {name: of for name, of in COLUMNS.items() if of not in ("int[]", "pair")}


def scalars(rows: int, start: int = 0) -> pa.Table:
    return table(rows, start).select(["id", *SCALARS])


class Written(Loads):
    def setUp(self):
        super().setUp()
        self.make(**SCALARS, positive="positive")
        self.connection.execute("DROP SCHEMA IF EXISTS pgsluice CASCADE")

    def open(self, **options) -> pgsluice.Writer:
        writer = pgsluice.Writer("loaded", server(), **options)
        self.addCleanup(writer.__exit__, ValueError, None, None)
        return writer

    def test_each_way_stores_what_copy_does(self):
        rows, start = scalars(9000), 0
        with self.open(flush_seconds=None) as writer:
            for size in (1, 3, 1000, 1001, 2, 3000):
                writer.write(rows.slice(start, size))
                receipt = writer.flush()
                self.assertEqual((receipt.rows, receipt.rows_inserted), (size, size))
                self.assertEqual(receipt.method, "arrays" if size <= 1000 else "copy")
                start += size
        query = "COPY copied (id, n, t, at, u, day, mood) FROM STDIN"
        with self.connection.cursor().copy(query) as copy:
            for row in rows.slice(0, start).to_pylist():
                row["p"] = None
                copy.write_row(as_text(row)[:-1])
        self.assert_same()

    def test_many_bytes_go_by_copy(self):
        with self.open(flush_bytes=None, flush_seconds=None) as writer:
            for length, way in ((900_000, "arrays"), (1_200_000, "copy")):
                self.empty("loaded")
                writer.write([{"id": number, "t": "x" * length} for number in range(2)])
                self.assertEqual(writer.flush().method, way)
                query = "SELECT count(*) FROM loaded WHERE length(t) = %s"
                self.assertEqual(self.connection.execute(query, [length]).fetchone(), (2,))

    def test_arrays_and_composites(self):
        self.make(**COLUMNS)
        with self.open() as writer:
            for start in range(0, 60, 20):
                writer.write(table(20, start))
                self.assertEqual(writer.flush().method, "copy")
        self.copy(as_text(row) for row in table(60).to_pylist())
        self.assert_same()

    def test_identities_and_defaults(self):
        self.connection.execute("""
            DROP TABLE IF EXISTS loaded;
            CREATE TABLE loaded (id bigint GENERATED ALWAYS AS IDENTITY, a int,
                b int DEFAULT 7, c int GENERATED ALWAYS AS (a + 1) STORED)""")
        with self.open() as writer:
            for size in (1, 3, 2000):
                writer.write(pa.table({"id": range(size), "a": [size] * size}))
                writer.flush()
        counted = self.connection.execute("SELECT count(*), sum(b), sum(c) FROM loaded").fetchone()
        self.assertEqual(counted, (2004, 7 * 2004, 2 + 3 * 4 + 2000 * 2001))
        self.empty("loaded")
        with self.open() as writer:
            writer.write([{"id": 10, "a": 1}, {"a": 2, "id": 11}])
        rows = self.connection.execute("SELECT id, b FROM loaded ORDER BY id")
        self.assertEqual(rows.fetchall(), [(10, 7), (11, 7)])

    def test_kinds_of_batches(self):
        for batches in (
            [pl.DataFrame({"id": [1], "t": ["x"]}), pl.DataFrame({"id": [2], "t": [None]})],
            [pd.DataFrame({"id": [1], "t": ["x"]}), pd.DataFrame({"id": [2], "t": [None]})],
            [[{"id": 1, "t": "x"}], [{"t": None, "id": 2}]],
            [[(1, None, "x")], [[2, None, None]]],
        ):
            self.empty("loaded")
            # The columns of tuples are the named ones.
            is_named = not isinstance(batches[0], list) or isinstance(batches[0][0], dict)
            with self.open(**({} if is_named else {"columns": ["id", "n", "t"]})) as writer:
                for batch in batches:
                    writer.write(batch)
            rows = self.connection.execute("SELECT id, t FROM loaded ORDER BY id").fetchall()
            self.assertEqual(rows, [(1, "x"), (2, None)])

    def test_a_frame_that_is_changed_afterwards(self):
        frame = pd.DataFrame({"id": [1, 2]})
        with self.open() as writer:
            writer.write(frame)
            frame.loc[:, "id"] = 9
        rows = self.connection.execute("SELECT id FROM loaded ORDER BY id").fetchall()
        self.assertEqual(rows, [(1,), (2,)])

    def test_limits(self):
        with self.open(flush_rows=100, flush_seconds=None) as writer:
            self.assertIsNone(writer.write(scalars(99)))
            self.assertEqual((writer.rows_waiting, self.count()), (99, 0))
            self.assertEqual(writer.write(scalars(1, 99)).rows, 100)
            self.assertEqual((writer.rows_waiting, self.count()), (0, 100))
        with self.open(flush_bytes=1000, flush_seconds=None) as writer:
            self.assertIsNotNone(writer.write(scalars(100)))
        with self.open(flush_seconds=0.1) as writer:
            writer.write(scalars(5, 1000))
            deadline = time.monotonic() + 10
            while writer.rows_waiting and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertEqual((writer.rows_waiting, self.count()), (0, 205))

    def test_a_refused_row_is_named_and_the_rows_stay(self):
        with self.open(flush_seconds=None) as writer:
            for size in (3, 2000):
                writer.write(
                    pa.table({"id": range(size), "positive": pa.array([1] * size, "int32")})
                )
                writer.flush()
                bad = pa.array([1] * (size - 1) + [-1], pa.int32())
                writer.write(pa.table({"id": range(size), "positive": bad}))
                with self.assertRaises(pgsluice.DataError) as caught:
                    writer.flush()
                self.assertEqual(
                    (caught.exception.sqlstate, caught.exception.row), ("23514", size - 1)
                )
                self.assertEqual(writer.rows_waiting, size)
                with self.assertRaises(pgsluice.DataError):
                    writer.flush()
                self.assertEqual(writer.discard(), size)
                self.assertEqual(writer.flush().rows, 0)
        self.assertEqual(self.count(), 2003)

    def test_rows_stay_until_they_can_go(self):
        self.connection.execute("ALTER TABLE loaded DETACH PARTITION loaded_1")
        with self.open(flush_seconds=None) as writer:
            writer.write(scalars(100))
            with self.assertRaises(pgsluice.DataError) as caught:
                writer.flush()
            self.assertEqual((caught.exception.sqlstate, self.count()), ("23514", 0))
            self.connection.execute(
                "ALTER TABLE loaded ATTACH PARTITION loaded_1"
                " FOR VALUES WITH (MODULUS 3, REMAINDER 1)"
            )
            writer.write(scalars(1, 100))
            self.assertEqual(writer.flush().rows, 101)
        self.assertEqual(self.count(), 101)

    def test_a_table_that_is_altered(self):
        """Bytes of the old type would be read as values of another."""
        self.connection.execute("DROP TABLE loaded; CREATE TABLE loaded (id bigint, a int4)")
        for size in (1, 30, 2000):
            with self.open(flush_seconds=None) as writer:
                for ty in ("int4", "float4", "text", "int4"):
                    using = f"USING round(a::numeric)::{ty}"
                    self.connection.execute(f"ALTER TABLE loaded ALTER a TYPE {ty} {using}")
                    for _ in range(4):
                        writer.write(
                            pa.table({"id": range(size), "a": pa.array([5] * size, "int32")})
                        )
                        writer.flush()
            counted = self.connection.execute(
                "SELECT count(*), min(a), max(a) FROM loaded"
            ).fetchone()
            self.assertEqual(counted, (16 * size, 5, 5))
            self.empty("loaded")

    def test_rows_that_a_trigger_drops(self):
        self.connection.execute("""
            CREATE OR REPLACE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN RETURN CASE WHEN new.id % 2 = 1 THEN new END; END';
            CREATE TRIGGER odd BEFORE INSERT ON loaded FOR EACH ROW EXECUTE FUNCTION odd()""")
        with self.open(load_id="odd", flush_seconds=None) as writer:
            for size in (1, 10, 200):
                writer.write(pa.table({"id": range(size)}))
                receipt = writer.flush()
                self.assertEqual((receipt.rows, receipt.rows_inserted), (size, size // 2))
        kept = "SELECT rows_read, rows_inserted, rows_dropped FROM pgsluice.load WHERE id = 'odd'"
        self.assertEqual(self.connection.execute(kept).fetchone(), (211, 105, 106))

    def test_positions(self):
        with self.open(load_id="events") as writer:
            self.assertIsNone(writer.position)
            writer.write(scalars(2), position={"offset": 2})
            self.assertIsNone(writer.position)
            self.assertEqual(writer.flush().position, {"offset": 2})
            shown = pgsluice.ledger_show("events", server())
            self.assertEqual((shown.state, shown.position), ("running", {"offset": 2}))
            self.assertEqual((shown.rows, shown.counts.inserted), (2, 2))
            writer.write(scalars(1, 2))
            writer.write(scalars(0), position=[3, "x"])
        self.assertEqual(pgsluice.ledger_show("events", server()).position, [3, "x"])
        with self.open(load_id="events") as writer:
            self.assertEqual(writer.position, [3, "x"])
            writer.write([], position=4)
            self.assertEqual((writer.flush().rows, writer.position), (0, 4))
        with self.assertRaisesRegex(ValueError, "set load_id"):
            self.open().write(scalars(1), position=1)

    def test_the_last_one_of_a_name_works(self):
        first = self.open(load_id="events", flush_seconds=None)
        first.write(scalars(1), position=1)
        first.flush()
        second = self.open(load_id="events", flush_seconds=None)
        self.assertEqual(second.position, 1)
        for size in (1, 20, 500):
            first.write(scalars(size, 1), position=2)
            with self.assertRaises(pgsluice.ServerError) as caught:
                first.flush()
            self.assertEqual((caught.exception.sqlstate, self.count()), ("55006", 1))
        second.write(scalars(1, 1), position=2)
        second.close()
        self.assertEqual(self.count(), 2)

    def test_a_copy_that_cannot_begin(self):
        """Its connection is not used again, and the rows are sent once the table exists again."""
        with self.open(flush_rows=None, flush_seconds=None) as writer:
            for number in range(3):
                writer.write(scalars(20_000, number * 20_000))
                self.connection.execute("ALTER TABLE loaded RENAME TO away")
                with self.assertRaises(pgsluice.ServerError) as caught:
                    writer.flush()
                self.assertEqual(caught.exception.sqlstate, "42P01")
                self.connection.execute("ALTER TABLE away RENAME TO loaded")
                self.assertEqual(writer.flush().rows_inserted, 20_000)
        self.assertEqual(self.count(), 60_000)

    def test_names_of_others(self):
        pgsluice.load(scalars(1), "loaded", server(), load_id="a load")
        with self.assertRaisesRegex(pgsluice.ServerError, "load a load was not opened by a Writer"):
            self.open(load_id="a load")
        self.open(load_id="a writer").close()
        with self.assertRaisesRegex(pgsluice.ServerError, "belongs to table public.loaded"):
            pgsluice.Writer("copied", server(), load_id="a writer")
        with self.assertRaises(pgsluice.Error):
            pgsluice.load(scalars(1), "loaded", server(), load_id="a writer")

    def test_a_name_is_opened_again_as_before(self):
        """Otherwise rows after the position would be changed in another way than rows before it."""
        self.connection.execute("DROP TABLE loaded; CREATE TABLE loaded (id int PRIMARY KEY)")
        before = {"on_conflict": "update", "key": "id"}
        others = (
            {"on_conflict": "delete", "key": "id"},
            {"on_conflict": "update"},
            {"on_conflict": "update", "key": "id", "duplicates": "first"},
            {"on_conflict": "update", "key": "id", "no_insert": True},
            {},
        )
        for number, (first, then) in enumerate(
            [(before, other) for other in others] + [(other, before) for other in others]
        ):
            load_id = f"again {number}"
            with self.open(load_id=load_id, flush_seconds=None, **first) as writer:
                writer.write([(number,)], position=[number])
            with self.assertRaises(pgsluice.ServerError) as caught:
                self.open(load_id=load_id, **then)
            error = caught.exception
            self.assertEqual(error.sqlstate, "55000")
            self.assertIn(f"load {load_id} was opened with", error.message)
            self.assertIn(f"start after position [{number}]", error.hint)
            self.open(load_id=load_id, **first).close()
        with self.open(load_id="style") as writer:
            writer.write([(100,)])
        styled = f"{server()}?options=-c%20datestyle%3DSQL"
        with self.assertRaisesRegex(pgsluice.ServerError, "and is opened again with DateStyle"):
            pgsluice.Writer("loaded", styled, load_id="style")

    def test_invalid_arguments(self):
        with self.assertRaisesRegex(pgsluice.Error, '"nowhere" does not exist'):
            pgsluice.Writer("nowhere", server(), load_id="x")
        with self.assertRaises(pgsluice.ConnectError):
            pgsluice.Writer("loaded", "host=127.0.0.1 port=1")
        with self.assertRaisesRegex(ValueError, "durability must be"):
            self.open(durability="never")
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'atomic'"):
            self.open(atomic=True)
        writer = self.open()
        for batch in (5, "x", [1], iter([scalars(1)]), [(1,), {"id": 1}]):
            with self.assertRaises(TypeError):
                writer.write(batch)
        writer.write(scalars(1))
        with self.assertRaisesRegex(TypeError, "and cannot take lists of dicts"):
            writer.write([{"id": 1}])
        writer.flush()
        writer.write(pa.table({"id": [2], "other": [3]}))
        with self.assertRaises(pgsluice.Error):
            writer.flush()
        writer.discard()
        writer.close()
        writer.close()
        for call in (writer.flush, lambda: writer.write(scalars(1))):
            with self.assertRaisesRegex(ValueError, "the Writer is closed"):
                call()
        self.assertEqual(self.count(), 1)

    def test_a_program_that_fails(self):
        with self.assertRaises(ZeroDivisionError), self.open(flush_seconds=None) as writer:
            writer.write(scalars(10))
            writer.flush()
            writer.write(scalars(10, 10))
            raise ZeroDivisionError
        self.assertEqual(self.count(), 10)

    def test_durability_by_flush(self):
        with self.open(durability="flush", flush_rows=10) as writer:
            for start in range(0, 100, 10):
                writer.write(scalars(10, start))
            writer.flush()
        self.assertEqual(self.count(), 100)

    def test_several_threads(self):
        with self.open(flush_rows=50) as writer:

            def work(number: int) -> None:
                for batch in range(40):
                    writer.write(scalars(5, 1000 * number + 5 * batch))

            threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        counted = self.connection.execute(
            "SELECT count(*), count(DISTINCT id) FROM loaded"
        ).fetchone()
        self.assertEqual(counted, (1600, 1600))

    def test_asyncio(self):
        async def work():
            opened = pgsluice.AsyncWriter("loaded", server(), load_id="a", flush_rows=50)
            async with opened as writer:

                async def one(number):
                    for batch in range(20):
                        await writer.write(scalars(5, 1000 * number + 5 * batch))

                await asyncio.gather(*map(one, range(4)))
                receipt = await writer.flush()
            with self.assertRaisesRegex(ValueError, "closed"):
                await writer.write(scalars(1))
            return writer.load_id, receipt.rows

        load_id, _ = asyncio.run(work())
        self.assertEqual((load_id, self.count()), ("a", 400))

    def test_a_task_that_is_cancelled(self):
        async def work():
            async with pgsluice.AsyncWriter("loaded", server(), flush_seconds=None) as writer:
                await writer.write(scalars(10))
                with self.connection.transaction():
                    self.connection.execute("LOCK TABLE loaded")
                    task = asyncio.create_task(writer.flush())
                    await asyncio.sleep(0.3)
                    task.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await task
                self.assertEqual(writer.rows_waiting, 10)

        asyncio.run(work())
        self.assertEqual(self.count(), 10)

    def test_a_signal_while_it_sends(self):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        for start, size in enumerate((1, 30, 400)):
            with self.open(flush_seconds=None) as writer:
                writer.write(scalars(size, 1000 * start))
                with self.connection.transaction():
                    self.connection.execute("LOCK TABLE loaded")
                    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
                    timer.start()
                    with self.assertRaises(KeyboardInterrupt):
                        writer.flush()
                    timer.join()
                self.assertEqual(writer.rows_waiting, size)
        self.assertEqual(self.count(), 431)

    def test_a_fork(self):
        done = run_alone(
            f"""
            import os
            writer = pgsluice.Writer("loaded", {server()!r}, flush_seconds=None)
            writer.write(TABLE.slice(0, 10))
            writer.flush()
            child = os.fork()
            if child == 0:
                try:
                    writer.write(TABLE)
                except RuntimeError:
                    del writer
                    os._exit(0)
                os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
            writer.write(TABLE.slice(10, 10))
            writer.close()
            """
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.count(), 20)

    def test_the_interpreter_ends(self):
        done = run_alone(
            f"""
            writer = pgsluice.Writer("loaded", {server()!r}, flush_seconds=0.05)
            writer.write(TABLE.slice(0, 10))
            time.sleep(0.5)
            other = pgsluice.Writer("loaded", {server()!r}, flush_seconds=None)
            other.write(TABLE)
            """
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.count(), 10)
        self.assertIn("1000 rows were written but not sent", done.stderr)

    def test_nothing_leaks(self):
        """Ten thousand flushes take no more memory than the first thousand."""
        rows = pa.table({"id": [1]})

        def resident() -> int:
            gc.collect()
            return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        with self.open(flush_rows=1, flush_seconds=None, durability="flush") as writer:
            for _ in range(1000):
                writer.write(rows)
            before = resident()
            for _ in range(9000):
                writer.write(rows)
            grown = resident() - before
        self.assertEqual(self.count(), 10_000)
        self.assertLess(grown, 4 << 20)


if __name__ == "__main__":
    unittest.main()
