"""Measure the cost of the order of rows in a COPY into a table with many leaves.

The cost is the processor time of one session of the server, read from /proc. So it works only on
Linux, on the server's machine. docs/copy-slots.md explains the result. The table is created in a
private schema, which is dropped at the end: `python -m bench.slots URL`.
"""

import argparse
import os
import statistics
import struct
from collections.abc import Iterator
from pathlib import Path

import psycopg

SCHEMA = "pgsluice_slots"
HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = struct.pack("!h", -1)
BUFFERED_ROWS = 1000  # MAX_BUFFERED_TUPLES of copyfrom.c
ROUNDS = 3
ALONE = "a COPY a leaf"
ORDERED = "root, a leaf after the other"

Copy = tuple[str, list[int]]
"""The table, and the leaf of each row."""


def main() -> None:
    """Measure each order in turn, and print a table of medians."""
    parser = argparse.ArgumentParser(description="What the order of rows costs a COPY.")
    parser.add_argument("url", help="a server on this machine, as a connection string")
    parser.add_argument("--leaves", type=int, default=800)
    parser.add_argument("--rows", type=int, default=1000, help="rows of each leaf")
    parser.add_argument("--text", action="store_true", help="text rows, not binary ones")
    parser.add_argument("--key", action="store_true", help="with a primary key")
    asked = parser.parse_args()
    with psycopg.connect(asked.url, autocommit=True) as session:
        session.execute("SET synchronous_commit = off")
        version = session.execute("SHOW server_version").fetchone()[0].split()[0]
        seconds: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            for name, copies in orders(asked.leaves, asked.rows):
                make_table(session, asked.leaves, key=asked.key)
                seconds.setdefault(name, []).append(measured(session, copies, text=asked.text))
        session.execute(f"DROP SCHEMA {SCHEMA} CASCADE")
    form = "text" if asked.text else "binary"
    key = ", primary key" if asked.key else ""
    print(f"| PostgreSQL {version}, {asked.leaves} leaves x {asked.rows} rows, {form}{key} | s |")
    print("|---|--:|")
    for name, taken in seconds.items():
        print(f"| {name} | {statistics.median(taken):.2f} |")


def orders(leaves: int, rows: int) -> Iterator[tuple[str, list[Copy]]]:
    """Yield each order to measure: its name, and its COPYs."""
    yield ALONE, [(f"leaf_{leaf}", [leaf] * rows) for leaf in range(leaves)]
    for together in (2, 4, 8, 16, 32):
        turn = BUFFERED_ROWS // together
        firsts = range(0, leaves, together)
        groups = [range(first, min(first + together, leaves)) for first in firsts]
        copies = [("root", in_turns(group, rows, turn)) for group in groups]
        yield f"root, {together} leaves in turns of {turn}", copies
    yield ORDERED, [("root", [leaf for leaf in range(leaves) for _ in range(rows)])]


def in_turns(leaves: range, rows: int, turn: int) -> list[int]:
    """Return the leaves of all rows if the leaves take turns of this many rows."""
    begins = range(0, rows, turn)
    return [leaf for at in begins for leaf in leaves for _ in range(min(turn, rows - at))]


def make_table(session: psycopg.Connection, leaves: int, *, key: bool) -> None:
    """Recreate the table, so that each order has the same conditions."""
    primary = ", PRIMARY KEY (leaf, id)" if key else ""
    session.execute("SET client_min_messages = warning")
    session.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    session.execute(f"CREATE SCHEMA {SCHEMA}")
    columns = f"leaf int, id bigint, filler text{primary}"
    session.execute(f"CREATE TABLE {SCHEMA}.root ({columns}) PARTITION BY LIST (leaf)")
    for leaf in range(leaves):
        of = f"PARTITION OF {SCHEMA}.root FOR VALUES IN ({leaf})"
        session.execute(f"CREATE TABLE {SCHEMA}.leaf_{leaf} {of}")
    session.execute("CHECKPOINT")


def measured(session: psycopg.Connection, copies: list[Copy], *, text: bool) -> float:
    """Return the processor time, in seconds, that the session's process needs for these COPYs."""
    form = "text" if text else "binary"
    payloads = [(table, payload(leaves, text=text)) for table, leaves in copies]
    before = processor_time(session.info.backend_pid)
    for table, data in payloads:
        with session.cursor().copy(f"COPY {SCHEMA}.{table} FROM STDIN (FORMAT {form})") as copy:
            copy.write(data)
    return processor_time(session.info.backend_pid) - before


def payload(leaves: list[int], *, text: bool) -> bytes:
    """Return rows of about 110 bytes each."""
    filler = "x" * 84
    if text:
        return "".join(f"{leaf}\t{row}\t{filler}\n" for row, leaf in enumerate(leaves)).encode()
    form = struct.Struct(f"!hiiiqi{len(filler)}s")
    rows = (form.pack(3, 4, leaf, 8, row, 84, filler.encode()) for row, leaf in enumerate(leaves))
    return b"".join([HEADER, *rows, TRAILER])


def processor_time(pid: int) -> float:
    """Return the processor time, in seconds, of a process on this machine."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
