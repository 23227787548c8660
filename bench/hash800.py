r"""Time pgbench_accounts rows into 800 hash leaves: `pgsluice load` beside psql's `\copy`.

Run it by `make bench`; `make bench ARGS="--rows 500000 --rounds 1"` for a quick look. Rounds are
interleaved, so that a slow minute of the machine hits all alike. Every load begins with TRUNCATE
and CHECKPOINT, and what the server then holds is counted leaf by leaf.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench import record
from bench.accounts import generate
from bench.server import PGSLUICE, ROOT, Server, copy_command
from bench.timing import MIB, Timing, timed

ALLOWANCE_MIB = 64
PSQL = r"psql \copy into the root"
PLAIN = r"psql \copy into an unpartitioned table"
SORTED = r"rows sorted by leaf beforehand, two psql \copy into the leaves"


@dataclass(frozen=True)
class Contender:
    """One way to load the rows: its name, the table that it fills, and its programs."""

    name: str
    table: str
    commands: list[list[str]]


def main() -> int:
    """Run the benchmark, write its record and return the exit status."""
    options = arguments()
    file = generate(options.rows)
    with tempfile.TemporaryDirectory(prefix="pgsluice-bench-", dir="/var/tmp") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)  # started by root, the server runs as another user
        settings = [arg for setting in options.set for arg in ("--set", setting)]
        server = Server.start("--data", str(folder / "data"), *settings)
        try:
            result = measure(server, file, folder, options)
        finally:
            server.stop()
    written = record.write("hash800", result)
    print(f"\nrecord: {written.relative_to(ROOT)}; `make bench-report` puts it into README.md")
    return 0


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="make bench",
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


def server_settings() -> list[str]:
    """Return the settings of FACTS: durable, and no checkpoint or vacuum during a load."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    buffers = min(4096, memory // 4 // MIB)
    return [
        f"shared_buffers={buffers}MB",
        "max_wal_size=16GB",
        "checkpoint_timeout=1h",
        "autovacuum=off",
        "fsync=on",
        "synchronous_commit=on",
    ]


def measure(server: Server, file: Path, folder: Path, options: argparse.Namespace) -> dict:
    """Run all rounds and return what the record holds."""
    server.script(ROOT / "bench" / "hash800.sql", leaves=str(options.leaves))
    print(f"warming up, and counting the rows that psql puts into {options.leaves} leaves ...")
    contenders = contend(server, file, options)
    load(server, contenders[0])
    expected = counts(server)
    if not options.no_baselines:
        contenders += baselines(server, file, folder)
    runs = []
    heading = f"{'round':5} {'seconds':>8} {'rows/s':>10} {'client CPU s':>13} {'client MiB':>11}"
    print(f"\n{heading}  how")
    for number in range(1, options.rounds + 1):
        for contender in contenders:
            timing = load(server, contender)
            verify(server, contender, expected, options.rows)
            runs.append({"round": number, **row(contender, timing)})
            show(runs[-1], options.rows)
    return conclude(server, file, options, runs)


def contend(server: Server, file: Path, options: argparse.Namespace) -> list[Contender]:
    """Return the two that the benchmark is about, psql first."""
    load = [PGSLUICE, "load", str(file), "-d", server.url, "-t", "accounts", "--format", "text"]
    load += ["-q", "--json", "-j", str(options.jobs), "--memory", f"{options.memory}MiB"]
    return [
        Contender(PSQL, "accounts", [server.psql("-c", copy_command("accounts", file))]),
        Contender(ours(options.jobs), "accounts", [load]),
    ]


def ours(jobs: int) -> str:
    """Return the name of our own line."""
    return f"pgsluice load -j {jobs}"


def baselines(server: Server, file: Path, folder: Path) -> list[Contender]:
    """Return what partitions cost psql, and what it could do if someone sorted the rows for it.

    The rows sorted by leaf are dumped from the loaded table.
    """
    files = {leaf: folder / f"{leaf}.txt" for leaf in counts(server)}
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


def counts(server: Server) -> dict[str, int]:
    """Count the rows of each leaf."""
    held = server.query("SELECT tableoid::regclass, count(*) FROM accounts GROUP BY 1 ORDER BY 1")
    return {leaf: int(rows) for leaf, rows in held}


def verify(server: Server, contender: Contender, expected: dict[str, int], rows: int) -> None:
    """End the benchmark if a load left other rows in a leaf than psql's first load did."""
    if contender.table == "accounts":
        right = counts(server) == expected and sum(expected.values()) == rows
    else:
        right = server.query(f"SELECT count(*) FROM {contender.table}") == [[str(rows)]]
    if not right:
        sys.exit(f"bench: {contender.name}: wrong number of rows in {contender.table} or a leaf")


def row(contender: Contender, timing: Timing) -> dict:
    """Return one load as the record holds it, with what pgsluice says of it."""
    measured = {
        "how": contender.name,
        "seconds": round(timing.seconds, 3),
        "client_cpu_seconds": round(timing.cpu_seconds, 3),
        "client_peak_mib": round(timing.peak_mib, 1),
    }
    if timing.output.startswith("{"):
        said = json.loads(timing.output)
        measured["said"] = {name: said.get(name) for name in ("wire", "lanes", "fallbacks")}
    return measured


def show(run: dict, rows: int) -> None:
    """Print one load."""
    speed = f"{run['seconds']:8.2f} {rows / run['seconds']:10,.0f}"
    client = f"{run['client_cpu_seconds']:13.2f} {run['client_peak_mib']:11.0f}"
    print(f"{run['round']:5} {speed} {client}  {run['how']}", flush=True)


def conclude(server: Server, file: Path, options: argparse.Namespace, runs: list[dict]) -> dict:
    """Print medians, the ratio and the memory, and return the whole record."""
    medians = {
        how: round(statistics.median(run["seconds"] for run in runs if run["how"] == how), 3)
        for how in dict.fromkeys(run["how"] for run in runs)
    }
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
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except subprocess.CalledProcessError as failure:
        sys.exit(f"bench: {Path(failure.cmd[0]).name} ended with status {failure.returncode}")
