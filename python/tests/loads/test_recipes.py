"""The blocks of docs/recipes run unchanged, page by page, in the database `shop`.

An HTML comment before a block contains details that readers do not need:

    <!-- status 3 -->        the command ends with this status
    <!-- needs duckdb -->    the block is left out if this program or package is missing
    <!-- not run: why -->    the block is never run

A block after a line such as "`nightly.sh`:" is that file. A `text` block must be in the output of
the command before it, apart from digits and load ids.
"""

import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import unittest
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from .test_coming_from import InShop, python
from .test_manual import MANUAL

DOCS = MANUAL.parent
RECIPES = DOCS / "recipes"
BLOCK = re.compile(
    r"(?:^`(?P<file>[\w.-]+)`:\n+)?(?P<marks>(?:^<!-- .*? -->\n)*)"
    r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
MARK = re.compile(r"<!-- (status|needs|not run:) (.*?) -->")
EXPORT = re.compile(r"^export .*\n", re.MULTILINE)
VARYING = re.compile(r"[0-9a-f]{16}|\d[\d.,:-]*")
# The file at 3 a.m.: 998 good rows and two bad ones.
ROWS = [f"{number},2026-03-{number % 28 + 1:02},{number % 97}.50" for number in range(1, 1001)]
BAD = {499: "500,2026-02-30,1.00", 699: "x,2026-03-01,1.00"}
DAY = "\n".join(["id,placed,total", *(BAD.get(at, row) for at, row in enumerate(ROWS)), ""])
OCTOBER = "id,placed,total\n" + "".join(
    f"{number},2026-10-{number % 31 + 1:02},1.00\n" for number in range(1, 301)
)
FILES = {
    "inbox/orders-2026-11-25.csv": DAY,
    "corrected.csv": DAY.replace(BAD[499], ROWS[499]).replace(BAD[699], ROWS[699]),
    "more.csv": "id,placed,total\n3,2026-01-31,9.50\n",
    "october.csv": OCTOBER,
    "days/1.csv": "id,placed,total\n1,2026-01-31,9.50\n",
    "days/2.csv": "id,placed,total\n2,2026-02-01,0.00\n",
}
# Instead of docker: runs the words after the image, with only the named variables.
DOCKER = """#!/usr/bin/env python3
import os, subprocess, sys
words, named = sys.argv[2:], {"PATH": os.environ["PATH"]}
while words[0] != "pgsluice":
    word = words.pop(0)
    if word == "-e":
        name = words.pop(0)
        named[name] = os.environ[name]
    elif word in ("-v", "-w"):
        words.pop(0)
sys.exit(subprocess.run(words, env=named).returncode)
"""

# Code that calls the code of a page.
REQUESTS = """
from fastapi.testclient import TestClient

row = {"id": 1, "placed": "2026-01-31", "total": "9.50"}
with TestClient(app) as client:
    for _ in range(2):
        assert client.post("/orders/now", json=[row]).status_code == 201
    rows = [row | {"id": 2}, row | {"id": 3, "placed": "2027-01-31"}]
    assert client.post("/orders", json=rows).json() == {"rows": 2}
    assert client.post("/orders", json=[row | {"id": "x"}]).status_code == 422
"""


@dataclass
class Block:
    """A fenced block of a page."""

    kind: str
    text: str
    file: str | None
    status: int
    needs: str | None
    is_run: bool

    @property
    def is_missing(self) -> bool:
        """Whether the program or the package that the block needs is not installed."""
        if not self.needs:
            return False
        find = shutil.which if self.kind == "sh" else importlib.util.find_spec
        return find(self.needs) is None


def blocks(text: str) -> Iterator[Block]:
    for found in BLOCK.finditer(text):
        marks = dict(MARK.findall(found["marks"]))
        yield Block(
            kind=found["kind"],
            text=found["text"],
            file=found["file"],
            status=int(marks.get("status", 0)),
            needs=marks.get("needs"),
            is_run="not run:" not in marks,
        )


def orders_sql() -> str:
    """Return the DDL of the manual's example, without its rows."""
    _, _, rest = (MANUAL / "README.md").read_text().partition("```sql\n")
    return rest.partition("\\copy")[0]


class OnPage(InShop):
    def setUp(self):
        super().setUp()
        for name, text in FILES.items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(text)
        # `python` in a block is the interpreter that runs this test.
        self.put_program("python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        self.connection.execute("DROP TABLE orders, orders_old")
        self.bash("psql -X -q -v ON_ERROR_STOP=1 -d shop >psql.log", orders_sql())

    def put_program(self, name: str, text: str) -> None:
        """Put a program before others of the same name."""
        place = self.folder / "bin" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
        place.chmod(0o755)

    def bash(self, text: str, given: str = "", status: int = 0) -> str:
        """Run commands until the first failure; return their whole output."""
        done = subprocess.run(
            ["bash", "-e", "-c", f'PATH="$PWD/bin:$PATH"\n{text}'],
            cwd=self.folder,
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, status, f"{text}\n{done.stdout}")
        return done.stdout

    def run_page(self, page: Path) -> int:
        """Write and run the blocks of a page; return the number that ran."""
        return self.run_blocks(page.read_text())

    def run_blocks(self, text: str) -> int:
        names: dict[str, object] = {}
        run, output, exports = 0, "", ""
        for block in blocks(text):
            if not block.is_run or block.is_missing:
                continue
            if block.file:
                (self.folder / block.file).write_text(block.text)
            elif block.kind == "sh":
                output = self.bash(exports + block.text, status=block.status)
                exports += "".join(EXPORT.findall(block.text))
                run += 1
            elif block.kind == "python":
                with contextlib.chdir(self.folder), patch("builtins.print"):
                    python(block.text, names)()
                run += 1
            elif block.kind == "text":
                for line in block.text.splitlines():
                    self.assertIn(VARYING.sub("N", line), VARYING.sub("N", output))
        return run

    def count(self, where: str = "true") -> int:
        return self.connection.execute(f"SELECT count(*) FROM orders WHERE {where}").fetchone()[0]


class Recipes(OnPage):
    def test_nightly(self):
        self.assertEqual(self.run_page(RECIPES / "nightly.md"), 7)
        self.assertEqual(self.count(), 1002)

    def test_containers(self):
        self.put_program("docker", DOCKER)
        with patch.dict(os.environ, PGDATABASE="shop"):
            self.assertEqual(self.run_page(RECIPES / "containers.md"), 3)
        self.assertEqual(self.count(), 3)

    def test_fastapi(self):
        self.run_page(RECIPES / "fastapi.md")
        script = self.folder / "app.py"
        if not script.exists():
            self.skipTest("FastAPI is not installed")
        script.write_text(script.read_text() + REQUESTS)
        self.bash("python app.py")
        self.assertEqual(self.count(), 2)

    def test_duckdb_and_polars(self):
        self.assertGreaterEqual(self.run_page(RECIPES / "duckdb-polars.md"), 5)

    def test_plain_table(self):
        self.connection.execute(
            "ALTER TABLE orders RENAME TO orders_new;"
            "CREATE TABLE orders (id bigint, placed date, total numeric(10,2) NOT NULL);"
            "INSERT INTO orders SELECT i, date '2026-01-01' + i % 365, 1"
            " FROM generate_series(1, 1000) AS i"
        )
        self.assertEqual(self.run_page(RECIPES / "plain-table.md"), 3)
        self.assertEqual(self.count(), 1000)

    def test_replace_month(self):
        self.connection.execute(
            "INSERT INTO orders SELECT i, '2026-10-05', 9 FROM generate_series(1, 10) AS i;"
            "INSERT INTO orders VALUES (1, '2026-09-30', 9)"
        )
        self.assertEqual(self.run_page(RECIPES / "replace-month.md"), 5)
        self.assertEqual((self.count("total = 1"), self.count()), (300, 301))

    def test_every_block_is_run_or_says_why(self):
        for page in (*RECIPES.glob("*.md"), DOCS / "troubleshooting.md"):
            fences = re.findall(r"^```\w", page.read_text(), re.MULTILINE)
            self.assertEqual(len(list(blocks(page.read_text()))), len(fences), page)


if __name__ == "__main__":
    unittest.main()
