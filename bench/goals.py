"""The goals of the benchmarks, as data, and whether they are reached.

A missed goal is a figure like any other, not an error. It is judged by the two digits that tables
show. `python -m bench.goals CASE...` prints the goals by the newest records.
"""

import sys
from dataclasses import dataclass
from typing import Literal

from bench import delays, grid, place, rounds
from bench.figures import (
    Figure,
    as_best,
    at,
    beside,
    beyond_memory,
    by_socket,
    far,
    faster,
    in_memory,
    longest_wait,
    more_leaves,
    move_peak,
    pace,
    share_read,
    unasked,
)
from bench.move import record as moves
from bench.move.record import Move
from bench.record import PARTS, Record, newest
from bench.rounds import Rounds

Relation = Literal["at least", "at most"]


@dataclass(frozen=True)
class Goal:
    """A limit for one figure of a benchmark."""

    case: str
    figure: Figure
    what: str
    against: str
    relation: Relation
    limit: float
    unit: str = "times as fast"

    def holds(self, measured: float) -> bool:
        return measured >= self.limit if self.relation == "at least" else measured <= self.limit


ACCOUNTS = "5 M pgbench rows, text, 800 hash leaves"
LINEITEM = "TPC-H lineitem, scale 1, CSV, range by month x hash 4"
UUIDS = "9 M uuids, 16 hash leaves with primary key, 1 M rows in before"
EMPTY = "9 M uuids, 16 empty hash leaves with primary key"
EXCHANGED = f"{EMPTY}, `--exchange`"
LEAVES = "1 M pgbench rows, 10,000 leaves"
FRAME = "a cached frame of Spark, 5 M pgbench rows, 800 hash leaves"
JDBC = "Spark's JDBC writer, `reWriteBatchedInserts`"
EVENTS = "1 M events of Kafka, 30 % repeated, 64 hash leaves with primary key, skipped"
CONSUMER = "a consumer with psycopg, `ON CONFLICT DO NOTHING`, 1,000 a batch"
OBJECT = (
    "TPC-H lineitem, scale 1, {}, an object of an S3 server 20 ms away, range by month x hash 4"
)
THREE = "three of sixteen columns of that Parquet object: bytes that are read"
MILLION = "1 M pgbench rows, 800 hash leaves"
GRID = (
    "{} pgbench rows by a socket, plain and 1 to 800 leaves, with and without primary key,"
    " `-j 1` and 2"
)
LARGER, SMALLER = GRID.format("10,000 to 1 M"), GRID.format("1 to 1,000")
FAR = "5 M pgbench rows, 800 hash leaves, round trips of 1 to 20 ms, `-j {}`"
SMALL = "100 and 1,000 rows, 16 leaves, round trips of 20 ms"
SKIPPED = "9 M uuids, 16 hash leaves with primary key, {} of them there, skipped"
UPDATED = "2 M wide rows, 64 hash leaves with primary key, {} of them there, updated"
REJECTS = "1 M pgbench rows, 16 leaves with primary key, 1 % of them rejected"
FEW = "100 rows into 800 leaves"
NULL = "lineitem, CSV to binary, one thread"
PACKED = "TPC-H lineitem, scale 1, CSV compressed by {}, range by month x hash 4"
ROOT = r"psql `\copy` into the root"
PSQL = r"psql `\copy`"
STAGED = "psql, unlogged staging table, `ON CONFLICT` at the root"
UNASKED = "our load without `--on-conflict`"
PLAIN = "the same, unpartitioned"
FLOOR = "the floor"
BARE = "`--no-ledger`"
PARQUET = "TPC-H lineitem, scale 1, as Parquet, range by month x hash 4"
UNPACKED = "the same CSV, not compressed"
GOOD = "all of them good"
TABLE = "5 M pgbench rows, an Arrow table in Python, 800 hash leaves"
TABLES = "lineitem, an Arrow table in Python, range by month x hash 4"
LIBRARIES = "the best of ADBC, polars, psycopg and pandas"
BESIDE = "these tables in Python: memory beside the table"
MOVED = "`partition --offline`, 5 M pgbench rows{}, 800 hash leaves"
ONLINE = "`partition`, 5 M pgbench rows{}, 800 hash leaves"
KEYED = " with primary key"
FILLED = "`INSERT INTO ... SELECT` into such leaves"
MOVES_PEAK = "these moves: peak memory"
BESIDE_MEMORY = "`--memory` of 512 MiB, and 64 more"
SWAPS = "50 swaps of 100,000 rows: the longest wait of 8 writers for a lock"
OWN = "our command line, the same rows as a file"
SAME_SERVER = "5 M pgbench rows of a plain table, 800 hash leaves{}"
OTHER_SERVER = "5 M pgbench rows of another server's plain table, 800 hash leaves{}"
INSERT = "`INSERT INTO ... SELECT`"
PIPE = "psql `COPY TO`, piped into psql `COPY FROM`"
FILE = "the same file on the disk"
TIME = "times its time"
LONGER = "ms longer"
CPU = "MB/s of CPU"

AS_ROOT = faster("pgsluice", "psql")
AS_PLAIN = faster("pgsluice", "psql-plain")
AS_FLOOR = faster("floor-binary", "pgsluice")
AS_BARE = faster("pgsluice-no-ledger", "pgsluice")
AS_EMPTY = faster("pgsluice-empty", "psql-empty")
AS_EXCHANGED = faster("pgsluice-exchange", "psql-empty")
AS_GOOD = faster("pgsluice-good", "pgsluice-rejects")
AS_FEW = faster("psql", "pgsluice")
AS_TEXT = in_memory("python-load", "pgsluice", "hash")
AS_CSV = in_memory("python-load", "pgsluice", "months")
AS_MILLION = at("pgsluice", "psql", rows=1_000_000, leaves=800, key=0)
AS_MANY = at("pgsluice", "psql", leaves=10_000)
# Leaves without and with a primary key: the value, its words, and the goal on the same server.
KEYS = ((0, "", 2.5), (1, " with primary key", 3.0))
SHARES = ((0, "none"), (50, "half"), (100, "all"))
OBJECTS = (("csv", "CSV"), ("zst", "CSV compressed by zstd"), ("parquet", "Parquet"))
OLDER = ", PostgreSQL 15"
LIMITED = (
    "hash800",
    "lineitem",
    "files",
    "uuids",
    "there",
    "leaves",
    "lanes",
    "rejects",
    "relation",
)

GOALS = [
    Goal("hash800", AS_ROOT, ACCOUNTS, ROOT, "at least", 5.3),
    Goal("hash800", AS_PLAIN, ACCOUNTS, PLAIN, "at least", 1.75),
    Goal("hash800", AS_FLOOR, ACCOUNTS, FLOOR, "at most", 1.15, TIME),
    Goal("hash800", AS_BARE, ACCOUNTS, BARE, "at most", 1.03, TIME),
    Goal("hash800-pg15", AS_ROOT, ACCOUNTS + OLDER, ROOT, "at least", 5.3),
    Goal("hash800-pg15", AS_PLAIN, ACCOUNTS + OLDER, PLAIN, "at least", 1.75),
    Goal("grid-million", AS_MILLION, MILLION, ROOT, "at least", 3.0),
    Goal("lineitem", AS_ROOT, LINEITEM, ROOT, "at least", 3.7),
    Goal("lineitem", AS_FLOOR, LINEITEM, FLOOR, "at most", 1.15, TIME),
    Goal("uuids", AS_ROOT, UUIDS, ROOT, "at least", 4.5),
    Goal("uuids", AS_FLOOR, UUIDS, FLOOR, "at most", 1.15, TIME),
    Goal("uuids", AS_EMPTY, EMPTY, ROOT, "at least", 5.0),
    Goal("uuids", AS_EXCHANGED, EXCHANGED, ROOT, "at least", 9.5),
    Goal("leaves", AS_MANY, LEAVES, ROOT, "at least", 3.8),
    Goal("leaves", more_leaves, LEAVES, "16 leaves", "at most", 1.3, TIME),
    Goal("rejects", AS_GOOD, REJECTS, GOOD, "at most", 2.0, TIME),
    *(
        Goal(
            "there",
            at("pgsluice-skip", "psql-staged", share=share),
            SKIPPED.format(words),
            STAGED,
            "at least",
            4.5 if share == 0 else 4.0,
        )
        for share, words in SHARES
    ),
    Goal("there", unasked, SKIPPED.format("none"), UNASKED, "at most", 1.15, TIME),
    *(
        Goal(
            "there",
            at("pgsluice-update", "psql-staged-update", share=share),
            UPDATED.format(words),
            STAGED,
            "at least",
            3.0,
        )
        for share, words in SHARES
    ),
    Goal(
        "files",
        faster("pgsluice", "pgsluice-zst"),
        PACKED.format("zstd"),
        UNPACKED,
        "at most",
        1.1,
        TIME,
    ),
    Goal("files", faster("pgsluice-parquet", "pgsluice"), PARQUET, UNPACKED, "at least", 1.0),
    Goal("python", as_best, TABLE, LIBRARIES, "at least", 4.0),
    Goal("python", AS_TEXT, TABLE, OWN, "at most", 1.05, TIME),
    Goal("python", AS_CSV, TABLES, OWN, "at most", 1.05, TIME),
    Goal("python", beside, BESIDE, "`memory` of 512 MiB, and 64 more", "at most", 576, "MiB"),
    *(
        Goal(
            "relation",
            at("pgsluice-relation", "psql-insert", key=key),
            SAME_SERVER.format(words),
            INSERT,
            "at least",
            limit,
        )
        for key, words, limit in KEYS
    ),
    *(
        Goal(
            "relation",
            at("pgsluice-from", "psql-pipe", key=key),
            OTHER_SERVER.format(words),
            PIPE,
            "at least",
            3.0,
        )
        for key, words, _ in KEYS
    ),
    Goal("move", faster("offline", "insert"), MOVED.format(""), FILLED, "at least", 2.5),
    Goal("move", faster("offline-key", "insert-key"), MOVED.format(KEYED), FILLED, "at least", 3.0),
    Goal("move", faster("online-key", "insert-key"), ONLINE.format(KEYED), FILLED, "at least", 2.0),
    Goal("move", move_peak, MOVES_PEAK, BESIDE_MEMORY, "at most", 576, "MiB"),
    Goal("move", longest_wait, SWAPS, "", "at most", 500, "ms"),
    Goal("spark", faster("pgsluice", "jdbc"), FRAME, JDBC, "at least", 4.0),
    Goal("kafka", faster("pgsluice", "psycopg"), EVENTS, CONSUMER, "at least", 3.0),
    *(
        Goal("objects", faster(way, f"{way}-20"), OBJECT.format(words), FILE, "at most", 1.15, TIME)
        for way, words in OBJECTS
    ),
    Goal("objects", share_read("columns"), THREE, "its size", "at most", 0.33, "times"),
    Goal("few", AS_FEW, FEW, ROOT, "at most", 1.2, TIME),
    Goal("null", pace, NULL, "", "at least", 500, CPU),
    Goal("grid", by_socket(grid.mean), f"{LARGER}: geometric mean", PSQL, "at most", 0.85, TIME),
    Goal("grid", by_socket(grid.most), f"{LARGER}: the worst", PSQL, "at most", 1.15, TIME),
    Goal("grid", by_socket(grid.later), f"{SMALLER}: the worst", PSQL, "at most", 4, LONGER),
    Goal(
        "grid-pg15",
        by_socket(grid.mean),
        f"{LARGER}{OLDER}: geometric mean",
        PSQL,
        "at most",
        0.85,
        TIME,
    ),
    Goal(
        "grid-pg15",
        by_socket(grid.most),
        f"{LARGER}{OLDER}: the worst",
        PSQL,
        "at most",
        1.15,
        TIME,
    ),
    Goal(
        "grid-pg15",
        by_socket(grid.later),
        f"{SMALLER}{OLDER}: the worst",
        PSQL,
        "at most",
        4,
        LONGER,
    ),
    Goal("network", far("pgsluice"), FAR.format(2), "loopback", "at most", 1.5, TIME),
    Goal("network", far("pgsluice-eight"), FAR.format(8), "loopback", "at most", 1.2, TIME),
    Goal("network", delays.more_round_trips, SMALL, PSQL, "at most", 2, "round trips more"),
    *(
        Goal(
            case,
            beyond_memory,
            f"`{case}`: peak memory beyond `--memory`",
            "",
            "at most",
            64,
            "MiB",
        )
        for case in LIMITED
    ),
]


@dataclass(frozen=True)
class Judged:
    """A goal and its measured figure; None if it was not measured."""

    goal: Goal
    measured: float | None

    @property
    def verdict(self) -> str:
        """Return in words whether the goal holds."""
        if self.measured is None:
            return "not measured"
        return "holds" if self.goal.holds(self.measured) else "falls short"

    @property
    def shown(self) -> str:
        """Return the measured figure, with the digits that matter beside its limit."""
        if self.measured is None:
            return ""
        return f"{self.measured:,.{0 if self.goal.limit >= 100 else 2}f}"

    @property
    def limit(self) -> str:
        return f"{self.goal.relation} {self.goal.limit:g}"


def judge(case: str, record: Record | Move | Rounds | None) -> list[Judged]:
    """Return the goals of a benchmark, judged by one of its records."""
    own = (goal for goal in GOALS if goal.case == case)
    return [Judged(goal, goal.figure(record) if record else None) for goal in own]


def show(judged: list[Judged], heading: str) -> None:
    """Print judged goals, one per line."""
    if judged:
        print(f"\n{heading}:")
    for each in judged:
        goal = each.goal
        limits = f"{each.limit} {goal.unit}"
        against = f", against {goal.against}" if goal.against else ""
        print(f"  {each.verdict:12} {each.shown:>6} | {limits:26} | {goal.what}{against}")


def end(record: Rounds, *, is_whole: bool) -> int:
    """Print a record and whether its goals hold, write it if it is whole, and return 0."""
    print(f"\n{record.table}")
    show(judge(record.case, record), "what it must show")
    if not is_whole:
        print("\nnot the whole benchmark, so no record is written")
        return 0
    file = record.write()
    where = file.relative_to(place.ROOT)
    print(f"\nrecord: {where}; `make bench-report` puts it into the documentation")
    return 0


def main(cases: list[str]) -> int:
    """Print the goals of these benchmarks by the newest records."""
    records = newest()
    named = {each for case in cases for each in (case, *PARTS.get(case, []))}
    named |= {whole for whole, parts in PARTS.items() if named & set(parts)}
    of = {name: each for name, each in records.items() if each.head.experiment in named}
    judged = [each for name, record in of.items() for each in judge(name, record)]
    if "move" in cases:
        judged += judge("move", moves.newest())
    for case in rounds.CASES:
        if case in cases:
            judged += judge(case, rounds.newest(case))
    show(judged, "what the newest records show")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
