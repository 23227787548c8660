"""Advice from end to end, on an embedded server: its text, and that it leaves nothing behind."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

from pgsluice_lab import advise, site
from pgsluice_lab.advise import Format, Wish, trial
from pgsluice_lab.failure import LabError
from pgsluice_lab.site import Site
from psycopg import conninfo

# Hash in range, keys that only leaves have, a sequence, quoted names, another order of columns.
SCHEMA = '''
CREATE SCHEMA "My Sales";
CREATE FUNCTION "My Sales".remark() RETURNS text LANGUAGE sql AS $$SELECT 'none'$$;
CREATE TABLE "My Sales"."Orders" (
    "Id" bigserial, day date NOT NULL, customer int NOT NULL,
    double int GENERATED ALWAYS AS (customer * 2) STORED,
    "a ""note""" text DEFAULT "My Sales".remark(),
    CONSTRAINT known CHECK (customer >= 0)
) PARTITION BY RANGE (day);
CREATE INDEX ON "My Sales"."Orders" (customer);
CREATE TABLE "My Sales"."O 1" PARTITION OF "My Sales"."Orders"
    FOR VALUES FROM ('2024-01-01') TO ('2024-07-01') PARTITION BY HASH (customer);
CREATE TABLE "My Sales".h0 PARTITION OF "My Sales"."O 1" FOR VALUES WITH (modulus 2, remainder 0);
CREATE TABLE "My Sales".h1 (
    customer int NOT NULL, "a ""note""" text, day date NOT NULL, "Id" bigint NOT NULL,
    double int GENERATED ALWAYS AS (customer * 2) STORED,
    CONSTRAINT known CHECK (customer >= 0)
);
ALTER TABLE "My Sales"."O 1" ATTACH PARTITION "My Sales".h1
    FOR VALUES WITH (modulus 2, remainder 1);
CREATE TABLE "My Sales".rest PARTITION OF "My Sales"."Orders" DEFAULT WITH (fillfactor = 70);
ALTER TABLE "My Sales".h0 ADD PRIMARY KEY ("Id");
ALTER TABLE "My Sales".h1 ADD PRIMARY KEY ("Id");
ALTER TABLE "My Sales".rest ADD PRIMARY KEY ("Id");
INSERT INTO "My Sales"."Orders" (day, customer, "a ""note""")
    SELECT date '2024-01-01' + n % 366, n, 'line' || chr(10) || n FROM generate_series(1, 600) n;
ANALYZE "My Sales"."Orders";
CREATE VIEW public.seen AS SELECT * FROM "My Sales"."Orders";
CREATE TABLE public.flat (id int PRIMARY KEY, at timestamptz DEFAULT now());
CREATE TABLE public.many (id int GENERATED ALWAYS AS IDENTITY, kind text) PARTITION BY LIST (kind);
CREATE TABLE public.many_a PARTITION OF public.many FOR VALUES IN ('a', NULL);
CREATE ROLE reader LOGIN PASSWORD 'secret';
GRANT USAGE ON SCHEMA "My Sales" TO reader;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
'''
ORDERS = '"My Sales"."Orders"'
LEFT = """SELECT (SELECT string_agg(nspname, ' ' ORDER BY 1) FROM pg_namespace
        WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'),
    (SELECT last_value FROM "My Sales"."Orders_Id_seq"),
    (SELECT last_value FROM public.many_id_seq),
    (SELECT md5(string_agg(o::text, ',' ORDER BY o::text)) FROM "My Sales"."Orders" o),
    (SELECT count(*) FROM public.flat), (SELECT count(*) FROM public.many)"""


class Advice(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.enterClassContext(patch.dict("os.environ", PGSLUICE_LAB_CACHE=cls.folder()))
        # The number of rows for INSERT affects only the time.
        cls.enterClassContext(patch.object(trial, "BATCHES", {1: 20, 100: 200}))
        cls.site = cls.enterClassContext(site.opened(None))
        cls.site.execute(SCHEMA)

    @classmethod
    def folder(cls) -> str:
        return cls.enterClassContext(tempfile.TemporaryDirectory(dir="/var/tmp"))

    def setUp(self):
        self.before = self.site.query(LEFT)

    def tearDown(self):
        self.site.forget()
        self.assertEqual(self.site.query(LEFT), self.before)

    def advice(self, table: str, text: str = "", of: Site | None = None, **more) -> advise.Advice:
        file = None
        if text:
            file = Path(self.folder()) / "rows.csv"
            file.write_text(text)
        form = Format.from_options(
            None, file, "header" in more, "", None, "", more.pop("columns", "")
        )
        more.pop("header", None)
        wish = Wish(table, file, form, **{"rows": 500, "rounds": 1, "jobs": 2, **more})
        self.asked = []
        return advise.advise(of or self.site, wish, self.asked.append, lambda *_: None)

    def refused(self, table: str, text: str = "", **more) -> LabError:
        with self.assertRaises(LabError) as caught:
            self.advice(table, text, **more)
        return caught.exception

    def failures(self, advice: advise.Advice) -> list[str]:
        return [load.reason for load in advice.figures.loads if load.seconds is None]

    def test_a_tree_measured_with_its_own_rows(self):
        advice = self.advice(ORDERS)
        self.assertEqual(self.failures(advice), [])
        self.assertEqual(len(advice.lines), 10)
        self.assertTrue(
            advice.lines[0].startswith(
                f"{ORDERS}: 3 leaves by RANGE (day), then HASH (customer); about 600 rows; "
            )
        )
        self.assertIn("0 of 3 leaves empty", advice.lines[0])
        self.assertIn("500 rows of the table itself, in random order", advice.lines[1])
        self.assertRegex(advice.lines[5], r"^This holds (from 50 rows|for loads of about 500)")
        few = {load.way.engine for load in advice.figures.loads if load.way.rows == 50}
        self.assertEqual(few, {"psql", "pgsluice", "pgsluice-exchange"})
        ways = {(load.way.case, load.way.engine) for load in advice.figures.loads}
        self.assertEqual(len(ways), 8)
        # Each leaf with its two indexes, and the tables above it, whose locks differ by version.
        self.assertGreaterEqual(advice.figures.locks, 3 * 3 + 2)
        self.assertEqual(advice.figures.locked, 3)
        self.assertEqual(len(self.asked), 1)
        self.assertIn(f"makes 12 empty tables like those of {ORDERS}", self.asked[0])

    def test_rows_of_a_file_that_lacks_a_column(self):
        text = "".join(f'2024-05-{n % 28 + 1:02},{n},"x\n{n}"\n' for n in range(40))
        columns = 'day,CUSTOMER,"a ""note"""'
        advice = self.advice(ORDERS, f"a,b,c\n{text}", columns=columns, header=True, rows=30)
        self.assertEqual(self.failures(advice), [])
        self.assertIn("the first 30 of about 4", advice.lines[1])

    def test_the_format_is_in_the_command_that_is_advised(self):
        def options(name: str, form: Format) -> list[str]:
            return advise.load_options(Wish("t", Path(name), form))

        csv = Format("csv", True, ",", "", "'", "a,b")
        self.assertEqual(
            options("x.csv", csv),
            ["--header", "--delimiter", ",", "--null", "", "--quote", "'", "--columns", "a,b"],
        )
        self.assertEqual(options("x.csv", Format("text")), ["--format", "text"])
        self.assertEqual(options("x.txt", Format("csv")), ["--format", "csv"])
        self.assertEqual(options("x.txt", Format("text")), [])
        self.assertEqual(advise.load_options(Wish("t")), [])
        self.assertEqual(advise.target_options("host=h password=x"), ("-d", "..."))
        self.assertEqual(advise.target_options("host=h"), ("-d", "host=h"))

    def test_tables_that_are_not_partitioned(self):
        advice = self.advice("flat", "".join(f"{n},2024-01-01\n" for n in range(50)))
        self.assertEqual(self.failures(advice), [])
        self.assertIn("flat: not partitioned; no rows", advice.lines[0])
        self.assertEqual(len(advice.lines), 10)

    def test_an_identity_is_copied_without_its_sequence(self):
        advice = self.advice("many", "a\na\n", columns="kind")
        self.assertEqual(self.failures(advice), [])
        self.assertIn("1 of 1 leaf empty", advice.lines[0])

    def test_a_question_that_is_answered_with_no(self):
        def no(_: str) -> None:
            raise LabError("no")

        with self.assertRaises(LabError):
            advise.advise(self.site, Wish(ORDERS), no, self.fail)

    def test_tables_without_advice(self):
        self.assertEqual(self.refused("seen").message, "seen is a view")
        self.assertEqual(self.refused("none").message, "there is no table none in this database")
        self.assertIn("is not the name of a table", self.refused("a.b.c.d").message)
        partition = self.refused('"My Sales".h0')
        self.assertEqual(partition.hint, f"Ask for: -t {ORDERS}")
        self.assertIn("no rows, and no FILE is given", self.refused("flat").message)
        self.assertIn("has no rows", self.refused("flat", "a,b\n", header=True).message)

    def test_rows_that_do_not_fit(self):
        error = self.refused("flat", "1,2024-01-01\nx,y\n")
        self.assertIn('invalid input syntax for type integer: "x"', error.detail)
        self.assertIn("COPY public.flat, line 2, column id", error.detail)
        error = self.refused("many", "b\n", columns="kind")
        self.assertIn("no partition of relation public.many found for row", error.detail)
        error = self.refused("flat", "1,2024-01-01\n1,2024-01-01\n")
        self.assertIn('constraint "n0_pkey" of the copy of public.flat', error.detail)

    def test_a_default_that_runs_code_of_the_user(self):
        error = self.refused(ORDERS, "2024-05-01,1\n", columns="day,customer")
        self.assertIn('column "a ""note""" is not in the input', error.message)

    def test_rights(self):
        url = conninfo.make_conninfo(self.site.url, user="reader", password="secret")
        reader = Site(url, self.site.env, embedded=False)
        try:
            self.assertIn("no permission to read", self.refused(ORDERS, "x\n", of=reader).message)
            error = self.refused("flat", "1,2024-01-01\n", of=reader)
            self.assertEqual(error.message, "the lab may not make a schema")
            self.assertIn("permission denied for database", error.detail)
        finally:
            reader.connection.close()

    def test_the_command(self):
        # The lab of this class holds the lock of its database.
        self.site.execute("CREATE DATABASE other")
        password = self.site.env["PGPASSWORD"]
        url = conninfo.make_conninfo(self.site.url, dbname="other", password=password)
        other = Site(url, self.site.env, embedded=False)
        other.execute("CREATE TABLE public.flat AS SELECT generate_series(1, 100) AS n")
        other.connection.close()
        command = [sys.executable, "-m", "pgsluice_lab", "advise", "-t", "flat", "-d", url]
        options = ["--rows", "50", "--rounds", "1", "-j", "1"]

        def run(*more: str) -> subprocess.CompletedProcess:
            return subprocess.run(
                [*command, *options, *more], stdin=subprocess.DEVNULL, env=self.site.env,
                capture_output=True, text=True, check=False,
            )  # fmt: skip

        refused = run()
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("hint: Add --yes.", refused.stderr)
        done = run("--yes", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("flat itself is only read", done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["sample"], "50 rows of the table itself, in random order")
        self.assertTrue(all(load["seconds"] for load in report["loads"]))
        self.assertLessEqual(len(report["lines"]), 10)


if __name__ == "__main__":
    unittest.main()
