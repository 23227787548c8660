r"""Time pgbench_accounts rows into 800 hash leaves: `pgsluice load` beside psql's `\copy`.

Run it by `make bench CASE=hash800`, with ARGS="--rows 500000 --rounds 1" for a quick look.
Every load begins with TRUNCATE and CHECKPOINT, and what the server then holds is counted leaf by
leaf.
"""

import argparse
import sys
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
from bench.server import ROOT, Server, copy_command
from bench.timing import Timing, timed

ALLOWANCE_MIB = 64
PLAIN = r"psql \copy into an unpartitioned table"
SORTED = r"rows sorted by leaf beforehand, two psql \copy into the leaves"


def run(options: argparse.Namespace) -> dict:
    """Run the benchmark and return what the record holds."""
    file = generate(options.rows)
    with running(*options.set) as (server, folder):
        return measure(server, file, folder, options)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="make bench CASE=hash800",
        description=__doc__.splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows to load")
    parser.add_argument("--leaves", type=int, default=800, help="hash partitions")
    parser.add_argument("--rounds", type=int, default=3, help="loads of each")
    parser.add_argument("--memory", type=int, default=512, metavar="MIB", help="of pgsluice")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="connections of pgsluice")
    parser.add_argument("--set", action="append", metavar="NAME=VALUE", help="server settings")
    parser.add_argument("--no-baselines", action="store_true", help="only psql and pgsluice")
    options = parser.parse_args()
    options.set = [*server_settings(), *(options.set or [])]
    return options


def measure(server: Server, file: Path, folder: Path, options: argparse.Namespace) -> dict:
    """Run all rounds and return what the record holds."""
    server.script(ROOT / "bench" / "hash800.sql", leaves=str(options.leaves))
    print(f"warming up, and counting the rows that psql puts into {options.leaves} leaves ...")
    memory = ("--memory", f"{options.memory}MiB")
    contenders = [
        by_psql(server, "accounts", file),
        by_pgsluice(server, "accounts", file, options.jobs, *memory),
    ]
    load(server, contenders[0])
    expected = counts(server, "accounts")
    if not options.no_baselines:
        contenders += baselines(server, file, folder)
    runs = []
    heading()
    for number in range(1, options.rounds + 1):
        for contender in contenders:
            timing = load(server, contender)
            verify(server, contender, expected, options.rows)
            runs.append({"round": number, **row(contender, timing)})
            show(runs[-1], options.rows)
    return conclude(server, file, options, runs)


def baselines(server: Server, file: Path, folder: Path) -> list[Contender]:
    """Return what partitions cost psql, and what it could do if someone sorted the rows for it.

    The rows sorted by leaf are dumped from the loaded table.
    """
    files = {leaf: folder / f"{leaf}.txt" for leaf in counts(server, "accounts")}
    dump = folder / "dump.sql"
    dump.write_text("".join(f"\\copy {leaf} to '{file}'\n" for leaf, file in files.items()))
    server.script(dump)
    halves = []
    for half in (0, 1):
        script = folder / f"half{half}.sql"
        copies = [copy_command(leaf, part) for leaf, part in list(files.items())[half::2]]
        script.write_text("\n".join(copies))
        halves.append(server.psql("-f", str(script)))
    plain = server.psql("-c", copy_command("accounts_plain", file))
    return [Contender(PLAIN, "accounts_plain", [plain]), Contender(SORTED, "accounts", halves)]


def load(server: Server, contender: Contender) -> Timing:
    """Empty the tables, flush the server's buffers, and time one load."""
    server.execute("TRUNCATE accounts, accounts_plain", "CHECKPOINT")
    return timed(*contender.commands)


def verify(server: Server, contender: Contender, expected: dict[str, int], rows: int) -> None:
    """End the benchmark if a load left other rows in a leaf than psql's first load did."""
    if contender.table == "accounts":
        right = counts(server, "accounts") == expected and sum(expected.values()) == rows
    else:
        right = server.query(f"SELECT count(*) FROM {contender.table}") == [[str(rows)]]
    if not right:
        sys.exit(f"bench: {contender.name}: wrong number of rows in {contender.table} or a leaf")


def conclude(server: Server, file: Path, options: argparse.Namespace, runs: list[dict]) -> dict:
    """Print medians, the ratio and the memory, and return the whole record."""
    hows = dict.fromkeys(run["how"] for run in runs)
    medians = {how: median(runs, lambda run: run["seconds"], how=how) for how in hows}
    name = ours(options.jobs)
    ratio = medians[PSQL] / medians[name]
    peak = max(run["client_peak_mib"] for run in runs if run["how"] == name)
    limit = options.memory + ALLOWANCE_MIB
    print("\nmedians:")
    for how, seconds in medians.items():
        print(f"  {seconds:6.2f} s  {how}")
    print(f"\npgsluice is {ratio:.2f} times as fast as {PSQL}")
    print(f"peak memory {peak:.0f} MiB; --memory {options.memory} MiB + {ALLOWANCE_MIB} = {limit}")
    print(f"rows in each of {options.leaves} leaves: equal after every load")
    case = {"rows": options.rows, "bytes": file.stat().st_size, "leaves": options.leaves}
    case |= {"jobs": options.jobs, "memory_mib": options.memory, "rounds": options.rounds}
    outcome = {"medians": medians, "ratio": round(ratio, 2), "peak_mib": peak, "limit_mib": limit}
    return {"case": case, "postgresql": record.postgresql(server), **outcome, "runs": runs}


if __name__ == "__main__":
    sys.exit(main("hash800", partial(run, arguments())))
