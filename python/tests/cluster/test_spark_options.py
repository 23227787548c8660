"""Options that the driver accepts, and options that it rejects before a task runs."""

import os
import unittest
from unittest.mock import patch

import pgsluice
from pgsluice.spark.spool import bytes_of
from pgsluice.spark.target import target_of, with_password
from pyspark.errors import AnalysisException, PySparkException

from .spark_place import OnCluster, frame, session


class Refused(OnCluster):
    def setUp(self):
        super().setUp()
        self.make()

    def refuse(self, data=None, mode: str = "append", error=AnalysisException, **options) -> str:
        """Write, expect a rejection, and return its message."""
        options = {"table": "events", "conninfo": self.url} | options
        given = {name: value for name, value in options.items() if value is not None}
        writer = (data or frame(10, 1)).write.format("pgsluice").options(**given).mode(mode)
        with self.assertRaises(error) as caught:
            writer.save()
        self.assertEqual(self.count(), 0)
        return str(caught.exception)

    def test_modes(self):
        self.assertIn("appends rows, and cannot overwrite a table", self.refuse(mode="overwrite"))
        for mode in ("error", "ignore"):
            self.assertIn('the "Append"', self.refuse(mode=mode))

    def test_an_option_that_does_not_exist(self):
        output = self.refuse(loadId="one")
        self.assertIn('UsageError: unknown option "loadid"', output)
        self.assertIn('HINT:  .option("load_id", ...)', output)

    def test_tables_and_columns(self):
        self.assertIn('relation "nowhere" does not exist', self.refuse(table="nowhere"))
        other = frame(10, 1).withColumnRenamed("v", "w")
        self.assertIn('"w"', self.refuse(other))
        wrong = frame(10, 1).selectExpr("id", "date'2026-01-01' AS v")
        self.assertIn("column v is of type integer but", self.refuse(wrong))
        self.assertIn("on_conflict", self.refuse(on_conflict="ignore"))

    def test_hints_name_no_option_that_spark_lacks(self):
        self.connection.execute("""
            DROP TABLE events;
            CREATE TABLE events (id bigint, v int) PARTITION BY RANGE (id);
            CREATE TABLE few PARTITION OF events FOR VALUES FROM (0) TO (5)""")
        rows = frame(10, 1).select("id", "v")
        output = self.refuse(rows, error=PySparkException)
        self.assertIn("no partition of relation", output)
        self.assertNotIn("create_partitions", output)
        self.assertIn("ignore_extra=True", self.refuse(frame(10, 1)))

    def test_no_server_is_named(self):
        output = self.refuse(conninfo=None)
        self.assertIn("no option and no environment variable names the server", output)

    def test_reading(self):
        with self.assertRaisesRegex(PySparkException, "is written, not read"):
            session().read.format("pgsluice").option("table", "events").load()

    def test_a_row_that_the_server_refuses(self):
        self.connection.execute("ALTER TABLE events ADD CHECK (v <> 7)")
        output = self.refuse(frame(100, 1), error=PySparkException, load_id="refused")
        self.assertIn("violates check constraint", output)
        self.assertIn("pgsluice: partition 0 of load 'refused'", output)

    def test_rejected_rows_go_to_a_table(self):
        self.connection.execute("ALTER TABLE events ADD CHECK (v <> 7)")
        options = {"reject_table": "bad_rows", "max_rejects": "2", "load_id": "rejecting"}
        self.assertIn('relation "bad_rows" does not exist', self.refuse(**options))
        self.connection.execute('CREATE TABLE bad_rows (load text, sqlstate text, "row" jsonb)')
        rows = frame(5000, 4)
        target = {"table": "events", "conninfo": self.url} | options
        for _ in range(2):
            rows.write.format("pgsluice").options(**target).mode("append").save()
            self.assertEqual(self.count(), 4995)
            stored = self.connection.execute(
                "SELECT load, sqlstate, (\"row\" ->> 'id')::int AS id FROM bad_rows ORDER BY id"
            ).fetchall()
            bad = [("rejecting", "23514", number) for number in range(7, 5000, 1009)]
            self.assertEqual(stored, bad)

    def test_other_splits(self):
        options = {"table": "events", "conninfo": self.url, "load_id": "again"}
        frame(1000, 4).write.format("pgsluice").options(**options).mode("append").save()
        for other in (frame(1000, 3), frame(1000, 5), frame(1001, 4)):
            with self.assertRaises(PySparkException) as caught:
                other.write.format("pgsluice").options(**options).mode("append").save()
            self.assertIn("pgsluice", str(caught.exception))
            self.assertEqual(self.count(), 1000)
        # Repeating the job loads nothing.
        frame(1000, 4).write.format("pgsluice").options(**options).mode("append").save()
        self.assertEqual(self.count(), 1000)


class Options(unittest.TestCase):
    def refuse(self, **options: str) -> str:
        """Read options, expect a rejection, and return its message."""
        with self.assertRaises(pgsluice.UsageError) as caught:
            target_of({"table": "events"} | options)
        return str(caught.exception)

    def test_options_that_do_not_exist_for_spark(self):
        for name, hint in {
            "exchange": "HINT:  each task of Spark commits by itself",
            "create_partitions": "pgsluice plan --full",
            "no_ledger": "HINT:  the ledger is",
            "once": "load_id names the rows of a job",
            "dbtable": "HINT:  the name of the option is table",
            "loadid": 'HINT:  .option("load_id", ...)',
            "on_conflikt": 'HINT:  .option("on_conflict", ...)',
            "colour": "HINT:  The options are conninfo, ",
        }.items():
            with self.subTest(name):
                self.assertIn(hint, self.refuse(**{name: "true"}))

    def test_values(self):
        self.assertIn("is true or false, not", self.refuse(round="maybe"))
        self.assertIn("is a number, not", self.refuse(participants="many"))
        self.assertIn('invalid size for memory: "much"', self.refuse(memory="much"))
        self.assertIn("the option table is missing", self.refuse(table=""))
        for alone in ({"reject_table": "bad"}, {"max_rejects": "5"}):
            self.assertIn("go together", self.refuse(**alone))

    def test_sizes(self):
        for text, expected in {"64MB": 64 << 20, "2GiB": 2 << 30, "1 kB": 1024, "512": 512}.items():
            self.assertEqual(bytes_of(text), expected)
        for text in ("", "MB", "1.5GB", "-1", "1XB"):
            with self.assertRaises(pgsluice.UsageError):
                bytes_of(text)

    def test_values_are_read(self):
        read = {"round": True, "wire": "text", "wait": "5min", "participants": 8}
        given = {"table": "t", "conninfo": "d", "round": "TRUE", "wire": "text", "wait": "5min"}
        self.assertEqual(target_of(given | {"participants": "8"}).options, read)

    def test_passwords(self):
        self.assertEqual(with_password(None, "x"), "password='x'")
        self.assertEqual(with_password("shop", "x"), "dbname='shop' password='x'")
        self.assertEqual(with_password("host=h", r"a'b\ c"), r"host=h password='a\'b\\ c'")
        self.assertEqual(
            with_password("postgresql://h/d", "a&b"), "postgresql://h/d?password=a%26b"
        )
        self.assertEqual(with_password("postgres://h/?x=1", "p"), "postgres://h/?x=1&password=p")

    def test_a_password_names_no_server(self):
        target = target_of({"table": "t", "password": "p"})
        with patch.dict(os.environ, clear=True):
            with self.assertRaisesRegex(pgsluice.UsageError, "names the server on this machine"):
                target.check_server()
            os.environ["PGHOST"] = "h"
            target.check_server()
            del os.environ["PGHOST"]
            target_of({"table": "t", "password": "p", "host": "h"}).check_server()

    def test_no_secret_is_shown(self):
        target = target_of({"table": "t", "conninfo": "password=secret", "password": "secret"})
        self.assertNotIn("secret", repr(target))


if __name__ == "__main__":
    unittest.main()
