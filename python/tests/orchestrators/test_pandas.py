"""`to_sql` with `pgsluice.pandas.method` stores the same rows as without it."""

import asyncio
import importlib.util
import subprocess
import sys
import unittest
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pandas as pd
import pgsluice
import pgsluice.pandas
import psycopg
import sqlalchemy
from formats.place import server
from loads.place import Loads

INDIA = timezone(timedelta(hours=5, minutes=30))
COLUMNS = {
    "n": "integer",
    "x": "double precision",
    "total": "numeric(10,2)",
    "name": "text",
    "flag": "boolean",
    "day": "date",
    "at": "timestamp",
    "zoned": "timestamptz",
}
FRAME = pd.DataFrame(
    {
        "id": range(1, 8),
        "n": pd.array([1, 2, None, 4, 5, 6, None], dtype="Int64"),
        "x": [0.1, float("nan"), 1e300, -0.0, 5.0, 6.5, 7.25],
        "total": [Decimal("9.50"), None, Decimal("0"), Decimal("-1.25"), *[Decimal(1)] * 3],
        "name": ["a", None, "", "tab\there", 'quote"', "back\\slash", "é\N{SNOWMAN}"],
        "flag": [True, False, None, True, False, None, True],
        "day": [date(2026, 1, 31), None, date(2026, 2, 1), *[date(2026, 3, 1)] * 4],
        "at": pd.to_datetime(
            [datetime(2026, 1, 31, 12, 0, 0, 1), None, *[datetime(2026, 2, 1)] * 5]
        ),
        "zoned": pd.to_datetime([datetime(2026, 1, 31, 12, tzinfo=INDIA), None, *[None] * 5]),
    }
)


class ToSql(Loads):
    def setUp(self):
        super().setUp()
        url = sqlalchemy.make_url(server()).set(drivername="postgresql+psycopg")
        self.engine = sqlalchemy.create_engine(url)
        self.addCleanup(self.engine.dispose)

    def to_sql(self, frame: pd.DataFrame, con: Any = None, table: str = "loaded", **options) -> Any:
        given = {"if_exists": "append", "index": False, "method": pgsluice.pandas.method}
        return frame.to_sql(table, self.engine if con is None else con, **given | options)

    def refuse(self, *args: Any, **options: Any) -> pgsluice.Error:
        with self.assertRaises(pgsluice.Error) as caught:
            self.to_sql(*args, **options)
        return caught.exception

    def test_the_same_rows_are_stored(self):
        self.make(**COLUMNS)
        for chunksize in (None, 3, 7):
            with self.subTest(chunksize=chunksize):
                self.empty("loaded", "copied")
                self.assertEqual(self.to_sql(FRAME, chunksize=chunksize), 7)
                # pandas treats decimals as text.
                dtype = {"total": sqlalchemy.Numeric}
                self.to_sql(FRAME, table="copied", method=None, dtype=dtype)
                self.assert_same()
                self.assertEqual(self.count(), 7)

    def test_no_rows(self):
        self.make()
        self.assertEqual(self.to_sql(FRAME[["id"]][:0]), 0)
        self.assertEqual(self.count(), 0)

    def test_the_index_is_a_column(self):
        self.make(n="integer")
        frame = pd.DataFrame({"n": [4, 5]}, index=pd.Index([1, 2], name="id"))
        self.to_sql(frame, index=True)
        self.assertEqual([row for _, row in self.rows("loaded")], ["(1,4)", "(2,5)"])
        error = self.refuse(frame.reset_index(), index=True)
        self.assertIn("index", error.message)
        self.assertEqual(self.count(), 2)

    def test_names_are_quoted(self):
        table, column = 'Order "x".y', 'a "b", C'
        self.connection.execute(
            'DROP SCHEMA IF EXISTS "S ""1""" CASCADE; CREATE SCHEMA "S ""1""";'
            'CREATE TABLE "S ""1"""."Order ""x"".y" (id int, "a ""b"", C" text)'
        )
        frame = pd.DataFrame({"id": [1], column: ["z"]})
        self.assertEqual(self.to_sql(frame, table=table, schema='S "1"'), 1)
        query = 'SELECT * FROM "S ""1"""."Order ""x"".y"'
        self.assertEqual(self.connection.execute(query).fetchall(), [(1, "z")])
        self.connection.execute('DROP SCHEMA "S ""1""" CASCADE')

    def test_the_transaction_is_sqlalchemys(self):
        self.make()
        with self.engine.connect() as connection:
            with connection.begin() as transaction:
                self.to_sql(FRAME[["id"]], connection, chunksize=2)
                self.to_sql(FRAME[["id"]], connection)
                self.assertEqual(self.count(), 0)
                transaction.rollback()
            self.assertEqual(self.count(), 0)
            with connection.begin():
                self.to_sql(FRAME[["id"]], connection, chunksize=2)
            self.assertEqual(self.count(), 7)
            # pandas begins a transaction if none is open.
            self.to_sql(FRAME[["id"]], connection)
            self.assertEqual(self.count(), 14)

    def test_an_error_in_a_later_chunk_rolls_all_back(self):
        self.make(n="integer")
        frame = pd.DataFrame({"id": range(6), "n": [1, 2, 3, 4, 5.5, 6]})
        error = self.refuse(frame, chunksize=2)
        self.assertIsInstance(error, pgsluice.DataError)
        self.assertIn("column n of type integer cannot hold 5.5", error.message)
        self.assertEqual(self.count(), 0)

    def test_an_error_ends_the_callers_transaction(self):
        self.make(n="integer")
        bad = pd.DataFrame({"id": [8], "n": [7.5]})
        with self.engine.connect() as connection:
            connection.execute(sqlalchemy.text("INSERT INTO loaded VALUES (1, 1)"))
            self.refuse(bad, connection)
            connection.commit()
        self.assertEqual(self.count(), 0)
        with (
            self.assertRaises(sqlalchemy.exc.InvalidRequestError),
            self.engine.begin() as connection,
        ):
            self.refuse(bad, connection)
            connection.execute(sqlalchemy.text("INSERT INTO loaded VALUES (1, 1)"))
        self.assertEqual(self.count(), 0)

    def test_the_servers_refusal_rolls_all_back(self):
        self.make(n="integer CHECK (n < 6)")
        frame = pd.DataFrame({"id": range(6), "n": range(1, 7)})
        with self.assertRaises(psycopg.errors.CheckViolation):
            self.to_sql(frame, chunksize=2)
        self.assertEqual(self.count(), 0)
        self.to_sql(frame[:5], chunksize=2)
        self.assertEqual(self.count(), 5)

    def test_a_savepoint_keeps_what_is_before_it(self):
        self.make(n="integer")
        bad = pd.DataFrame({"id": [8], "n": [7.5]})
        with self.engine.begin() as connection:
            self.to_sql(FRAME[["id", "n"]], connection)
            with self.assertRaises(pgsluice.DataError), connection.begin_nested():
                self.to_sql(bad, connection)
        self.assertEqual(self.count(), 7)

    def test_a_table_of_this_transaction_is_refused(self):
        self.make()
        self.connection.execute("DROP TABLE IF EXISTS plain; CREATE TABLE plain (id bigint)")
        exists = "SELECT oid FROM pg_class WHERE relname IN ('plain', 'new')"
        before = self.connection.execute(exists).fetchall()
        for table, if_exists, sqlstate in (
            ("plain", "replace", "55000"),
            ("new", "append", "42P01"),
        ):
            with self.subTest(if_exists):
                error = self.refuse(FRAME[["id"]], table=table, if_exists=if_exists)
                self.assertEqual(error.sqlstate, sqlstate)
                self.assertIn("commit", error.hint)
        # pandas has dropped and created them, and none of that is committed.
        self.assertEqual(self.connection.execute(exists).fetchall(), before)
        frame = FRAME[["id"]]
        frame.head(0).to_sql("plain", self.engine, if_exists="replace", index=False)
        self.assertEqual(self.to_sql(frame, table="plain"), 7)
        self.assertEqual(self.to_sql(frame, table="plain", if_exists="delete_rows"), 7)
        rows = self.connection.execute("SELECT count(*) FROM plain").fetchone()[0]
        self.assertEqual(rows, 7)
        self.connection.execute("DROP TABLE plain")

    def test_a_table_that_this_transaction_has_emptied(self):
        self.make()
        for _ in range(2):
            with self.engine.begin() as connection:
                connection.execute(sqlalchemy.text("TRUNCATE loaded"))
                self.to_sql(FRAME[["id"]], connection)
        self.assertEqual(self.count(), 7)

    def test_a_column_that_is_missing_is_named(self):
        self.make()
        error = self.refuse(pd.DataFrame({"id": [1], "ids": [2]}))
        self.assertIn("ids", error.message)

    def test_autocommit(self):
        self.make()
        self.to_sql(FRAME[["id"]], self.engine.execution_options(isolation_level="AUTOCOMMIT"))
        self.assertEqual(self.count(), 7)

    def test_other_drivers_are_refused(self):
        self.make()
        with sqlalchemy.create_engine("sqlite://").connect() as connection:
            error = self.refuse(FRAME[["id"]], connection)
            self.assertIsInstance(error, pgsluice.UsageError)
            self.assertIn("sqlite+pysqlite", error.detail)
        if not importlib.util.find_spec("psycopg2"):
            return
        engine = sqlalchemy.create_engine(self.engine.url.set(drivername="postgresql+psycopg2"))
        error = self.refuse(FRAME[["id"]], engine)
        self.assertIn("postgresql+psycopg2", error.detail)
        names = {"sqlalchemy": sqlalchemy, "engine": engine}
        repaired = eval(error.hint.partition(": ")[2], names)
        self.assertEqual(self.to_sql(FRAME[["id"]], repaired), 7)
        engine.dispose()
        repaired.dispose()

    @unittest.skipUnless(importlib.util.find_spec("greenlet"), "SQLAlchemy's asyncio needs it")
    def test_asynchronous_engines_are_refused(self):
        from sqlalchemy.ext.asyncio import create_async_engine

        async def put(drivername: str) -> None:
            engine = create_async_engine(self.engine.url.set(drivername=drivername))
            try:
                async with engine.begin() as connection:
                    await connection.run_sync(lambda blocking: self.to_sql(FRAME[["id"]], blocking))
            finally:
                await engine.dispose()

        self.make()
        for drivername in ("postgresql+asyncpg", "postgresql+psycopg"):
            with self.subTest(drivername), self.assertRaises(pgsluice.UsageError) as caught:
                asyncio.run(put(drivername))
            self.assertIn("create_engine(engine.url.set", caught.exception.hint)

    def test_a_connection_without_sqlalchemy_is_refused(self):
        self.make()
        with self.connection.cursor() as cursor, self.assertRaises(pgsluice.UsageError) as caught:
            pgsluice.pandas.method(None, cursor, ["id"], iter([(1,)]))
        self.assertIn("psycopg.Cursor", caught.exception.detail)

    def test_pandas_is_not_imported(self):
        names = "{'pandas', 'sqlalchemy', 'psycopg', 'airflow'}"
        code = f"import sys, pgsluice.pandas; sys.exit(bool({names} & set(sys.modules)))"
        self.assertEqual(subprocess.call([sys.executable, "-c", code], timeout=60), 0)


if __name__ == "__main__":
    unittest.main()
