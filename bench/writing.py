"""Time small batches, and rows in the caller's transaction, from Python, against psycopg.

Run it by `make bench CASE=writing`. Each batch is committed before the next. The record contains
the median of each figure over the rounds, which are interleaved.
"""

import io
import itertools
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import pgsluice
import psycopg
import pyarrow as pa
from pgsluice_lab import site
from pgsluice_lab.failure import LabError
from pgsluice_lab.machine import machine
from pgsluice_lab.record import Machine
from pgsluice_lab.typed import build

from bench.place import ROOT
from bench.record import RECORDS, commit

VERSION = 1
ROUNDS = 5
LEAVES = 800
# Rows of a batch, and the number of batches in a round.
BATCHES = {1: 1500, 10: 1000, 100: 400, 1000: 80, 10_000: 16}
# The share of batches before the clock starts, in which sessions plan.
WARM = 0.25
TREES = (16, 100, 800)
COPIED = 2_000_000
INSERT = "INSERT INTO accounts VALUES (%s, %s, %s, %s)"
SETTINGS = ("shared_buffers=2GB", "max_wal_size=16GB", "checkpoint_timeout=1h")

# The ways, in words.
WAYS = {
    "executemany": "psycopg, `executemany`",
    "copy": "psycopg, `copy`",
    "writer": "`pgsluice.Writer`",
}
COPIES = {
    "pgsluice": "`pgsluice.copy`",
    "psycopg": "psycopg, `write_row`",
    "psycopg-text": "psycopg, text that was made before",
}

Send = Callable[[list[tuple], pa.Table], None]


@dataclass(frozen=True)
class Batch:
    """One way to write batches of one size."""

    way: str
    rows: int
    rows_a_second: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class Copied:
    """One way to copy rows into a tree within a transaction."""

    way: str
    leaves: int
    rows: int
    seconds: float


@dataclass(frozen=True)
class Writing:
    """A record; docs/lab/FORMAT.md lists its keys."""

    date: str
    pgsluice: str
    commit: str
    machine: Machine
    postgresql: str
    batches: list[Batch]
    copies: list[Copied]
    version: int

    @classmethod
    def read(cls, file: Path) -> "Writing":
        """Read a file. Fail if it has an unknown key or version."""
        data = json.loads(file.read_text())
        if data.get("version") != VERSION:
            raise LabError(f"{file.name} is not of version {VERSION}")
        parts = {
            "machine": build(Machine, data.get("machine", {}), f"{file.name}, machine,"),
            "batches": [build(Batch, each, f"{file.name}, batch,") for each in data["batches"]],
            "copies": [build(Copied, each, f"{file.name}, copy,") for each in data["copies"]],
        }
        return build(cls, {**data, **parts}, file.name)

    def write(self) -> Path:
        """Write a new file."""
        stamp = self.date.split("+")[0].replace(":", "")
        file = RECORDS / f"writing-{stamp}.json"
        with file.open("x") as out:
            json.dump(asdict(self), out, indent=1)
            out.write("\n")
        return file

    def batch(self, way: str, rows: int) -> Batch:
        return next(each for each in self.batches if (each.way, each.rows) == (way, rows))

    def copied(self, way: str, leaves: int) -> Copied:
        return next(each for each in self.copies if (each.way, each.leaves) == (way, leaves))


def newest() -> Writing | None:
    """Return the latest record."""
    files = sorted(RECORDS.glob("writing-*.json"))
    return Writing.read(files[-1]) if files else None


def main(args: list[str]) -> int:
    """Measure, write the record if no options are given, and return the exit status."""
    with site.opened(None, None, list(SETTINGS)) as place, ExitStack() as stack:
        os.environ["PGPASSWORD"] = place.env.get("PGPASSWORD", "")
        connection = stack.enter_context(psycopg.connect(place.url, autocommit=True))
        connection.execute("SET max_parallel_workers_per_gather = 0")
        server = str(place.described()["version"])
        batches = [*measure_batches(place.url, connection)]
        copies = [*measure_copies(place.url, connection)]
    show(batches, copies)
    if args:
        print("\nnot the whole benchmark, so no record is written")
        return 0
    now = datetime.now(UTC).replace(microsecond=0).isoformat()
    about = Machine(**machine())
    record = Writing(now, pgsluice.__version__, commit(), about, server, batches, copies, VERSION)
    file = record.write()
    print(f"\nrecord: {file.relative_to(ROOT)}; `make bench-report` puts it into the documentation")
    return 0


def make(connection: psycopg.Connection, leaves: int) -> None:
    """Create the table of pgbench's accounts, with this number of hash leaves."""
    connection.execute("SET synchronous_commit = off")
    connection.execute("DROP TABLE IF EXISTS accounts")
    connection.execute(
        "CREATE TABLE accounts (aid bigint, bid int, abalance int, filler char(84))"
        " PARTITION BY HASH (aid)"
    )
    for leaf in range(leaves):
        connection.execute(
            f"CREATE TABLE accounts_{leaf} PARTITION OF accounts"
            f" FOR VALUES WITH (MODULUS {leaves}, REMAINDER {leaf})"
        )
    connection.execute("CHECKPOINT")


def batch(start: int, rows: int) -> tuple[list[tuple], pa.Table]:
    """Return a batch as psycopg accepts it, and as an Arrow table."""
    ids = range(start, start + rows)
    table = pa.table(
        {
            "aid": pa.array(ids, pa.int64()),
            "bid": pa.array([i // 100_000 for i in ids], pa.int32()),
            "abalance": pa.array([0] * rows, pa.int32()),
            "filler": [f"{i:84}" for i in ids],
        }
    )
    return [(i, i // 100_000, 0, f"{i:84}") for i in ids], table


def executemany(connection: psycopg.Connection) -> Send:
    def send(rows: list[tuple], _: pa.Table) -> None:
        with connection.cursor() as cursor:
            cursor.executemany(INSERT, rows)
        connection.commit()

    return send


def copy(connection: psycopg.Connection) -> Send:
    def send(rows: list[tuple], _: pa.Table) -> None:
        with connection.cursor() as cursor, cursor.copy("COPY accounts FROM STDIN") as copying:
            for row in rows:
                copying.write_row(row)
        connection.commit()

    return send


def flush_each(writer: pgsluice.Writer) -> Send:
    def send(_: list[tuple], table: pa.Table) -> None:
        writer.write(table)
        writer.flush()

    return send


def measure_batches(url: str, connection: psycopg.Connection) -> Iterator[Batch]:
    """Measure each way at each size."""
    make(connection, LEAVES)
    with (
        psycopg.connect(url) as one,
        psycopg.connect(url) as other,
        pgsluice.Writer("accounts", url, flush_rows=None, flush_seconds=None) as writer,
    ):
        ways = {"executemany": executemany(one), "copy": copy(other), "writer": flush_each(writer)}
        start = itertools.count(step=10_000)
        for rows, count in BATCHES.items():
            times: dict[str, list[float]] = {way: [] for way in ways}
            for send in ways.values():
                for _ in range(max(8, int(count * WARM))):
                    send(*batch(next(start), rows))
            for _ in range(ROUNDS):
                for way, send in ways.items():
                    for _ in range(count // ROUNDS + 1):
                        given = batch(next(start), rows)
                        began = time.perf_counter()
                        send(*given)
                        times[way].append(time.perf_counter() - began)
            for way, all_times in times.items():
                ranked = sorted(all_times)
                yield Batch(
                    way,
                    rows,
                    rows_a_second=round(rows * len(ranked) / sum(ranked), 1),
                    p50_ms=round(1000 * statistics.median(ranked), 3),
                    p99_ms=round(1000 * ranked[int(0.99 * (len(ranked) - 1))], 3),
                )


def measure_copies(url: str, connection: psycopg.Connection) -> Iterator[Copied]:
    """Measure each way to copy a table into each tree. The copied rows are rolled back."""
    rows, table = batch(0, COPIED)
    text = "".join("\t".join(map(str, row)) + "\n" for row in rows).encode()

    def by_pgsluice(own: psycopg.Connection) -> None:
        pgsluice.copy(own, table, "accounts")

    def by_rows(own: psycopg.Connection) -> None:
        with own.cursor() as cursor, cursor.copy("COPY accounts FROM STDIN") as copying:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copying.write_row(row)

    def by_text(own: psycopg.Connection) -> None:
        reader = io.BytesIO(text)
        with own.cursor() as cursor, cursor.copy("COPY accounts FROM STDIN") as copying:
            while piece := reader.read(1 << 18):
                copying.write(piece)

    ways = {"pgsluice": by_pgsluice, "psycopg": by_rows, "psycopg-text": by_text}

    def timed(send: Callable[[psycopg.Connection], None]) -> float:
        with psycopg.connect(url) as own:
            own.execute("SELECT")
            began = time.perf_counter()
            send(own)
            seconds = time.perf_counter() - began
            own.rollback()
        # Not TRUNCATE: ext4 would spend a third of the next copy on skipping inodes that were freed
        # recently.
        connection.execute("VACUUM accounts")
        connection.execute("CHECKPOINT")
        return seconds

    for leaves in TREES:
        make(connection, leaves)
        # The first copy creates the leaves' files.
        timed(by_text)
        times: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(ROUNDS):
            for way, send in ways.items():
                times[way].append(timed(send))
        for way, seconds in times.items():
            yield Copied(way, leaves, COPIED, round(statistics.median(seconds), 4))


def show(batches: list[Batch], copies: list[Copied]) -> None:
    """Print the figures."""
    for each in batches:
        print(
            f"{each.rows:7,} rows a batch {each.way:12} {each.rows_a_second:12,.0f} rows/s"
            f" {each.p50_ms:8.2f} ms {each.p99_ms:8.2f} ms"
        )
    for each in copies:
        print(f"{each.leaves:5,} leaves {each.way:14} {each.seconds:8.2f} s")
