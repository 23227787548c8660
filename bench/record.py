"""Records of the benchmarks, for tables, goals and the chart; they measure nothing.

A record is a run of the lab: docs/lab/FORMAT.md describes it.
"""

import statistics
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pgsluice_lab import record
from pgsluice_lab.record import Head, Load

from bench.place import ROOT

RECORDS = ROOT / "bench" / "records"
EVERYWHERE: Mapping[str, object] = {}
# Benchmarks of several experiments, which can be measured one by one, on one machine and server.
PARTS = {
    "grid": ["grid-small", "grid-large", "grid-million"],
    "network": ["network-large", "network-small"],
}
NEWEST = 18  # the version of the server that names omit


@dataclass(frozen=True)
class Record:
    """A run of a benchmark. An engine is one way to load, whatever the case.

    If engines load in several cases, `within` gives each case as a separate record.
    """

    head: Head
    loads: list[Load]

    def within(self, case: str) -> "Record":
        """Return the loads of one case."""
        return replace(self, loads=[load for load in self.loads if load.case == case])

    def at(self, point: Mapping) -> "Record":
        """Return the loads at a point."""
        return replace(
            self, loads=[load for load in self.loads if point.items() <= load.point.items()]
        )

    @property
    def cases(self) -> list["Record"]:
        """Return the cases, in the order of their first run."""
        return [self.within(case) for case in dict.fromkeys(load.case for load in self.loads)]

    @property
    def ways(self) -> list[tuple[str, dict]]:
        """Return the engines and points, in the order of their first run."""
        ways = [(load.engine, load.point) for load in self.loads if load.done]
        return [way for number, way in enumerate(ways) if way not in ways[:number]]

    def title(self, engine: str) -> str:
        """Return the name of a way to load, in words."""
        return self.head.engines[engine].title

    def loads_of(self, engine: str, point: Mapping = EVERYWHERE) -> list[Load]:
        """Return the loads of an engine at a point."""
        return [load for load in self.at(point).loads if load.done and load.engine == engine]

    def median(self, figure: str, engine: str, point: Mapping = EVERYWHERE) -> float | None:
        """Return the median of a figure; None if a round does not have it."""
        value = median(load.figure(figure) for load in self.loads_of(engine, point))
        return None if value is None else round(value, 4)

    def peak(self, engine: str, point: Mapping = EVERYWHERE) -> float:
        """Return the peak memory of a client, in MiB."""
        return max(load.client_peak_mib for load in self.loads_of(engine, point))

    def faster(self, engine: str, than: str) -> float | None:
        """Return how many times as fast an engine is as another, by medians; None without both."""
        ours, theirs = self.median("seconds", engine), self.median("seconds", than)
        return None if ours is None or theirs is None else round(theirs / ours, 2)

    @property
    def leaves(self) -> tuple[int, int]:
        """Return the smallest and the largest number of leaves."""
        numbers = self.head.parameters["leaves"]
        return min(numbers), max(numbers)

    @property
    def rounds(self) -> list[int]:
        """Return the numbers of rounds; several if parts differ."""
        return sorted({len(case.loads_of(*way)) for case in self.cases for way in case.ways})

    def values(self, name: str) -> list:
        """Return the values of an axis, in the order of their first run."""
        return list(dict.fromkeys(point[name] for _, point in self.ways if name in point))

    @property
    def first(self) -> Load:
        """Return the first load: its input is the input of its case."""
        return next(load for load in self.loads if load.done)

    @property
    def rows(self) -> int:
        return self.first.rows

    @property
    def bytes(self) -> int:
        return self.first.input_bytes


def median(values: Iterable[float | None]) -> float | None:
    """Return the median, or None if a value is missing or there is none."""
    known = [*values]
    return None if None in known or not known else statistics.median(known)


def name_of(head: Head) -> str:
    """Return the name of a benchmark: the experiment, and the server's version if it is older."""
    major = head.postgresql.major
    return head.experiment if major == NEWEST else f"{head.experiment}-pg{major}"


def newest() -> dict[str, Record]:
    """Return the latest record of each experiment on each server, and of benchmarks with parts.

    The latter need all parts.
    """
    records = {name_of(run.head): Record(run.head, run.loads) for run in record.newest(RECORDS)}
    majors = {each.head.postgresql.major for each in records.values()}
    wholes = [joined(whole, major, records) for whole in PARTS for major in majors]
    return records | {name_of(each.head): each for each in wholes if each}


def joined(whole: str, major: int, records: Mapping[str, Record]) -> Record | None:
    """Return the parts of a benchmark as one record, if all exist and come from one machine."""
    parts = [
        each
        for each in records.values()
        if each.head.experiment in PARTS[whole] and each.head.postgresql.major == major
    ]
    places = [(each.head.machine, each.head.postgresql) for each in parts]
    if len(parts) < len(PARTS[whole]) or places.count(places[0]) < len(places):
        return None
    parts.sort(key=lambda each: PARTS[whole].index(each.head.experiment))
    engines = {name: each for part in parts for name, each in part.head.engines.items()}
    date = max(part.head.date for part in parts)
    head = replace(parts[0].head, experiment=whole, engines=engines, date=date)
    return Record(head, [load for part in parts for load in part.loads])


def commit() -> str:
    """Return the measured commit, marked if the checkout differs from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
