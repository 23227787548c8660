"""Run a benchmark: `python -m bench CASE`, with options that change its size or settings.

The loads are experiments of the lab, in `experiments/`, with their own engines. Only the whole
benchmark, at its own size and settings, writes a record.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pgsluice_lab import experiment, session, site
from pgsluice_lab.experiment import Experiment, Scale
from pgsluice_lab.failure import LabError
from pgsluice_lab.timing import MIB

from bench import goals, inputs, kafka, network, objects, source, spark, stages, writing
from bench.correctness import command as correctness
from bench.move import command
from bench.place import ROOT
from bench.record import PARTS, RECORDS, Record, commit, name_of

EXPERIMENTS = ROOT / "bench" / "experiments"
ENGINES = ROOT / "bench" / "engines.toml"
# Benchmarks that are not loads.
OTHERS = {
    "stages": stages.main,
    "writing": writing.main,
    "move": command.main,
    "kafka": kafka.main,
    "spark": spark.main,
    "objects": objects.main,
    "correctness": correctness.main,
}
HELP = {
    "ids": "uuids of a load",
    "share": "per cent of the rows that are there before",
    "rows": "rows to load",
    "before": "rows that are there before",
    "leaves": "leaves of the table",
    "scale": "TPC-H's scale factor, or that of the rows",
    "jobs": "connections of pgsluice",
    "memory": "memory of pgsluice, in MiB",
    "step": "between balances",
    "native": "a key that is found natively",
    "served": "a key that the server evaluates",
    "key": "1 with a primary key, 0 without",
    "socket": "1 to connect by a Unix-domain socket without a password, 0 by TCP",
    "milliseconds": "round trips of the network; none is without the proxy",
}


def main(args: list[str]) -> int:
    """Run the benchmark that is named first, and return the exit status."""
    case = args[0] if args else ""
    try:
        if case in OTHERS:
            return OTHERS[case](args[1:])
        # All are read before the first one runs, so that an option that is wrong for one fails at
        # once.
        parts = [load(part) for part in PARTS.get(case, [case])]
        plans = [(part, arguments(part, args[1:])) for part in parts]
        return max(run(part, options) for part, options in plans)
    except KeyboardInterrupt:
        return 130
    except subprocess.CalledProcessError as failure:
        sys.exit(f"bench: {Path(failure.cmd[0]).name} ended with status {failure.returncode}")
    except LabError as error:
        sys.exit("\n".join(error.lines()))


def load(case: str) -> Experiment:
    """Return the experiment of a benchmark."""
    return experiment.load(case, EXPERIMENTS, ENGINES)


def run(whole: Experiment, options: argparse.Namespace) -> int:
    """Measure on a private server, print the result, and write the record of a whole benchmark."""
    chosen, scale = scaled(whole, options)
    programs = binaries(options.major)
    os.environ["PGSLUICE_LAB_CACHE"] = str(inputs.CACHE)
    with (
        tempfile.TemporaryDirectory() as folder,
        site.opened(None, programs, options.set) as place,
        source.opened(chosen, scale, place, programs, options.set),
        network.address_finder(place, scale) as reach,
    ):
        to = Path(folder)
        journal = session.run(chosen, scale, place, to, say, inputs.given, commit(), reach)
        record = Record(journal.head, journal.loads)
        show(record)
        goals.show(goals.judge(name_of(journal.head), record), "what it must show")
        if bad := [each for each in journal.loads if not each.done]:
            reasons = (f"{each.engine}, round {each.round}: {each.reason}" for each in bad)
            sys.exit("\n".join(["", *(f"bench: {each}" for each in reasons)]))
        if not options.whole:
            print("\nnot the whole benchmark, so no record is written")
            return 0
        file = shutil.copy(journal.file, RECORDS / journal.file.name)
    print(f"\nrecord: {file.relative_to(ROOT)}; `make bench-report` puts it into the documentation")
    return 0


def binaries(major: int | None) -> Path | None:
    """Return the folder of the programs of this version, which are fetched if necessary."""
    if major is None:
        return None
    command = [sys.executable, ROOT / "scripts" / "fetch_postgres.py", str(major)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.splitlines()[-1])


def own(whole: Experiment) -> Scale:
    """Return the size of the whole benchmark."""
    return whole.scales["full"]


def arguments(whole: Experiment, args: list[str]) -> argparse.Namespace:
    """Read the command line, which can make the benchmark smaller or larger.

    `whole` says whether it is the whole benchmark: its own size and settings, and at least its
    rounds.
    """
    parser = argparse.ArgumentParser(
        prog=f"make bench CASE={whole.name}",
        description=whole.title,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    scale = own(whole)
    for name, given in scale.parameters.items():
        parser.add_argument(
            *(["-j"] if name == "jobs" else []),
            f"--{name}",
            type=type(scale.values(name)[0]),
            nargs="+" if isinstance(given, list) else None,
            default=given,
            help=HELP[name],
        )
    parser.add_argument("--rounds", type=int, default=scale.rounds, help="loads of each")
    parser.add_argument("--major", type=int, help="of the server, if not the newest")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="server settings"
    )
    parser.add_argument(
        "--without", action="append", default=[], choices=whole.engines, help="leave this out"
    )
    options = parser.parse_args(args)
    free = {"rounds": scale.rounds, "major": None}
    as_own = {**vars(options), **free} == vars(parser.parse_args([]))
    options.whole = as_own and options.rounds >= scale.rounds
    return options


def scaled(whole: Experiment, options: argparse.Namespace) -> tuple[Experiment, Scale]:
    """Return the experiment and its scale with the options of the command line."""
    scale = own(whole)
    parameters = {name: getattr(options, name) for name in scale.parameters}
    kept = (
        replace(case, engines=[each for each in case.engines if each not in options.without])
        for case in whole.cases
    )
    chosen = replace(whole, cases=[case for case in kept if case.engines])
    return chosen, replace(scale, rounds=options.rounds, parameters=parameters)


def say(step: str, _: int) -> None:
    """Print the step that begins."""
    if step:
        print(step, flush=True)


def show(record: Record) -> None:
    """Print the medians of each way to load, and its peak memory."""
    heading = f"{'client CPU s':>13} {'server CPU s':>13} {'client MiB':>11} {'WAL MiB':>8}"
    print(f"\n{'seconds':>8} {heading}  medians of")
    for case in record.cases:
        for engine, point in case.ways:
            show_way(case, engine, point)


def show_way(record: Record, engine: str, point: Mapping[str, object]) -> None:
    """Print a line of one way to load."""
    seconds, client, server, wal = (
        record.median(figure, engine, point)
        for figure in ("seconds", "client_cpu_seconds", "server_cpu_seconds", "wal_bytes")
    )
    spent = f"{client:13.2f} {'' if server is None else f'{server:.2f}':>13}"
    figures = f"{seconds:8.3f} {spent} {record.peak(engine, point):11.0f} {wal / MIB:8.0f}"
    where = "".join(
        f" ({value:,} {name})" if isinstance(value, int) else f" ({name} {value})"
        for name, value in point.items()
    )
    print(f"{figures}  {record.title(engine)}{where}")


if __name__ == "__main__":
    # The server is stopped when the process is terminated, as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
