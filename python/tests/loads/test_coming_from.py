"""The page on coming from other libraries: the lines before and after store the same rows.

They run unchanged, on a server that the PG* variables name.
"""

import ast
import asyncio
import inspect
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import psycopg
from formats.place import program, server
from pgsluice_lab.postgres import programs
from psycopg.conninfo import conninfo_to_dict

from .place import Limited
from .test_manual import MANUAL, SHOP

SECTION = re.compile(r"^### ", re.MULTILINE)
EXAMPLE = re.compile(r"```python\n(.*?)```|^    \$ (.*?)$", re.DOTALL | re.MULTILINE)
VARIABLES = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD"}
ROWS = [(1, "2026-01-31", "9.50"), (2, "2026-02-01", "0.00")]
FILE = "id,placed,total\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)


class InShop(Limited):
    """A test in the database `shop`, which the PG* variables choose."""

    def setUp(self):
        with psycopg.connect(server(), autocommit=True) as connection:
            # Sessions of examples end when Python collects them.
            connection.execute("DROP DATABASE IF EXISTS shop WITH (FORCE)")
            connection.execute("CREATE DATABASE shop")
        place = conninfo_to_dict(server())
        named = {VARIABLES[key]: str(place[key]) for key in VARIABLES if key in place}
        path = [str(Path(program()).parent), str(programs() or ""), os.environ["PATH"]]
        self.enterContext(patch.dict(os.environ, named, PATH=os.pathsep.join(path)))
        self.enterContext(patch.dict(os.environ, PSQLRC=os.devnull))
        self.connection = psycopg.connect("dbname=shop", autocommit=True)
        self.addCleanup(self.connection.close)
        self.connection.execute(SHOP)
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "orders.csv").write_text(FILE)


class ComingFrom(InShop):
    def test_before_and_after_are_equal(self):
        page, _, _ = (MANUAL / "coming-from.md").read_text().partition("\n## What you get\n")
        first, *sections = SECTION.split(page)
        names: dict[str, object] = {}
        self.run_examples(first, names)
        self.assertGreater(len(sections), 6)
        for section in sections:
            with self.subTest(section.partition("\n")[0]):
                self.assertGreaterEqual(self.run_examples(section, names), {"before", "after"})

    def run_examples(self, text: str, names: dict[str, object]) -> set[str]:
        """Run the examples of a part of the page; return whether it has lines before and after."""
        seen = set()
        for number, (code, command) in enumerate(EXAMPLE.findall(text)):
            if command:
                when, run = ("before", "after")[number], self.shell(command)
            else:
                when, run = code.partition("\n")[0].removeprefix("# "), python(code, names)
            if when not in ("before", "after"):
                run()
                continue
            seen.add(when)
            with self.subTest(code or command):
                self.connection.execute("DELETE FROM orders")
                run()
                self.assertEqual(self.stored(), ROWS)
        return seen

    def shell(self, command: str) -> Callable[[], object]:
        def run() -> None:
            done = subprocess.run(
                command, shell=True, cwd=self.folder, capture_output=True, text=True, check=False
            )
            self.assertEqual(done.returncode, 0, done.stderr)

        return run

    def stored(self) -> list[tuple[int, str, str]]:
        query = "SELECT id, placed::text, total::text FROM orders ORDER BY id"
        return self.connection.execute(query).fetchall()


def python(code: str, names: dict[str, object]) -> Callable[[], object]:
    """Return a function that runs the code; `await` is allowed outside of functions."""
    compiled = compile(code, "coming-from.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    def run() -> None:
        outcome = eval(compiled, names)
        if inspect.isawaitable(outcome):
            asyncio.run(outcome)

    return run


if __name__ == "__main__":
    unittest.main()
