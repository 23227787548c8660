"""Each message of docs/troubleshooting.md is produced, and its section's commands are run."""

import re
import subprocess
import unittest
from typing import NamedTuple

from .test_recipes import DOCS, OnPage, orders_sql

ROW = re.compile(r"^\| (.*) \| \[(.*?)\]\(#.*\) \|$", re.MULTILINE)
QUOTED = re.compile(r"`([^`]*)`")
HEAD = "id,placed,total\n"
FILES = {
    "orders.csv": f"{HEAD}1,2026-01-31,9.50\n2,2026-02-01,0.00\n",
    "semicolons.csv": "id;placed;total\n1;2026-01-31;9.50\n",
    "excel.csv": "sep=;\nid;placed;total\n1;2026-01-31;9.50\n",
    "nulls.csv": f"{HEAD}1,2026-01-31,NULL\n",
    "empty.csv": f"{HEAD}1,2026-01-31,\n",
    "extra.csv": "id,placed,total,note\n1,2026-01-31,9.50,x\n",
    "few.csv": "id,placed\n1,2026-01-31\n",
    "names.csv": "id,placed,amount\n1,2026-01-31,9.50\n",
    "dates.csv": f"{HEAD}1,31/01/2026,9.50\n",
    "next.csv": f"{HEAD}1,2027-01-31,9.50\n",
    "ends.csv": f"{HEAD}1,2026-01-31,9.50\n2,2026-02-01,0.00\r\n",
    "bad.csv": HEAD
    + "".join(f"{number},2026-01-31,1.00\n" for number in range(1, 200))
    + "200,2026-01-31,n/a\n",
    "none.csv": "",
    "orders.ndjson": '{"id": 1, "placed": "2026-01-31", "total": 9.5},\n'
    '{"id": 2, "placed": "2026-02-01", "total": 0},\n',
    "array.json": '[{"id": 3, "placed": "2026-01-31", "total": 9.5}]\n',
}
LOAD = "pgsluice load orders.csv --header -t orders -d shop"
FIRST = f"{LOAD} --load-id orders-v1"


class Case(NamedTuple):
    """The way to produce a message."""

    command: str
    sql: str = ""
    """The change of the table before the section."""
    status: int = 1
    least: int = 0
    """The least version of the server on which the section applies."""
    then: str = ""
    """A command that succeeds after those of the section."""


CASES = {
    "Connection failed": Case("PGPORT=1 pgsluice load orders.csv --header -t orders -h localhost"),
    "No such database": Case("pgsluice load orders.csv --header -t orders -d shopp"),
    "Client encoding": Case(
        "PGCLIENTENCODING=LATIN1 pgsluice load latin1.csv --header -t names -d shop", status=2
    ),
    "Permission denied": Case(
        f"{LOAD} && psql -X -q -d shop -c 'TRUNCATE orders'"
        ' -c "DROP ROLE IF EXISTS clerk" -c "CREATE ROLE clerk LOGIN PASSWORD \'c\'"'
        " && PGPASSWORD=c pgsluice load orders.csv --header -t orders -d shop -U clerk",
        then="PGPASSWORD=c pgsluice load orders.csv --header -t orders -d shop -U clerk",
    ),
    "No such table": Case("pgsluice load orders.csv --header -t order -d shop"),
    "Unexpected argument": Case("pgsluice load orders.csv --headr -t orders", status=2),
    "No such file": Case("pgsluice load nowhere.csv -t orders -d shop"),
    "A URL": Case("pgsluice load ftp://example.org/day.csv -t orders -d shop"),
    "Other compressions": Case(
        "bzip2 -k orders.csv; pgsluice load orders.csv.bz2 --header -t orders -d shop"
    ),
    "No rows": Case("pgsluice load none.csv -t orders -d shop", status=0),
    "A header": Case("pgsluice load orders.csv -t orders -d shop"),
    "Another delimiter": Case("pgsluice load semicolons.csv --header -t orders -d shop"),
    "A first line of Excel": Case("pgsluice load excel.csv --header -t orders -d shop"),
    "Another spelling of NULL": Case(
        "pgsluice load nulls.csv --header -t orders -d shop",
        "ALTER TABLE orders ALTER total DROP NOT NULL",
    ),
    "Day and month": Case("pgsluice load dates.csv --header -t orders -d shop"),
    "Too many fields": Case("pgsluice load extra.csv --header -t orders -d shop"),
    "Too few fields": Case(
        "pgsluice load few.csv --header -t orders -d shop",
        "ALTER TABLE orders ALTER total SET DEFAULT 0",
    ),
    "Another name of a column": Case("pgsluice load names.csv --header=map -t orders -d shop"),
    "Another encoding": Case("pgsluice load latin1.csv --header -t names -d shop"),
    "Mixed line ends": Case("pgsluice load ends.csv --header -t orders -d shop"),
    "JSON that is not one object per line": Case("pgsluice load orders.ndjson -t orders -d shop"),
    "No partition": Case("pgsluice load next.csv --header -t orders -d shop"),
    "An empty field in place of a default": Case(
        "pgsluice load empty.csv --header -t orders -d shop",
        "ALTER TABLE orders ALTER total SET DEFAULT 0",
        least=160000,
    ),
    "A key that exists": Case(LOAD, "INSERT INTO orders VALUES (1, '2026-01-31', 1)"),
    "One bad row": Case("pgsluice load bad.csv --header -t orders -d shop"),
    "Loaded before": Case(f"{LOAD} && {LOAD} --once"),
    "The file has changed": Case(f"{FIRST} && echo 3,2026-01-31,1 >>orders.csv && {FIRST}"),
    "Another run": Case(
        "load='pgsluice load - --format csv -t orders -d shop --load-id busy';"
        "sleep 15 | $load & sleep 1; $load </dev/null; status=$?; wait; exit $status"
    ),
    "A lock": Case(
        "psql -X -d shop -c 'BEGIN; LOCK TABLE orders_2026_01; SELECT pg_sleep(5)' >lock.log &"
        f" sleep 1; {LOAD} --lock-timeout 1s --on-conflict update; status=$?; wait; exit $status"
    ),
    "A leaf is not empty": Case(
        f"{LOAD} --exchange=require",
        "INSERT INTO orders SELECT i, '2026-01-31', 1 FROM generate_series(10, 99) AS i",
    ),
}


class Troubleshooting(OnPage):
    """Every message of the page, one after the other."""

    limit = 240

    def setUp(self):
        super().setUp()
        self.page = (DOCS / "troubleshooting.md").read_text()
        self.connection.execute("CREATE TABLE names (id int, name text)")

    def make(self, sql: str) -> None:
        """Restore the table and the files."""
        for name, text in FILES.items():
            (self.folder / name).write_text(text, newline="")
        (self.folder / "latin1.csv").write_bytes(b"id,name\n1,caf\xe9\n")
        self.connection.execute("DROP TABLE orders; DROP SCHEMA IF EXISTS pgsluice CASCADE")
        self.bash("psql -X -q -v ON_ERROR_STOP=1 -d shop >psql.log", orders_sql())
        if sql:
            self.connection.execute(sql)

    def test_messages(self):
        version = self.connection.info.server_version
        listed = ROW.findall(self.page)
        self.assertEqual([title for _, title in listed], list_of_titles(self.page))
        self.assertEqual({title for _, title in listed}, set(CASES))
        for message, title in listed:
            case = CASES[title]
            if version < case.least:
                continue
            with self.subTest(title):
                self.make(case.sql)
                self.assert_printed(self.fails(case), message)
                self.run_blocks(section(self.page, title))
                self.bash(case.then)

    def fails(self, case: Case) -> str:
        done = subprocess.run(
            ["bash", "-c", case.command],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, case.status, done.stderr)
        return done.stderr

    def assert_printed(self, output: str, message: str) -> None:
        """Find the words of a message, with any text for its dots."""
        for words in QUOTED.findall(message):
            parts = map(re.escape, words.split("..."))
            self.assertRegex(output, ".*".join(parts))


def list_of_titles(page: str) -> list[str]:
    return re.findall(r"^## (.*)$", page, re.MULTILINE)


def section(page: str, title: str) -> str:
    _, _, rest = page.partition(f"\n## {title}\n")
    return rest.partition("\n## ")[0]


if __name__ == "__main__":
    unittest.main()
