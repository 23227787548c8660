"""What every benchmark is as a program: its command line, a server of its own, its record."""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pgsluice_lab.machine import postgresql
from pgsluice_lab.server import Server
from pgsluice_lab.server import settings as server_settings

from bench import goals, record, rounds
from bench.inputs import Rows
from bench.place import ROOT

# What some benchmarks measure beside psql and pgsluice.
EXTRAS = ("plain", "floor", "exchange")


def arguments(
    case: str, doc: str, least: int = 3, **sizes: tuple[float, str]
) -> argparse.Namespace:
    """Read the command line of a benchmark; `sizes` are what makes it large or small.

    `whole` says whether it is the whole benchmark: of its own size and settings, and `least` rounds
    or more.
    """
    parser = argparse.ArgumentParser(
        prog=f"make bench CASE={case}",
        description=doc.splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    for name, (size, what) in sizes.items():
        parser.add_argument(f"--{name}", type=type(size), default=size, help=what)
    parser.add_argument("--rounds", type=int, default=least, help="loads of each")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="connections of pgsluice")
    parser.add_argument("--memory", type=int, default=512, metavar="MIB", help="of pgsluice")
    parser.add_argument("--set", action="append", metavar="NAME=VALUE", help="server settings")
    parser.add_argument("--without", action="append", choices=EXTRAS, help="leave this out")
    options, own = parser.parse_args(), parser.parse_args([])
    as_own = {**vars(options), "rounds": least} == vars(own)
    options.whole = as_own and options.rounds >= least
    options.set, options.without = options.set or [], options.without or []
    return options


def main(
    case: str,
    measure: Callable[[Server, Path, argparse.Namespace], dict],
    options: argparse.Namespace,
    *settings: str,
) -> int:
    """Measure with a server of its own, write the record, and return the exit status."""

    def measured() -> dict:
        with running(*server_settings(), *settings, *options.set) as (server, folder):
            result = measure(server, folder, options)
            return {**result, "postgresql": postgresql(server.query)}

    return conclude(case, measured, options)


def conclude(case: str, measured: Callable[[], dict], options: argparse.Namespace) -> int:
    """Measure, write what came out as a record, print it, and return the exit status."""
    try:
        result = measured()
    except KeyboardInterrupt:
        return 130
    except subprocess.CalledProcessError as failure:
        sys.exit(f"bench: {Path(failure.cmd[0]).name} ended with status {failure.returncode}")
    if "runs" in result:
        show_medians(result["runs"])
    judged = goals.judge(case, result.get("measured", {}))
    goals.show(judged, "what it must show")
    if not options.whole:
        print("\nnot the whole benchmark, so no record is written")
        return 0
    file = record.write(case, {**result, "goals": judged})
    print(f"\nrecord: {file.relative_to(ROOT)}; `make bench-report` puts it into the documentation")
    return 0


def show_medians(runs: list[dict]) -> None:
    """Print the median seconds of each way, and the most memory that it took."""
    print("\nmedians, and peak memory of the client:")
    for which in rounds.ways(runs):
        peak = max(run["client_peak_mib"] for run in runs if which.items() <= run.items())
        seconds = rounds.median(runs, "seconds", **which)
        print(f"  {seconds:7.3f} s {peak:5.0f} MiB  {rounds.label(which)}")


def case(options: argparse.Namespace, rows: Rows, **more: object) -> dict:
    """Return what the record says of the case: what was loaded, and how."""
    how = {"jobs": options.jobs, "memory_mib": options.memory, "rounds": options.rounds}
    return {"rows": rows.count, "bytes": rows.bytes, **more, **how}


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
