r"""Time random uuids into 16 hash leaves with their primary key: filled before, and empty.

Run it by `make bench CASE=uuids`, with ARGS="--rows 500000 --before 50000 --rounds 1" for a quick
look. Where leaves are filled before, each load finds the same rows in them, put there in the order
of the key. Where they are empty, `pgsluice load --exchange` is beside psql.
"""

import sys
from argparse import Namespace
from collections import Counter
from dataclasses import replace
from pathlib import Path

from pgsluice_lab.server import Server
from pgsluice_lab.timing import timed

from bench import floor, inputs, program, rounds
from bench.floor import Leaves
from bench.inputs import Rows
from bench.place import ROOT
from bench.rounds import PSQL, Contender, by_pgsluice, by_psql

TABLE, STAGED, KEY = "uuids", "staged", "id"
BINARY = "with (format binary)"
EMPTY = ", empty leaves"


def arguments() -> Namespace:
    """Read the command line."""
    return program.arguments(
        "uuids",
        __doc__,
        rows=(9_000_000, "rows to load"),
        before=(1_000_000, "rows that are there before"),
        leaves=(16, "hash partitions"),
    )


def measure(server: Server, folder: Path, options: Namespace) -> dict:
    """Run all rounds and return what the record holds."""
    rows, before = inputs.uuids(options.rows, seed=1), inputs.uuids(options.before, seed=2)
    server.script(ROOT / "bench" / "uuids.sql", leaves=str(options.leaves))
    restored, there = sorted_leaves(server, before, folder / "before")
    pushed, added = sorted_leaves(server, rows, folder / "floor")
    server.execute(f"DROP TABLE {STAGED}")
    restore = restored.push(TABLE, options.jobs)

    def prepare(contender: Contender) -> None:
        server.execute(f"TRUNCATE {TABLE}")
        if not is_empty(contender):
            timed(*restore)
        server.execute("CHECKPOINT")

    def verify(contender: Contender, _: dict) -> None:
        right = added if is_empty(contender) else added + there
        if rounds.counts(server, TABLE) != right:
            rounds.wrong(contender)

    contenders = [by_psql(server, TABLE, rows), by_pgsluice(server, TABLE, rows, options)]
    if "floor" not in options.without:
        name = floor.name(options.jobs)
        contenders.append(Contender(name, TABLE, pushed.push(TABLE, options.jobs)))
    if "exchange" not in options.without:
        contenders += into_empty(server, rows, options)
    runs = rounds.interleaved(server, contenders, options.rounds, rows.count, prepare, verify)
    exchange = rounds.faster(runs, exchanged(options.jobs), PSQL + EMPTY)
    measured = {**floor.figures(runs, options.jobs), "exchange": exchange}
    case = program.case(options, rows, before=before.count, leaves=options.leaves)
    return {"case": case, "measured": measured, "runs": runs}


def sorted_leaves(server: Server, rows: Rows, folder: Path) -> tuple[Leaves, Counter[str]]:
    """Return the rows of each leaf in the order of the key, and how many those are.

    The server finds the leaves, in a table of the same partitions.
    """
    server.execute(f"TRUNCATE {STAGED}")
    held = Counter(rounds.warmed(server, STAGED, rows))
    return Leaves(server, STAGED, folder, BINARY, KEY), held


def into_empty(server: Server, rows: Rows, options: Namespace) -> list[Contender]:
    """Return the ways to load into empty leaves."""
    ours = by_pgsluice(server, TABLE, rows, options, "--exchange")
    return [by_psql(server, TABLE, rows, PSQL + EMPTY), replace(ours, name=exchanged(options.jobs))]


def exchanged(jobs: int) -> str:
    """Return the name of our own line for empty leaves."""
    return rounds.ours(jobs, "--exchange") + EMPTY


def is_empty(contender: Contender) -> bool:
    """Return whether the leaves are empty before this load."""
    return contender.name.endswith(EMPTY)


if __name__ == "__main__":
    sys.exit(program.main("uuids", measure, arguments()))
