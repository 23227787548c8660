"""Rows by COPY through the caller's own connection: psycopg's and asyncpg's."""

import asyncio
import os
import signal
import threading
import time
import unittest
from datetime import UTC, date, datetime
from decimal import Decimal
from unittest.mock import patch
from uuid import UUID

import asyncpg
import pgsluice
import psycopg
import pyarrow as pa
from formats.place import server
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row

from .place import Loads

COLUMNS = {
    "n": "numeric(12,3)",
    "t": "text",
    "at": "timestamptz",
    "u": "uuid",
    "many": "int[]",
    "day": "date",
    "mood": "mood",
    "p": "pair",
}


def table(rows: int, start: int = 0) -> pa.Table:
    """Return rows of all columns, with NULLs among them."""
    ids = range(start, start + rows)
    at = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    some = [None if i % 7 == 3 else i for i in ids]

    def each(value):
        return [None if i is None else value(i) for i in some]

    pair = pa.struct([("a", pa.int32()), ("b", pa.string())])
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "n": pa.array(each(lambda i: Decimal(i).scaleb(-3)), pa.decimal128(12, 3)),
            "t": each(lambda i: f'a\tb\n"{i}"\\'),
            "at": pa.array(each(lambda _: at), pa.timestamp("us", "UTC")),
            "u": pa.array(each(lambda i: UUID(int=i).bytes), pa.binary(16)),
            "many": pa.array(each(lambda i: [i, None, -i]), pa.list_(pa.int32())),
            "day": pa.array(each(lambda _: date(2026, 2, 28)), pa.date32()),
            "mood": each(lambda i: ("sad", "ok", "happy")[i % 3]),
            "p": pa.array(each(lambda i: {"a": i, "b": "x,y"}), pair),
        }
    )


def as_text(row: dict) -> list:
    """Return a row as psycopg writes it for COPY text."""
    u, p = row["u"], row["p"]
    row["u"] = None if u is None else UUID(bytes=u)
    row["p"] = None if p is None else f'({p["a"]},"{p["b"]}")'
    return list(row.values())


class Copied(Loads):
    def setUp(self):
        super().setUp()
        self.make(**COLUMNS)
        self.own = self.enterContext(psycopg.connect(server()))

    def test_equal_to_copy_once_it_is_committed(self):
        rows = table(3000)
        done = pgsluice.copy(self.own, rows, "loaded")
        self.assertEqual(done.rows_read, 3000)
        self.assertEqual((done.rows_inserted, done.table), (3000, "public.loaded"))
        self.assertEqual(self.count(), 0)
        self.own.commit()
        self.copy(as_text(row) for row in rows.to_pylist())
        self.assert_same()

    def test_nothing_is_left_of_what_is_rolled_back(self):
        pgsluice.copy(self.own, table(100), "loaded")
        pgsluice.copy(self.own, table(100), "loaded")
        seen = self.own.execute("SELECT count(*) FROM loaded").fetchone()
        self.own.rollback()
        self.assertEqual((seen[0], self.count()), (200, 0))

    def test_a_part_of_a_transaction(self):
        with self.own.transaction():
            pgsluice.copy(self.own, table(10), "loaded")
            with self.assertRaises(ZeroDivisionError), self.own.transaction():
                pgsluice.copy(self.own, table(10, 10), "loaded")
                raise ZeroDivisionError
        self.assertEqual(self.count(), 10)

    def test_autocommit_is_one_transaction(self):
        self.own.autocommit = True

        def some():
            yield table(5000)
            raise LookupError("no more")

        with self.assertRaises(pgsluice.InputError) as caught:
            pgsluice.copy(self.own, some(), "loaded", memory="1MB")
        self.assertIsInstance(caught.exception.__cause__, LookupError)
        self.assertEqual(self.count(), 0)
        pgsluice.copy(self.own, table(5000), "loaded", memory="1MB")
        self.assertEqual(self.count(), 5000)

    def test_rows_that_only_the_server_reads(self):
        rows = pa.table({"id": ["1", " 2 ", "3"], "day": ["2026-01-01", "Feb 1 2026", "tomorrow"]})
        pgsluice.copy(self.own, rows, "loaded")
        self.own.commit()
        query = "SELECT id, day = date '2026-02-01' FROM loaded ORDER BY id"
        self.assertEqual(
            self.connection.execute(query).fetchall(), [(1, False), (2, True), (3, False)]
        )

    def test_rows_of_python(self):
        self.own.row_factory = dict_row
        pgsluice.copy(self.own, [(1, "2.5", "x")], "loaded", columns=["id", "n", "t"])
        pgsluice.copy(self.own, [{"id": 2, "t": None}, {"id": 3, "t": "y"}], "loaded")
        self.own.commit()
        query = "SELECT id, n, t FROM loaded ORDER BY id"
        expected = [(1, Decimal("2.500"), "x"), (2, None, None), (3, None, "y")]
        self.assertEqual(self.connection.execute(query).fetchall(), expected)

    def test_the_table_is_that_of_the_connection(self):
        self.connection.execute("""
            DROP SCHEMA IF EXISTS other CASCADE; CREATE SCHEMA other;
            CREATE TABLE other.loaded (id int, "T" text)""")
        self.own.execute("SET search_path = other")
        done = pgsluice.copy(self.own, pa.table({"id": [1], "T": ["x"]}), "loaded")
        self.assertEqual(done.table, "other.loaded")
        self.own.commit()
        self.connection.execute("DROP SCHEMA other CASCADE")

    def test_uncommitted_ddl_is_refused(self):
        self.own.execute("CREATE TABLE fresh (id int)")
        with self.assertRaisesRegex(pgsluice.ServerError, "does not exist for other sessions"):
            pgsluice.copy(self.own, table(1), "fresh")
        self.own.rollback()
        # Four bytes would be read as a value of another type.
        self.connection.execute("DROP TABLE IF EXISTS plain; CREATE TABLE plain (id int)")
        self.own.execute("ALTER TABLE plain ALTER id TYPE float4")
        with self.assertRaisesRegex(pgsluice.ServerError, "other sessions do not see table"):
            pgsluice.copy(self.own, pa.table({"id": pa.array([1], pa.int32())}), "plain")
        self.own.rollback()
        with self.assertRaisesRegex(pgsluice.ServerError, '"nowhere" does not exist'):
            pgsluice.copy(self.own, table(1), "nowhere")

    def test_another_server_is_refused(self):
        self.connection.execute("DROP DATABASE IF EXISTS elsewhere")
        self.connection.execute("CREATE DATABASE elsewhere")
        other = server().rpartition("/")[0] + "/elsewhere"
        with psycopg.connect(other) as connection:
            connection.execute("CREATE TABLE loaded (id bigint)")
        with self.assertRaisesRegex(pgsluice.UsageError, "refer to different databases"):
            pgsluice.copy(self.own, pa.table({"id": [1]}), "loaded", other)

    def test_errors_of_the_server_are_those_of_psycopg(self):
        rows = pa.table({"id": [1, None]})
        with self.assertRaises(psycopg.errors.NotNullViolation):
            pgsluice.copy(self.own, rows, "loaded")
        self.assertEqual(self.own.info.transaction_status, TransactionStatus.INERROR)

    def test_data_that_does_not_fit_is_refused(self):
        rows = pa.table({"id": [1], "n": pa.array([2**63], pa.uint64()), "u": ["no uuid"]})
        with self.assertRaises((pgsluice.DataError, psycopg.errors.DataError)):
            pgsluice.copy(self.own, rows, "loaded")
        self.own.rollback()
        with self.assertRaisesRegex(pgsluice.Error, '"extra", which matches no column'):
            pgsluice.copy(self.own, pa.table({"id": [1], "extra": [2]}), "loaded")
        with self.assertRaisesRegex(TypeError, r"copy\(\) takes table as a str, not Table"):
            pgsluice.copy(self.own, "loaded", table(1))
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'atomic'"):
            pgsluice.copy(self.own, table(1), "loaded", atomic=True)

    def test_other_connections(self):
        for other in (object(), "dbname=shop", self.own.cursor()):
            with self.assertRaisesRegex(TypeError, "takes a connection of psycopg"):
                pgsluice.copy(other, table(1), "loaded")
            with self.assertRaisesRegex(TypeError, "asynchronous connection"):
                asyncio.run(pgsluice.acopy(other, table(1), "loaded"))
        with self.assertRaisesRegex(TypeError, "asynchronous connection"):
            asyncio.run(pgsluice.acopy(self.own, table(1), "loaded"))
        with (
            self.own.pipeline(),
            self.assertRaisesRegex(psycopg.NotSupportedError, "pipeline mode"),
        ):
            pgsluice.copy(self.own, table(1), "loaded")

    def test_a_signal_ends_it(self):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

        def slow():
            while True:
                yield table(10)
                time.sleep(0.01)

        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        self.addCleanup(timer.join)
        with self.assertRaises(KeyboardInterrupt):
            pgsluice.copy(self.own, slow(), "loaded")
        self.own.rollback()
        self.assertEqual(self.count(), 0)

    def test_psycopg_and_asyncio(self):
        async def work():
            connection = await psycopg.AsyncConnection.connect(server())
            async with connection:
                with self.assertRaisesRegex(TypeError, "await pgsluice.acopy"):
                    pgsluice.copy(connection, table(1), "loaded")
                done = await pgsluice.acopy(connection, table(1000), "loaded")
                await connection.rollback()
                await pgsluice.acopy(connection, table(10), "loaded")
            return done.rows_inserted

        self.assertEqual((asyncio.run(work()), self.count()), (1000, 10))

    def test_asyncpg(self):
        async def work():
            connection = await asyncpg.connect(server())
            with self.assertRaises(ZeroDivisionError):
                async with connection.transaction():
                    await pgsluice.acopy(connection, table(1000), "loaded", server())
                    raise ZeroDivisionError
            done = await pgsluice.acopy(connection, table(500), "loaded", server())
            rows = pa.table({"id": ["501"], "day": ["Feb 1 2026"]})
            await pgsluice.acopy(connection, rows, "loaded", server())
            place = conninfo_to_dict(server())
            named = {"PGHOST": place["host"], "PGPORT": place["port"]}
            with patch.dict(os.environ, named, PGPASSWORD=place.get("password", "")):
                await pgsluice.acopy(connection, pa.table({"id": [502]}), "loaded")
            await connection.close()
            return done.rows_inserted

        self.assertEqual((asyncio.run(work()), self.count()), (500, 502))


if __name__ == "__main__":
    unittest.main()
