"""The loops of applications: psycopg sends the rows of a file, a batch per transaction.

    python -m pgsluice_lab.clients insert --table TABLE [--columns COLUMNS] --batch N FILE CONNINFO

The clock starts when the connection is open and the rows are in memory, and stops at the last
commit, so that neither Python's start nor reading the file counts.
"""

import argparse
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|.)", re.DOTALL)
ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
Row = list[str | None]


def insert(connection: psycopg.Connection, into: str, rows: list[str], batch: int) -> None:
    """Send one statement per row and wait for each; a single one is its own transaction."""
    statement = f"INSERT INTO {into} VALUES {placeholders(rows)}"
    cursor = connection.cursor()
    for some in batches([fields(row) for row in rows], batch):
        if batch == 1:
            cursor.execute(statement, some[0])
            continue
        with connection.transaction():
            for row in some:
                cursor.execute(statement, row)


def executemany(connection: psycopg.Connection, into: str, rows: list[str], batch: int) -> None:
    """Send one statement per row without waiting for each, with the driver's method."""
    statement = f"INSERT INTO {into} VALUES {placeholders(rows)}"
    cursor = connection.cursor()
    for some in batches([fields(row) for row in rows], batch):
        with connection.transaction():
            cursor.executemany(statement, some)


def values(connection: psycopg.Connection, into: str, rows: list[str], batch: int) -> None:
    """Send one statement with all rows of a transaction."""
    cursor, one = connection.cursor(), placeholders(rows)
    for some in batches([fields(row) for row in rows], batch):
        statement = f"INSERT INTO {into} VALUES {', '.join([one] * len(some))}"
        cursor.execute(statement, [value for row in some for value in row])


def copy(connection: psycopg.Connection, into: str, rows: list[str], batch: int) -> None:
    """Send one COPY per transaction."""
    cursor = connection.cursor()
    for some in batches(rows, batch):
        with cursor.copy(f"COPY {into} FROM STDIN") as stream:
            stream.write("".join(some))


WAYS = {each.__name__: each for each in (insert, executemany, values, copy)}


def batches(rows: list, batch: int) -> Iterator[list]:
    """Yield this number of rows at a time; the last batch may have fewer."""
    return (rows[first : first + batch] for first in range(0, len(rows), batch))


def placeholders(rows: list[str]) -> str:
    """Return the placeholders for the values of one row."""
    return f"({', '.join(['%s'] * (rows[0].count(chr(9)) + 1))})" if rows else "()"


def fields(line: str) -> Row:
    """Return the values of a line of COPY text."""
    return [
        None if field == "\\N" else ESCAPE.sub(unescaped, field) if "\\" in field else field
        for field in line.rstrip("\n").split("\t")
    ]


def unescaped(match: re.Match) -> str:
    code = match[1]
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return chr(int(code[1:], 16)) if len(code) > 1 else ESCAPED.get(code, code)


def main(args: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="clients", description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=f"psycopg {psycopg.__version__}")
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("--table", required=True, help="the table, as SQL has it")
    parser.add_argument("--columns", default="", help="those that the file has: name, kind")
    parser.add_argument("--batch", type=int, required=True, help="rows a transaction")
    parser.add_argument("file", type=Path)
    parser.add_argument("conninfo")
    options = parser.parse_args(args)
    if options.batch < 1:
        parser.error("--batch must be at least 1")
    columns = options.columns.strip("()")
    into = f"{options.table} ({columns})" if columns else options.table
    with options.file.open(encoding="utf-8", newline="\n") as lines:
        rows = lines.readlines()
    with psycopg.connect(options.conninfo, autocommit=True) as connection:
        began = time.perf_counter()
        WAYS[options.way](connection, into, rows, options.batch)
        seconds = time.perf_counter() - began
    print(f"{len(rows)} rows in {seconds:.6f} s: {len(rows) / seconds:.1f} rows/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
