"""What the benchmarks must show, as data, and whether they do.

A goal that is missed is a figure like any other, not an error; it is judged by the two digits that
tables show. Each record holds the goals as they were judged; `python -m bench.goals CASE...` prints
those of the newest records.
"""

import sys
from dataclasses import asdict, dataclass
from typing import Literal

from bench.record import newest

Relation = Literal["at least", "at most"]


@dataclass(frozen=True)
class Goal:
    """A limit for one figure of a benchmark; a `figure` is what the benchmark calls it."""

    case: str
    figure: str
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
EMPTY = "9 M uuids, 16 empty hash leaves with primary key, `--exchange`"
REJECTS = "1 M pgbench rows, 16 leaves with primary key, 1 % of them rejected"
ROOT = r"psql `\copy` into the root"
FLOOR = "the floor"
TIME = "times its time"

GOALS = [
    Goal("hash800", "root", ACCOUNTS, ROOT, "at least", 4.0),
    Goal("hash800", "plain", ACCOUNTS, "the same, unpartitioned", "at least", 1.5),
    Goal("hash800", "floor", ACCOUNTS, FLOOR, "at most", 1.15, TIME),
    Goal("hash800", "ledger", ACCOUNTS, "`--no-ledger`", "at most", 1.03, TIME),
    Goal("lineitem", "root", LINEITEM, ROOT, "at least", 3.0),
    Goal("lineitem", "floor", LINEITEM, FLOOR, "at most", 1.15, TIME),
    Goal("uuids", "root", UUIDS, ROOT, "at least", 6.0),
    Goal("uuids", "floor", UUIDS, FLOOR, "at most", 1.15, TIME),
    Goal("uuids", "exchange", EMPTY, ROOT, "at least", 10.0),
    Goal("leaves", "many", "1 M pgbench rows, 10,000 leaves", "16 leaves", "at most", 1.3, TIME),
    Goal("rejects", "times", REJECTS, "all of them good", "at most", 2.0, TIME),
    Goal("few", "root", "100 rows into 800 leaves", ROOT, "at most", 1.2, TIME),
    Goal("null", "cpu", "lineitem, CSV to binary, one thread", "", "at least", 400, "MB/s of CPU"),
]


def judge(case: str, measured: dict[str, float | None]) -> list[dict]:
    """Return a benchmark's goals as its record holds them; None is what was not measured."""
    judged = []
    for goal in GOALS:
        value = measured.get(goal.figure)
        if goal.case == case:
            holds = None if value is None else goal.holds(value)
            judged.append({**asdict(goal), "measured": value, "holds": holds})
    return judged


def verdict(goal: dict) -> str:
    """Return in words whether a judged goal holds."""
    return {True: "holds", False: "falls short", None: "not measured"}[goal["holds"]]


def shown(goal: dict) -> str:
    """Return what was measured, with the digits that are worth reading beside its limit."""
    return f"{goal['measured']:,.{0 if goal['limit'] >= 100 else 2}f}"


def limit(goal: dict) -> str:
    """Return the limit of a judged goal."""
    return f"{goal['relation']} {goal['limit']:g}"


def show(judged: list[dict], heading: str) -> None:
    """Print judged goals, a line each."""
    if judged:
        print(f"\n{heading}:")
    for goal in judged:
        value = "" if goal["measured"] is None else shown(goal)
        limits = f"{limit(goal)} {goal['unit']}"
        against = f", against {goal['against']}" if goal["against"] else ""
        print(f"  {verdict(goal):12} {value:>6} | {limits:26} | {goal['what']}{against}")


def main(cases: list[str]) -> int:
    """Print the goals of these benchmarks by their newest records."""
    records = [record for case in cases if (record := newest(case))]
    judged = [goal for record in records for goal in record.get("goals", [])]
    show(judged, "what the newest records show")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
