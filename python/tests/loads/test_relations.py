"""`relation`: the rows of a table or view of a server, instead of data."""

import asyncio
import io
import pickle
import secrets
import unittest
from contextlib import suppress
from dataclasses import FrozenInstanceError
from urllib.parse import urlsplit

import pgsluice
import psycopg
from formats.place import LEAVES, server
from pgsluice import options
from psycopg.conninfo import make_conninfo

from .place import Limited, Loads

ROWS = 1000
OTHER = "relations_elsewhere"
SOURCE = f"""
    DROP TABLE IF EXISTS source;
    CREATE TABLE source (name text, id bigint NOT NULL);
    INSERT INTO source SELECT CASE WHEN n % 3 > 0 THEN 'ž' || n END, n
    FROM generate_series(1, {ROWS}) AS n;
"""
LIKE_SOURCE = "INSERT INTO copied (name, id) SELECT name, id FROM source "


class FromRelation(Loads):
    """Tests that read `source`, whose column order differs from that of `loaded`."""

    def setUp(self):
        super().setUp()
        self.make(name="text")
        self.connection.execute(SOURCE)
        self.addCleanup(self.connection.execute, "DROP TABLE IF EXISTS source")


class Loaded(FromRelation):
    def assert_loaded(self, relation: pgsluice.Relation, where: str = "", **options) -> None:
        """Load a relation, and compare with the server's own query."""
        self.empty("loaded", "copied")
        self.connection.execute(LIKE_SOURCE + where)
        done = self.put(relation, **options)
        self.assertEqual(done.rows_inserted, len(self.rows("copied")))
        self.assert_same()

    def test_the_database_of_the_target(self):
        for name in ("source", "public.source", '"public"."source"'):
            with self.subTest(name):
                self.assert_loaded(pgsluice.relation(name))

    def test_another_database(self):
        with suppress(psycopg.errors.DuplicateDatabase):
            self.connection.execute(f"CREATE DATABASE {OTHER}")
        url = urlsplit(server())._replace(path=f"/{OTHER}").geturl()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(SOURCE.replace("source", "only_there"))
        for conninfo in (url, make_conninfo(server(), dbname=OTHER)):
            with self.subTest(conninfo.partition(":")[0]):
                self.assert_loaded(pgsluice.relation("only_there", conninfo))

    def test_where(self):
        where = "id <= 10 OR name IS NULL"
        self.assert_loaded(pgsluice.relation("source", where=where), f"WHERE {where}")

    def test_where_cannot_end_the_statement(self):
        for where in ("true; DROP TABLE source", "true)) TO STDOUT; DROP TABLE source --"):
            with self.subTest(where):
                self.fail_to_put(pgsluice.relation("source", where=where))
        self.assertEqual(self.connection.execute("SELECT count(*) FROM source").fetchone()[0], ROWS)

    def test_a_view(self):
        self.connection.execute("CREATE VIEW seen AS SELECT * FROM source")
        self.addCleanup(self.connection.execute, "DROP VIEW IF EXISTS seen")
        self.assert_loaded(pgsluice.relation("seen"))

    def test_columns_by_other_names(self):
        self.connection.execute(
            "ALTER TABLE source RENAME name TO title; ALTER TABLE source ADD more int"
        )
        self.put(pgsluice.relation("source"), map={"title": "name"}, ignore_extra=True)
        self.connection.execute(LIKE_SOURCE.replace("SELECT name", "SELECT title"))
        self.assert_same()

    def test_aload(self):
        source = pgsluice.relation("source", where="id > 900")
        done = asyncio.run(pgsluice.aload(source, "loaded", server()))
        self.assertEqual((done.rows_inserted, self.count()), (100, 100))

    def test_rejected_rows_are_ndjson(self):
        """The reject file can be loaded once the constraint is gone."""
        self.connection.execute("ALTER TABLE loaded ADD CONSTRAINT small CHECK (id < 999)")
        bad = self.folder / "bad.ndjson"
        done = self.put(pgsluice.relation("source"), reject_file=bad, max_rejects=2)
        self.assertEqual((done.rows_rejected, done.rows_inserted), (2, ROWS - 2))
        self.connection.execute("ALTER TABLE loaded DROP CONSTRAINT small")
        self.assertEqual(self.put(bad).rows_inserted, 2)
        self.connection.execute(LIKE_SOURCE)
        self.assert_same()

    def test_again_with_skip(self):
        for table in ("loaded", "copied"):
            self.connection.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (id)")
        self.put(pgsluice.relation("source", where="id % 2 = 0"))
        done = self.put(pgsluice.relation("source"), on_conflict="skip")
        self.assertEqual((done.counts.inserted, done.counts.skipped), (ROWS // 2, ROWS // 2))
        self.connection.execute(LIKE_SOURCE)
        self.assert_same()


class Inspected(FromRelation):
    def test_plan(self):
        source = pgsluice.relation("source")
        planned = pgsluice.plan(source, "loaded", server(), full=True)
        self.assertEqual((planned.rows, planned.rows_routed), (ROWS, ROWS))
        self.assertEqual(len(planned.rows_by_leaf), LEAVES)
        self.assertEqual(self.count(), 0)
        # It can be read again.
        self.assertEqual(self.put(source).rows_inserted, ROWS)

    def test_verify(self):
        source = pgsluice.relation("source")
        self.put(source)
        found = pgsluice.verify(source, "loaded", server())
        self.assertTrue(found)
        self.assertEqual((found.rows_input, len(found.leaves)), (ROWS, LEAVES))
        self.connection.execute("DELETE FROM source WHERE id = 7")
        found = pgsluice.verify(source, "loaded", server())
        self.assertEqual((found.equal, found.rows_surplus), (False, 1))
        some = pgsluice.relation("source", where="id < 100")
        self.assertTrue(pgsluice.verify(some, "loaded", server(), subset=True))


class Refused(FromRelation):
    def assert_refused(self, relation: pgsluice.Relation, sqlstate: str) -> None:
        error = self.fail_to_put(relation)
        self.assertIs(type(error), pgsluice.ServerError, error)
        self.assertEqual(error.sqlstate, sqlstate)
        self.assertEqual(self.count(), 0)

    def test_a_table_that_does_not_exist(self):
        self.assert_refused(pgsluice.relation("nowhere"), "42P01")

    def test_a_condition_that_is_wrong(self):
        self.assert_refused(pgsluice.relation("source", where="absent > 1"), "42703")

    def test_a_server_that_is_not_there(self):
        """Neither the error nor its pickle contains the password."""
        secret = secrets.token_hex()
        for conninfo in (
            f"host=127.0.0.1 port=1 user=a password={secret}",
            f"postgresql://a:{secret}@127.0.0.1:1/shop",
        ):
            error = self.fail_to_put(pgsluice.relation("source", conninfo))
            self.assertIsInstance(error, pgsluice.ConnectError)
            self.assertNotIn(secret, f"{error} {error!r} {vars(error)}")
            self.assertNotIn(secret.encode(), pickle.dumps(error))

    def test_a_conninfo_that_is_none(self):
        """An error in a conninfo does not repeat its password."""
        secret = secrets.token_hex()
        error = self.fail_to_put(pgsluice.relation("source", f"password={secret} colour=red"))
        self.assertIsInstance(error, pgsluice.UsageError)
        self.assertNotIn(secret, f"{error} {error!r} {vars(error)}")

    def test_options_about_files(self):
        for given in (
            {"format": "csv"},
            {"header": True},
            {"delimiter": ";"},
            {"null": "-"},
            {"quote": "'"},
            {"escape": "'"},
            {"encoding": "latin1"},
            {"columns": ["id"]},
            {"force_null": ["name"]},
            {"force_not_null": ["name"]},
            {"default": "-"},
            {"round": True},
            {"once": True},
        ):
            (name,) = given
            with self.subTest(name):
                error = self.fail_to_put(pgsluice.relation("source"), **given)
                self.assertIsInstance(error, pgsluice.UsageError)
                self.assertIn(name, str(error))
                self.assertIn("relation()", str(error))
                self.assertNotRegex(str(error), "--|from.table")
        self.assertEqual(self.count(), 0)

    def test_only_relation_names_a_relation(self):
        for name in ("from_table", "from", "where"):
            with self.assertRaisesRegex(TypeError, f"unexpected keyword argument '{name}'"):
                self.put([(1, "a")], **{name: "source"})
            self.assertNotIn(name, options.Options.__annotations__)

    def test_functions_that_read_none(self):
        source = pgsluice.relation("source")

        async def acopy():
            async with await psycopg.AsyncConnection.connect(server()) as connection:
                await pgsluice.acopy(connection, source, "loaded")

        with pgsluice.Writer("loaded", server()) as writer:
            for name, call, hint in (
                ("Writer.write", lambda: writer.write(source), "pgsluice.load"),
                ("copy", lambda: pgsluice.copy(self.connection, source, "loaded"), "INSERT INTO"),
                ("acopy", lambda: asyncio.run(acopy()), "INSERT INTO"),
                ("leaf", lambda: pgsluice.leaf("loaded", source, server()), "full=True"),
            ):
                with self.subTest(name), self.assertRaises(pgsluice.UsageError) as caught:
                    call()
                self.assertEqual(caught.exception.message, f"{name}() cannot take a relation")
                self.assertIn(hint, caught.exception.hint)
        self.assertEqual(self.count(), 0)

    def test_several_relations(self):
        """Relations in a list are not rows, although they are dataclasses."""
        source = pgsluice.relation("source", "password=hush")
        with self.assertRaisesRegex(TypeError, "a list of items of type Relation"):
            self.put([source, source])
        for data in (iter([source]), iter([{"id": 1}, source])):
            error = self.fail_to_put(data)
            self.assertIsInstance(error, pgsluice.InputError)
            self.assertIn("of type Relation", str(error))
            self.assertNotIn("hush", str(error))
        self.assertEqual(self.count(), 0)


class Value(Limited):
    """A relation that is never read."""

    def test_password_is_not_shown(self):
        source = pgsluice.relation('"Old"', "postgresql://a:hush@b/c", where="id > '7'")
        self.assertEqual(repr(source), """Relation('"Old"', conninfo=..., where="id > '7'")""")
        self.assertNotIn("hush", f"{source} {[source]}")
        self.assertEqual(repr(pgsluice.relation("old")), "Relation('old')")

    def test_pickle(self):
        source = pgsluice.relation("old", "dbname=shop", where="id > 7")
        again = pickle.loads(pickle.dumps(source))
        self.assertEqual((again, hash(again)), (source, hash(source)))
        self.assertEqual(again.conninfo, "dbname=shop")
        self.assertNotEqual(again, pgsluice.relation("old", "dbname=shop"))

    def test_it_does_not_change(self):
        with self.assertRaises(FrozenInstanceError):
            pgsluice.relation("old").name = "new"

    def test_types(self):
        for arguments, named, text in (
            ((None,), {}, "takes name as a str, not NoneType"),
            (("old", io.BytesIO()), {}, "takes conninfo as a str, not BytesIO"),
            (("old",), {"where": True}, "takes where as a str, not bool"),
        ):
            with self.assertRaisesRegex(TypeError, rf"relation\(\) {text}"):
                pgsluice.relation(*arguments, **named)
        with self.assertRaises(TypeError):
            pgsluice.relation("old", None, "id > 7")


if __name__ == "__main__":
    unittest.main()
