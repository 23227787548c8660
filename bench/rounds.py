"""Loads in interleaved rounds, so that a slow minute of the machine hits all alike.

What is loaded into what differs from one benchmark to the next; how it is timed, verified and
shown does not.
"""

import json
import statistics
import sys
from argparse import Namespace
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pgsluice_lab.meter import Meter, postmaster_in
from pgsluice_lab.server import Server, copy_command
from pgsluice_lab.timing import MIB, timed

from bench.inputs import Rows
from bench.place import PGSLUICE

PSQL = r"psql \copy into the root"
SAID = ("rows_read", "wire", "lanes", "fallbacks", "first_row")


@dataclass(frozen=True)
class Contender:
    """One way to load the rows: its name, the table that it fills, and its programs."""

    name: str
    table: str
    commands: list[list[str]]


def by_psql(server: Server, table: str, rows: Rows, name: str = PSQL) -> Contender:
    r"""Return the way of psql's `\copy`."""
    return Contender(name, table, [server.psql("-c", copy_command(table, rows.file, rows.copy))])


def by_pgsluice(
    server: Server, table: str, rows: Rows, options: Namespace, *more: str
) -> Contender:
    """Return ours, with what the benchmark's command line says and more."""
    load = [PGSLUICE, "load", str(rows.file), "-d", server.url, "-t", table, *rows.load]
    limits = ["-j", str(options.jobs), "--memory", f"{options.memory}MiB"]
    return Contender(ours(options.jobs), table, [[*load, "-q", "--json", *limits, *more]])


def ours(jobs: int, option: str = "") -> str:
    """Return the name of our own line."""
    return " ".join(filter(None, ("pgsluice load", option, f"-j {jobs}")))


def warmed(server: Server, table: str, rows: Rows) -> dict[str, int]:
    """Load the rows by psql, and return how many are in each leaf then: what is right."""
    print(f"warming up, and counting the rows that psql puts into the leaves of {table} ...")
    load(server, by_psql(server, table, rows))
    return counts(server, table)


def interleaved(
    server: Server,
    contenders: Iterable[Contender],
    rounds: int,
    rows: int,
    prepare: Callable[[Contender], None],
    verify: Callable[[Contender, dict], None],
) -> list[dict]:
    """Run each contender once a round; `verify` ends the benchmark if a load was wrong.

    Each round begins with another one: what ran before a load leaves its traces in the machine.
    """
    runs, order = [], deque(contenders)
    heading()
    for number in range(1, rounds + 1):
        for contender in tuple(order):
            prepare(contender)
            run = {"round": number, **load(server, contender)}
            verify(contender, run)
            runs.append(run)
            show(run, rows)
        order.rotate(-1)
    return runs


def emptying(server: Server, *tables: str) -> Callable[[Contender], None]:
    """Return what empties these tables and flushes the server's buffers before a load."""

    def prepare(_: Contender) -> None:
        server.execute(f"TRUNCATE {', '.join(tables)}", "CHECKPOINT")

    return prepare


def expecting(server: Server, expected: dict[str, dict[str, int]]) -> Callable[..., None]:
    """Return what ends the benchmark if a table's leaves do not hold as many rows as expected."""

    def verify(contender: Contender, _: dict) -> None:
        if counts(server, contender.table) != expected[contender.table]:
            wrong(contender)

    return verify


def wrong(contender: Contender, what: str = "wrong number of rows in a leaf") -> None:
    """End the benchmark."""
    sys.exit(f"bench: {contender.name}: {what}, table {contender.table}")


def counts(server: Server, table: str) -> dict[str, int]:
    """Count the rows of each leaf that has any, by what its name has behind the table's."""
    held = server.query(f"SELECT tableoid::regclass, count(*) FROM {table} GROUP BY 1 ORDER BY 1")
    return {leaf[0].removeprefix(table): int(leaf[1]) for leaf in held if leaf != [""]}


def load(server: Server, contender: Contender) -> dict:
    """Run one load and return it as the record holds it, with what pgsluice says of it."""
    [[data]] = server.query("SHOW data_directory")
    meter = Meter(server.query, postmaster_in(Path(data)))
    timing = timed(*contender.commands)
    cost = meter.stop()
    run = {
        "how": contender.name,
        "seconds": round(timing.seconds, 4),
        "client_cpu_seconds": round(timing.cpu_seconds, 3),
        "server_cpu_seconds": cost.cpu_seconds,
        "client_peak_mib": round(timing.peak_mib, 1),
        "wal_mib": round(cost.wal_bytes / MIB, 1),
    }
    if timing.output.startswith("{"):
        said = json.loads(timing.output)
        run["said"] = {name: said.get(name) for name in SAID}
    return run


def heading() -> None:
    """Print what stands above the lines of `show`."""
    client = f"{'client CPU s':>13} {'server CPU s':>13} {'client MiB':>11} {'WAL MiB':>8}"
    print(f"\n{'round':5} {'seconds':>8} {'rows/s':>10} {client}  how")


def show(run: dict, rows: int) -> None:
    """Print one load."""
    speed = f"{run['seconds']:8.3f} {rows / run['seconds']:10,.0f}"
    server = "" if run["server_cpu_seconds"] is None else f"{run['server_cpu_seconds']:.2f}"
    client = f"{run['client_cpu_seconds']:13.2f} {server:>13} {run['client_peak_mib']:11.0f}"
    line = f"{run['round']:5} {speed} {client} {run['wal_mib']:8.0f}  {label(run)}"
    print(line, flush=True)


def ways(runs: list[dict]) -> list[dict]:
    """Return what tells the ways to load apart, in the order in which they ran first."""
    found = []
    for run in runs:
        which = {name: run[name] for name in ("how", "leaves") if name in run}
        if which not in found:
            found.append(which)
    return found


def label(which: dict) -> str:
    """Return a way to load in words."""
    leaves = f" ({which['leaves']:,} leaves)" if "leaves" in which else ""
    return which["how"] + leaves


def median(runs: list[dict], figure: str, **which: object) -> float | None:
    """Return the median of a figure over the runs that are `which`; None where it is not known."""
    values = [run.get(figure) for run in runs if which.items() <= run.items()]
    return None if None in values or not values else round(statistics.median(values), 4)


def faster(runs: list[dict], how: str, than: str) -> float | None:
    """Return how many times as fast one way is as another, by the medians; None without both."""
    ours, theirs = (median(runs, "seconds", how=name) for name in (how, than))
    return None if ours is None or theirs is None else round(theirs / ours, 2)
