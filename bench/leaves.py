r"""Time 1,000,000 rows into 10,000 leaves beside 16: `pgsluice load`, and psql's `\copy`.

Run it by `make bench CASE=leaves`. Rounds are interleaved. Every load has a fresh tree of its own:
TRUNCATE would leave thousands of deleted files behind, and a file system such as ext4 looks at them
for minutes whenever it makes a new one. Behind each load by pgsluice one more row is loaded, to see
what it costs to open the tree.
"""

import sys
from argparse import Namespace
from functools import partial
from pathlib import Path

from pgsluice_lab.server import Server

from bench import inputs, program, rounds
from bench.inputs import Rows
from bench.place import ROOT
from bench.rounds import PSQL, by_pgsluice, by_psql, load

STEP = 7919  # prime, so that balances are scattered
INNER = 4  # leaves below each partition, as in leaves.sql
# psql's one transaction locks every table of the tree.
LOCKS = "max_locks_per_transaction=512"


def arguments() -> Namespace:
    """Read the command line."""
    return program.arguments(
        "leaves",
        __doc__,
        rows=(1_000_000, "rows to load"),
        few=(16, "leaves of the small tree"),
        many=(10_000, "leaves of the large tree"),
    )


def measure(server: Server, folder: Path, options: Namespace) -> dict:
    """Run all rounds and return what the record holds."""
    rows = inputs.accounts(options.rows, STEP)
    one = inputs.few(rows, 1, folder / "one.txt")
    sizes = [options.few, options.many]
    runs: list[dict] = []
    openings: list[dict] = []
    rounds.heading()
    for number in range(1, options.rounds + 1):
        for leaves in sizes:
            which = {"round": number, "leaves": leaves}
            right = None
            for by in (by_psql, partial(by_pgsluice, options=options)):
                table = f"accounts_{len(runs)}"
                plant(server, table, leaves)
                contender = by(server, table, rows)
                runs.append({**which, **load(server, contender)})
                held = rounds.counts(server, table)
                if sum(held.values()) != rows.count or held != (right or held):
                    rounds.wrong(contender)
                right = held
                rounds.show(runs[-1], rows.count)
            openings.append({**which, **opening(server, table, one, options)})
    return conclude(runs, openings, program.case(options, rows, leaves=sizes))


def plant(server: Server, table: str, leaves: int) -> None:
    """Make a tree and flush the server's buffers."""
    script = ROOT / "bench" / "leaves.sql"
    server.script(script, table=table, outer=str(leaves // INNER))
    server.execute("CHECKPOINT")


def opening(server: Server, table: str, one: Rows, options: Namespace) -> dict:
    """Load one row by one connection, and return how long it took until it was sent."""
    alone = Namespace(jobs=1, memory=options.memory)
    # Otherwise so few rows would go through the root, and the tree would stay closed.
    opened = by_pgsluice(server, table, one, alone, "--few-rows=300")
    return load(server, opened)["said"]["first_row"]


def conclude(runs: list[dict], openings: list[dict], case: dict) -> dict:
    """Print what more leaves cost, and return the whole record."""
    few, many = case["leaves"]
    print(f"\nfor {many:,} leaves, where {few:,} take 1:")
    times = {
        how: rising(runs, "seconds", case, how=how) for how in (PSQL, rounds.ours(case["jobs"]))
    }
    for how, ratio in times.items():
        print(f"  {ratio:5.2f}  {how}")
    print(f"  {rising(openings, 'seconds', case):5.2f}  until the first row is sent")
    measured = {"many": times[rounds.ours(case["jobs"])]}
    return {"case": case, "measured": measured, "runs": runs, "openings": openings}


def rising(runs: list[dict], figure: str, case: dict, **which: object) -> float:
    """Return how many times as large a figure is for many leaves as for few."""
    few, many = (rounds.median(runs, figure, leaves=leaves, **which) for leaves in case["leaves"])
    return round(many / few, 2)


if __name__ == "__main__":
    sys.exit(program.main("leaves", measure, arguments(), LOCKS))
