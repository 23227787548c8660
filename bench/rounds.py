"""Loads in interleaved rounds, so that a slow minute of the machine hits all alike.

What is measured differs from one benchmark to the next; how it is run and written down does not.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import record
from bench.server import PGSLUICE, ROOT, Server, copy_command
from bench.timing import MIB, Timing

PSQL = r"psql \copy into the root"
SAID = ("wire", "lanes", "fallbacks", "first_row")


@dataclass(frozen=True)
class Contender:
    """One way to load the rows: its name, the table that it fills, and its programs."""

    name: str
    table: str
    commands: list[list[str]]


@contextmanager
def running(*settings: str) -> Iterator[tuple[Server, Path]]:
    """Run a server of its own, and give it with a folder for what is needed beside it."""
    with tempfile.TemporaryDirectory(prefix="pgsluice-bench-", dir="/var/tmp") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)  # started by root, the server runs as another user
        options = [arg for setting in settings for arg in ("--set", setting)]
        server = Server.start("--data", str(folder / "data"), *options)
        try:
            yield server, folder
        finally:
            server.stop()


def server_settings() -> list[str]:
    """Return the settings of all records: durable, and no checkpoint or vacuum during a load."""
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


def by_psql(server: Server, table: str, file: Path) -> Contender:
    """Return psql's way to load a file."""
    return Contender(PSQL, table, [server.psql("-c", copy_command(table, file))])


def by_pgsluice(server: Server, table: str, file: Path, jobs: int, *options: str) -> Contender:
    """Return ours."""
    load = [PGSLUICE, "load", str(file), "-d", server.url, "-t", table, "--format", "text"]
    return Contender(ours(jobs), table, [[*load, "-q", "--json", "-j", str(jobs), *options]])


def ours(jobs: int) -> str:
    """Return the name of our own line."""
    return f"pgsluice load -j {jobs}"


def counts(server: Server, table: str) -> dict[str, int]:
    """Count the rows of each leaf."""
    held = server.query(f"SELECT tableoid::regclass, count(*) FROM {table} GROUP BY 1 ORDER BY 1")
    return {leaf: int(rows) for leaf, rows in held}


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
        measured["said"] = {name: said.get(name) for name in SAID}
    return measured


def heading() -> None:
    """Print what stands above the lines of `show`."""
    columns = f"{'round':5} {'seconds':>8} {'rows/s':>10} {'client CPU s':>13} {'client MiB':>11}"
    print(f"\n{columns}  how")


def show(run: dict, rows: int) -> None:
    """Print one load."""
    speed = f"{run['seconds']:8.2f} {rows / run['seconds']:10,.0f}"
    client = f"{run['client_cpu_seconds']:13.2f} {run['client_peak_mib']:11.0f}"
    leaves = f" ({run['leaves']:,} leaves)" if "leaves" in run else ""
    print(f"{run['round']:5} {speed} {client}  {run['how']}{leaves}", flush=True)


def median(runs: list[dict], value: Callable[[dict], float], **which: object) -> float:
    """Return the median of a value over the runs that are `which`."""
    chosen = [run for run in runs if which.items() <= run.items()]
    return round(statistics.median(value(run) for run in chosen), 3)


def main(bench: str, measure: Callable[[], dict]) -> int:
    """Measure, write the record and return the exit status of the program."""
    try:
        written = record.write(bench, measure())
    except KeyboardInterrupt:
        return 130
    except subprocess.CalledProcessError as failure:
        sys.exit(f"bench: {Path(failure.cmd[0]).name} ended with status {failure.returncode}")
    print(f"\nrecord: {written.relative_to(ROOT)}; `make bench-report` puts it into README.md")
    return 0
