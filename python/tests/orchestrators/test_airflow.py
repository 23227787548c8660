"""`PgsluiceHook` in Airflow: the table and ledger after tries, crashes and mapped tasks."""

import contextlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

import pgsluice
import psycopg
from formats.place import server
from loads.place import Limited
from psycopg.conninfo import conninfo_to_dict

from .dags_of import BEGIN, ROWS

DAGS = Path(__file__).with_name("dags.py")
RUN = f"manual__{BEGIN.isoformat()}"
SECRET = "open 'sesame' \\ &%"
TABLES = ("streamed", "whole", "called", "mapped", "crashed", "outside")


@unittest.skipUnless(importlib.util.find_spec("airflow"), "Airflow is not installed")
class OnAirflow(Limited):
    limit = 600

    @classmethod
    def setUpClass(cls):
        """Create Airflow's database, in a folder that its variables name."""
        cls.home = Path(tempfile.mkdtemp(prefix="pgsluice-airflow-"))
        cls.addClassCleanup(shutil.rmtree, cls.home)
        place = conninfo_to_dict(server())
        given = {"conn_type": "postgres", "login": "loader", "password": SECRET}
        given |= {"host": place["host"], "port": place.get("port"), "schema": "postgres"}
        given["extra"] = {"sslmode": "prefer"}
        nowhere = given | {"port": 1, "extra": {"cursor": "dictcursor", "prepare_threshold": 5}}
        variables = {
            "AIRFLOW_HOME": str(cls.home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW_CONN_SHOP": json.dumps(given),
            "AIRFLOW_CONN_NOWHERE": json.dumps(nowhere),
            "MARKER": str(cls.home / "crashed"),
        }
        cls.enterClassContext(patch.dict(os.environ, variables))
        dags = cls.home / "dags"
        dags.mkdir()
        for name in ("dags.py", "dags_of.py"):
            shutil.copy(DAGS.with_name(name), dags)
        cls.program("-m", "airflow", "db", "migrate")

    def setUp(self):
        self.connection = self.enterContext(psycopg.connect(server(), autocommit=True))
        made = "".join(f"CREATE TABLE {it} (id bigint, pad text);" for it in TABLES)
        self.connection.execute(
            "DROP SCHEMA IF EXISTS pgsluice CASCADE;"
            f"DROP TABLE IF EXISTS {', '.join(TABLES)}; DROP ROLE IF EXISTS loader;{made}"
        )
        self.connection.execute(
            psycopg.sql.SQL("CREATE ROLE loader LOGIN SUPERUSER PASSWORD {}").format(SECRET)
        )

    @classmethod
    def program(cls, *args: str, status: int = 0) -> str:
        """Run Python with arguments; return its output."""
        done = subprocess.run(
            [sys.executable, *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != status:
            raise AssertionError(f"{args} ended with {done.returncode}\n{done.stdout}")
        return done.stdout

    def run_dag(self, name: str, status: int = 0) -> str:
        return self.program(str(self.home / "dags/dags.py"), name, status=status)

    def rows(self, table: str) -> tuple[int, int]:
        """Return the number of rows and of distinct ids in a table."""
        return self.connection.execute(
            f"SELECT count(*), count(DISTINCT id) FROM {table}"
        ).fetchone()

    def ids(self) -> set[str]:
        return {entry.id for entry in pgsluice.ledger(server())}


class Dags(OnAirflow):
    def test_tries_of_a_task_store_each_row_once(self):
        output = self.run_dag("fails")
        self.assertIn("state=success", output)
        self.assertEqual(self.rows("streamed"), (ROWS, ROWS))
        already = int(re.search(r"ALREADY (\d+)", output)[1])
        self.assertTrue(0 < already < ROWS, already)
        self.assertEqual(self.rows("whole"), (10, 10))
        self.assertEqual(self.rows("called"), (4, 4))
        self.assertEqual(self.rows("mapped"), (3, 3))
        calls = {"calls", "calls#2", "calls#3"}
        tasks = {"stream", "whole", "mapped[0]", "mapped[1]", "mapped[2]"} | calls
        self.assertEqual(self.ids(), {f"fails/{RUN}/{task}" for task in tasks})

    def test_a_crashed_task_is_resumed(self):
        self.run_dag("crashes", status=-9)
        stored, _ = self.rows("crashed")
        self.assertTrue(0 < stored < ROWS, stored)
        self.run_dag("crashes")
        self.assertEqual(self.rows("crashed"), (ROWS, ROWS))
        self.assertEqual(self.ids(), {f"crashes/{RUN}/load"})

    def test_errors_are_logged_without_the_password(self):
        output = self.run_dag("refuses")
        for words in (
            'relation "no_such_table" does not exist',
            "Connection refused",
            "/no/such/file",
            "invalid input syntax for type bigint",
        ):
            self.assertIn(words, output)
        logs = [file.read_text() for file in (self.home / "logs").rglob("*.log")]
        for text in (output, *logs):
            self.assertNotIn("sesame", text)


OUTSIDE = """
import json, sys, traceback
from pathlib import Path
from pgsluice.airflow import PgsluiceHook, _shorten

hook = PgsluiceHook("shop")
output = {}
done = hook.insert_rows("outside", [(1, "a"), (2, "b")], ["id", "pad"])
output["first"] = done.load_id
output["second"] = hook.insert_rows("outside", iter([{"pad": "c", "id": 3}])).load_id
output["named"] = hook.insert_rows("outside", [(4, "d")], load_id="mine").load_id
output["empty"] = sum(
    hook.insert_rows("outside", rows, ["id", "pad"], replace=True, replace_index="id").rows_loaded
    for rows in ([], iter([]), map(str, ()))
)
Path("rows.txt").write_text("5\\te\\n6\\t\\\\N\\n")
output["file"] = hook.bulk_load(table="outside", tmp_file="rows.txt").rows_loaded
for _ in range(2):
    Path("more.txt").write_text("8\\tg\\n")
    hook.bulk_load("outside", open("more.txt", "rb"), load_id="opened")
Path("rows.csv").write_text("pad,id\\nf,7\\n")
hook.bulk_load("outside", "rows.csv", format=None, header="map", no_ledger=True)
for table, options in (
    ("no_such_table", {}),
    ("outside", {"target_fields": ["id", "pat"]}),
    ("outside", {"reject_files": "x"}),
    ("outside", {"wait": "0s"}),
):
    used = PgsluiceHook("nowhere") if "wait" in options else hook
    try:
        used.insert_rows(table, [(1, "a")], **options)
    except Exception:
        output.setdefault("errors", []).append(traceback.format_exc())
output["repr"] = repr(hook)
output["long"] = [_shorten("x" * 199 + end) for end in ("a", "bb", "cc")]
json.dump(output, open("output.json", "w"))
"""
CHANGES = """
from pgsluice.airflow import PgsluiceHook
from airflow.providers.postgres.hooks.postgres import PostgresHook

for table, Hook in (("by_postgres", PostgresHook), ("by_pgsluice", PgsluiceHook)):
    hook = Hook("shop")
    fields = ["ID", "pad", "order"]
    hook.insert_rows(table, [(1, "a", 1), (2, "b", 2)], fields)
    hook.insert_rows(table, [(1, "c", 3), (3, "d", 4)], fields, replace=True, replace_index="ID")
    hook.insert_rows(
        table, [(2, "e", 5)], fields, replace=True, replace_index=["ID"], replace_target=["order"]
    )
    hook.insert_rows(table, [(3,), (4,)], ["ID"], replace=True, replace_index="ID")
    hook.upsert_rows(table, [(1, "z"), (5, "f")], ["id", "pad"], ["id"], update_fields=[])
    hook.upsert_rows(table, [(5, "g")], ["id", "pad"], ["id"], fast_executemany=True)
    hook.insert_rows(f"public.{table}", [(6, "h"), (1, "i")], ["id", "pad"], replace=True)
"""


class Hook(OnAirflow):
    def python(self, code: str) -> Path:
        """Run a script in its own folder."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "script.py").write_text(code)
        self.enterContext(contextlib.chdir(folder))
        self.program("script.py")
        return folder

    def test_outside_of_a_task(self):
        output = json.loads((self.python(OUTSIDE) / "output.json").read_text())
        self.assertRegex(output["first"], "^[0-9a-f]{16}$")
        self.assertNotEqual(output["first"], output["second"])
        self.assertEqual((output["named"], output["empty"], output["file"]), ("mine", 0, 2))
        self.assertEqual(self.rows("outside"), (8, 8))
        words = (
            'relation "no_such_table"',
            '"pat" does not exist',
            "reject_file",
            "Connection refused",
        )
        self.assertEqual(len(output["errors"]), len(words))
        for text, word in zip(output["errors"], words, strict=True):
            self.assertIn(word, text)
        for text in (*output["errors"], output["repr"]):
            self.assertNotIn("sesame", text)
        self.assertEqual(output["long"][0], "x" * 199 + "a")
        self.assertEqual([len(name) for name in output["long"]], [200] * 3)
        self.assertEqual(len(set(output["long"])), 3)

    def test_changes_are_those_of_postgres_hook(self):
        self.connection.execute("DROP TABLE IF EXISTS by_postgres, by_pgsluice")
        for table in ("by_postgres", "by_pgsluice"):
            self.connection.execute(
                f'CREATE TABLE {table} (id bigint PRIMARY KEY, pad text, "order" int)'
            )
        self.python(CHANGES)
        query = "SELECT * FROM {} ORDER BY id"
        expected, stored = (
            self.connection.execute(query.format(table)).fetchall()
            for table in ("by_postgres", "by_pgsluice")
        )
        self.assertEqual(len(expected), 6)
        self.assertEqual(stored, expected)


if __name__ == "__main__":
    unittest.main()
