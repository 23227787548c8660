r"""Time the same rows in each lane: found natively, by the server's evaluation, and by the server.

Run it by `make bench CASE=lanes`, with ARGS="--rows 200000 --rounds 1" for a quick look.
Both tables put a row into the leaf of the same number, so only the lane differs. pgsluice says how
many rows took which lane; one row in another lane than its line claims ends the benchmark.
"""

import argparse
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench import record
from bench.accounts import generate
from bench.rounds import (
    PSQL,
    Contender,
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

# Nobody but the server evaluates #, and it leaves the key and its hash as they are.
KEYS = {"native": "aid", "served": "(aid # 0)"}


def run(options: argparse.Namespace) -> dict:
    """Run the benchmark and return what the record holds."""
    file = generate(options.rows)
    with running(*server_settings()) as (server, _):
        return measure(server, file, options)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="make bench CASE=lanes",
        description=__doc__.splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows to load")
    parser.add_argument("--leaves", type=int, default=800, help="hash partitions")
    parser.add_argument("--rounds", type=int, default=3, help="loads of each")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="connections of pgsluice")
    return parser.parse_args()


def measure(server: Server, file: Path, options: argparse.Namespace) -> dict:
    """Run all rounds and return what the record holds."""
    for table, key in KEYS.items():
        script = ROOT / "bench" / "lanes.sql"
        server.script(script, table=table, key=key, leaves=str(options.leaves))
    psql = by_psql(server, "served", file)
    lanes = by_lane(server, file, options.jobs)
    print(f"warming up, and counting the rows that psql puts into {options.leaves} leaves ...")
    load(server, psql)
    expected = held(server, "served")
    runs = []
    heading()
    for number in range(1, options.rounds + 1):
        for lane, contender in [(None, psql), *lanes.items()]:
            measured = load(server, contender)
            if held(server, contender.table) != expected or sum(expected.values()) != options.rows:
                sys.exit(f"bench: {contender.name}: wrong number of rows in a leaf")
            if lane:
                verify_lane(measured, lane, options.rows)
            runs.append({"round": number, **measured})
            show(runs[-1], options.rows)
    return conclude(server, file, options, runs)


def by_lane(server: Server, file: Path, jobs: int) -> dict[str, Contender]:
    """Return our ways to load a file, by the lane that every row takes."""

    def named(lane: str, table: str, *options: str) -> Contender:
        return replace(by_pgsluice(server, table, file, jobs, *options), name=name(jobs, lane))

    return {
        "native": named("native", "native"),
        "server": named("server", "served"),
        "slow": named("slow", "served", "--no-native"),
    }


def name(jobs: int, lane: str) -> str:
    """Return the name of one of our own lines."""
    return f"{ours(jobs)}, {lane} lane"


def load(server: Server, contender: Contender) -> dict:
    """Empty the tables, flush the server's buffers, and time one load."""
    server.execute(f"TRUNCATE {', '.join(KEYS)}", "CHECKPOINT")
    return row(contender, timed(*contender.commands))


def held(server: Server, table: str) -> dict[str, int]:
    """Count the rows of each leaf, by what its name has behind the table's."""
    return {leaf.removeprefix(table): rows for leaf, rows in counts(server, table).items()}


def verify_lane(measured: dict, lane: str, rows: int) -> None:
    """End the benchmark if any row took another lane."""
    lanes = measured["said"]["lanes"]
    if lanes != {"native": 0, "server": 0, "slow": 0} | {lane: rows}:
        sys.exit(f"bench: {measured['how']}: not all rows took that lane, but {lanes}")


def conclude(server: Server, file: Path, options: argparse.Namespace, runs: list[dict]) -> dict:
    """Print medians and ratios, and return the whole record."""
    hows = dict.fromkeys(run["how"] for run in runs)
    medians = {how: median(runs, lambda run: run["seconds"], how=how) for how in hows}
    cpu = {how: median(runs, lambda run: run["client_cpu_seconds"], how=how) for how in hows}
    ratios = {how: round(medians[PSQL] / seconds, 2) for how, seconds in medians.items()}
    print("\nmedians:")
    for how, seconds in medians.items():
        speed = f"{seconds:6.2f} s {options.rows / seconds:10,.0f} rows/s"
        print(f"  {speed} {cpu[how]:6.2f} s CPU {ratios[how]:5.2f} times psql's speed  {how}")
    print(f"rows in each of {options.leaves} leaves: equal after every load")
    print("lanes: all rows in the lane of their line in every load")
    case = {"rows": options.rows, "bytes": file.stat().st_size, "leaves": options.leaves}
    case |= {"keys": KEYS, "jobs": options.jobs, "rounds": options.rounds}
    postgresql = record.postgresql(server)
    outcome = {"medians": medians, "client_cpu_seconds": cpu, "ratios": ratios}
    return {"case": case, "postgresql": postgresql, **outcome, "runs": runs}


if __name__ == "__main__":
    sys.exit(main("lanes", partial(run, arguments())))
