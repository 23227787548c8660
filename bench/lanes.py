r"""Time the same rows in each lane: found natively, by the server's evaluation, and by the server.

Run it by `make bench CASE=lanes`, with ARGS="--rows 200000 --rounds 1" for a quick look.
Both tables put a row into the leaf of the same number, so only the lane differs. pgsluice says how
many rows took which lane; one row in another lane than its line claims ends the benchmark.
"""

import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from pgsluice_lab.server import Server

from bench import inputs, program, rounds
from bench.inputs import Rows
from bench.place import ROOT
from bench.rounds import Contender, by_pgsluice, by_psql

# Nobody but the server evaluates #, and it leaves the key and its hash as they are.
KEYS = {"native": "aid", "served": "(aid # 0)"}


def arguments() -> Namespace:
    """Read the command line."""
    rows, leaves = (2_000_000, "rows to load"), (800, "hash partitions")
    return program.arguments("lanes", __doc__, rows=rows, leaves=leaves)


def measure(server: Server, _: Path, options: Namespace) -> dict:
    """Run all rounds and return what the record holds."""
    rows = inputs.accounts(options.rows)
    for table, key in KEYS.items():
        script = ROOT / "bench" / "lanes.sql"
        server.script(script, table=table, key=key, leaves=str(options.leaves))
    expected = rounds.warmed(server, "served", rows)
    equal = rounds.expecting(server, dict.fromkeys(KEYS, expected))
    lanes = by_lane(server, rows, options)
    lane_of = {contender.name: lane for lane, contender in lanes.items()}

    def verify(contender: Contender, run: dict) -> None:
        equal(contender, run)
        lane = lane_of.get(contender.name)
        none = {"native": 0, "server": 0, "slow": 0}
        if lane and run["said"]["lanes"] != none | {lane: rows.count}:
            rounds.wrong(contender, f"not all rows took that lane, but {run['said']['lanes']}")

    contenders = [by_psql(server, "served", rows), *lanes.values()]
    prepare, count = rounds.emptying(server, *KEYS), options.rounds
    runs = rounds.interleaved(server, contenders, count, rows.count, prepare, verify)
    return {"case": program.case(options, rows, leaves=options.leaves, keys=KEYS), "runs": runs}


def by_lane(server: Server, rows: Rows, options: Namespace) -> dict[str, Contender]:
    """Return our ways to load a file, by the lane that every row takes."""

    def named(lane: str, table: str, *more: str) -> Contender:
        name = f"{rounds.ours(options.jobs)}, {lane} lane"
        return replace(by_pgsluice(server, table, rows, options, *more), name=name)

    return {
        "native": named("native", "native"),
        "server": named("server", "served"),
        "slow": named("slow", "served", "--no-native"),
    }


if __name__ == "__main__":
    sys.exit(program.main("lanes", measure, arguments()))
