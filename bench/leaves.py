r"""Time 1,000,000 rows into 10,000 leaves beside 16: `pgsluice load`, and psql's `\copy`.

Run it by `make bench CASE=leaves`. Rounds are interleaved. Every load has a fresh tree of its own:
TRUNCATE would leave thousands of deleted files behind, and a file system such as ext4 looks at them
for minutes whenever it makes a new one. Behind each load by pgsluice one more row is loaded, to see
what it costs to open the tree.
"""

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path

from bench import record
from bench.accounts import generate
from bench.rounds import (
    PSQL,
    by_pgsluice,
    by_psql,
    counts,
    heading,
    main,
    median,
    ours,
    row,
    running,
    server_settings,
    show,
)
from bench.server import ROOT, Server
from bench.timing import timed

STEP = 7919  # prime, so that balances are scattered
INNER = 4  # leaves below each partition, as in leaves.sql
# psql's one transaction locks every table of the tree.
LOCKS = "max_locks_per_transaction=512"


def run(options: argparse.Namespace) -> dict:
    """Run the benchmark and return what the record holds."""
    file = generate(options.rows, STEP)
    with running(*server_settings(), LOCKS) as (server, _):
        return measure(server, file, options)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="make bench CASE=leaves",
        description=__doc__.splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows to load")
    parser.add_argument("--few", type=int, default=16, help="leaves of the small tree")
    parser.add_argument("--many", type=int, default=10_000, help="leaves of the large tree")
    parser.add_argument("--rounds", type=int, default=3, help="loads of each")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="connections of pgsluice")
    return parser.parse_args()


def measure(server: Server, file: Path, options: argparse.Namespace) -> dict:
    """Run all rounds and return what the record holds."""
    runs: list[dict] = []
    openings: list[dict] = []
    heading()
    for number in range(1, options.rounds + 1):
        for leaves in (options.few, options.many):
            right = None
            for by in (by_psql, partial(by_pgsluice, jobs=options.jobs)):
                table = f"accounts_{len(runs)}"
                plant(server, table, leaves)
                contender = by(server, table, file)
                timing = timed(*contender.commands)
                held = {leaf.removeprefix(table): n for leaf, n in counts(server, table).items()}
                if sum(held.values()) != options.rows or held != (right or held):
                    sys.exit(f"bench: {contender.name}: wrong number of rows in {table} or a leaf")
                right = held
                runs.append({"round": number, "leaves": leaves, **row(contender, timing)})
                show(runs[-1], options.rows)
            openings.append({"round": number, "leaves": leaves, **opening(server, table, file)})
    return conclude(server, file, options, runs, openings)


def plant(server: Server, table: str, leaves: int) -> None:
    """Make a tree and flush the server's buffers."""
    script = ROOT / "bench" / "leaves.sql"
    server.script(script, table=table, outer=str(leaves // INNER))
    server.execute("CHECKPOINT")


def opening(server: Server, table: str, file: Path) -> dict:
    """Load one row, and return how long it took until it was sent."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as one, file.open() as lines:
        one.write(lines.readline())
        one.flush()
        contender = by_pgsluice(server, table, Path(one.name), jobs=1)
        return row(contender, timed(*contender.commands))["said"]["first_row"]


def conclude(
    server: Server,
    file: Path,
    options: argparse.Namespace,
    runs: list[dict],
    openings: list[dict],
) -> dict:
    """Print the medians and the ratios, and return the whole record."""
    sizes = (options.few, options.many)
    medians = {
        how: [median(runs, lambda run: run["seconds"], how=how, leaves=n) for n in sizes]
        for how in (PSQL, ours(options.jobs))
    }
    first = [median(openings, lambda run: run["seconds"], leaves=n) for n in sizes]
    cpu = [median(openings, lambda run: run["cpu_seconds"], leaves=n) for n in sizes]
    ratios = {how: round(many / few, 2) for how, (few, many) in medians.items()}
    print(f"\nmedians: {options.few:,} leaves, {options.many:,} leaves")
    for how, (few, many) in medians.items():
        print(f"  {few:6.2f} s {many:6.2f} s  {ratios[how]:4.1f} times  {how}")
    print(f"  {first[0]:6.3f} s {first[1]:6.3f} s  until the first row is sent")
    print(f"  {cpu[0]:6.3f} s {cpu[1]:6.3f} s  of that processor time of pgsluice")
    print("rows in each leaf: equal after every load")
    case = {"rows": options.rows, "bytes": file.stat().st_size, "leaves": sizes}
    case |= {"jobs": options.jobs, "rounds": options.rounds}
    outcome = {"medians": medians, "ratios": ratios, "first_row": first, "first_row_cpu": cpu}
    postgresql = record.postgresql(server)
    return {"case": case, "postgresql": postgresql, **outcome, "runs": runs, "openings": openings}


if __name__ == "__main__":
    sys.exit(main("leaves", partial(run, arguments())))
