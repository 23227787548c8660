"""A server, two tables of three leaves, and the program that loads files into one of them.

The other table is filled by COPY through its root: the server decides about each value and its
leaf.
"""

import atexit
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import psycopg
from psycopg import sql

LEAVES = 3
# A load of a few rows takes a tenth of a second, so one that takes this long hangs.
LIMIT = 30
# No file here needs a gigabyte of memory, whatever it claims.
MEAGRE = 'ulimit -d 1048576; exec "$0" "$@"'
SETTINGS = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "TimeZone=Asia/Kolkata")
Done = subprocess.CompletedProcess[str]
# Types of some columns.
TYPES = """
    CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
    CREATE TYPE pair AS (a int, b text);
    CREATE DOMAIN positive AS int CHECK (value > 0);
    CREATE TYPE nested AS (p pair, many int[], at timestamptz);
"""


def program() -> str:
    """Return the program under test, not the environment's, which may be older."""
    named = os.environ.get("PGSLUICE_PROGRAM") or shutil.which("pgsluice")
    return str(Path(named).absolute()) if named else "pgsluice"


@cache
def server() -> str:
    """Return the URL of a server that all these tests share; it ends with the process."""
    folder = tempfile.mkdtemp(prefix="pgsluice-formats-", dir="/var/tmp")
    Path(folder).chmod(0o755)  # started by root, the server runs as another user
    place = ["--data", f"{folder}/data"]
    settings = [arg for setting in SETTINGS for arg in ("--set", setting)]

    def stop() -> None:
        subprocess.run([program(), "server", "stop", *place], capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    command = [program(), "server", "start", *place, *settings]
    started = subprocess.run(command, capture_output=True, text=True, check=True)
    url = started.stdout.split()[-1]
    with psycopg.connect(url) as connection:
        connection.execute(TYPES)
    return url


class OnServer(unittest.TestCase):
    """A test with its own folder, and the tables `loaded` and `copied`."""

    # Most of these loads have a few rows, and a ledger would take a third of their time.
    quick = ("--no-ledger",)

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.connection = psycopg.connect(server(), autocommit=True)
        self.addCleanup(self.connection.close)
        # Values are shown as text with all their digits.
        self.connection.execute("SET extra_float_digits = 1")

    def make(self, **columns: str) -> None:
        """Create both tables, with these columns after an id."""
        names = [sql.SQL("{} {}").format(sql.Identifier(n), sql.SQL(t)) for n, t in columns.items()]
        columns = sql.SQL(", ").join([sql.SQL("id bigint NOT NULL"), *names])
        self.make_by(columns, "id")

    def make_by(self, columns: sql.Composable, key: str) -> None:
        """Create both tables, partitioned by hash of a column."""
        statements = [sql.SQL("DROP TABLE IF EXISTS loaded, copied")]
        for table in ("loaded", "copied"):
            root = sql.SQL("CREATE TABLE {} ({}) PARTITION BY HASH ({})")
            statements.append(root.format(sql.SQL(table), columns, sql.Identifier(key)))
            statements += [
                sql.SQL(
                    f"CREATE TABLE {table}_{leaf} PARTITION OF {table}"
                    f" FOR VALUES WITH (MODULUS {LEAVES}, REMAINDER {leaf})"
                )
                for leaf in range(LEAVES)
            ]
        self.connection.execute(sql.SQL("; ").join(statements))

    def empty(self, *tables: str) -> None:
        """Remove all rows: for a few rows, DELETE is faster than TRUNCATE."""
        for table in tables:
            self.connection.execute(f"DELETE FROM {table}")

    def run_program(self, *args: str | Path, given: Path | None = None) -> Done:
        """Run the program to its end, with a file as its standard input."""
        command = ["sh", "-c", MEAGRE, program(), *map(str, args), "-d", server()]
        with (given or Path(os.devnull)).open("rb") as stdin:
            return subprocess.run(
                command,
                stdin=stdin,
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
                cwd=self.folder,
            )

    def load(self, *files: str | Path, options: Sequence[str | Path] = ()) -> Done:
        """Load files into `loaded`, with any result. It never panics."""
        done = self.run_program("load", *files, "-t", "loaded", *self.quick, *options)
        self.assertNotIn("panicked", done.stderr)
        self.assertIn(done.returncode, (0, 1, 2, 3), done.stderr)
        return done

    def load_whole(self, *files: str | Path, options: Sequence[str] = ()) -> None:
        """Load files whose rows must all go in; as binary, if the options require it."""
        done = self.load(*files, options=options)
        self.assertEqual(done.returncode, 0, done.stderr)
        if "binary" in options:
            self.assertNotIn("sent as text", done.stderr)

    def refuse(
        self, *files: str | Path, message: Iterable[str], options: Sequence[str] = ()
    ) -> str:
        """Load files that must be rejected with these words, without storing rows."""
        done = self.load(*files, options=options)
        self.assertIn(done.returncode, (1, 2), done.stderr)
        for words in message:
            self.assertIn(words, done.stderr)
        self.assertEqual(self.rows("loaded"), [], done.stderr)
        return done.stderr

    def reject(
        self, *files: str | Path, options: Sequence[str | Path] = ()
    ) -> tuple[list[dict], list[dict]]:
        """Load files with bad rows; return the rejected rows, and the log."""
        bad = self.folder / "bad.ndjson"
        done = self.load(*files, options=["--reject-file", bad, "--max-rejects", "100%", *options])
        self.assertEqual(done.returncode, 3, done.stderr)
        log = bad.with_name("bad.ndjson.log")
        return tuple([json.loads(line) for line in f.read_text().splitlines()] for f in (bad, log))

    def copy(self, rows: Iterable[Sequence]) -> None:
        """Fill `copied` through its root, with values or with their text."""
        with self.connection.cursor().copy("COPY copied FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def rows(self, table: str) -> list[tuple[str, str]]:
        """Return each row of a table as text, after the number of its leaf."""
        query = f"SELECT right(tableoid::regclass::text, 1), {table}::text FROM {table} ORDER BY id"
        return self.connection.execute(query).fetchall()

    def assert_same(self) -> None:
        """Compare the rows and leaves of the two tables."""
        self.assertEqual(self.rows("loaded"), self.rows("copied"))

    def assert_loaded(self, rows: Iterable[Sequence], *files: str | Path, options=()) -> None:
        """Load files, and compare with rows that COPY loads."""
        self.empty("loaded", "copied")
        self.copy(rows)
        self.load_whole(*files, options=options)
        self.assert_same()
