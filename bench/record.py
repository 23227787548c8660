"""Records of the benchmarks, as tables, goals and the chart read them; they measure nothing.

A record is a run of the lab: docs/lab/FORMAT.md lists what it holds.
"""

import statistics
import subprocess
from collections.abc import Mapping
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
NEWEST = 18  # the version of the server that names do not say


@dataclass(frozen=True)
class Record:
    """A run of a benchmark: an engine is one way to load, whatever the case.

    Where engines load in several cases, each case is a record of its own, by `within`.
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
        """Return the cases, in the order in which they ran first."""
        return [self.within(case) for case in dict.fromkeys(load.case for load in self.loads)]

    @property
    def ways(self) -> list[tuple[str, dict]]:
        """Return the engines and points, in the order in which they ran first."""
        ways = [(load.engine, load.point) for load in self.loads if load.done]
        return [way for number, way in enumerate(ways) if way not in ways[:number]]

    def title(self, engine: str) -> str:
        """Return the name of a way to load, in words."""
        return self.head.engines[engine].title

    def of(self, engine: str, point: Mapping = EVERYWHERE) -> list[Load]:
        """Return the loads of an engine at a point."""
        return [load for load in self.at(point).loads if load.done and load.engine == engine]

    def median(self, figure: str, engine: str, point: Mapping = EVERYWHERE) -> float | None:
        """Return the median of a figure; None where a round does not know it."""
        values = [load.figure(figure) for load in self.of(engine, point)]
        return None if None in values or not values else round(statistics.median(values), 4)

    def peak(self, engine: str, point: Mapping = EVERYWHERE) -> float:
        """Return the most memory that a client took, in MiB."""
        return max(load.client_peak_mib for load in self.of(engine, point))

    def faster(self, engine: str, than: str) -> float | None:
        """Return how many times as fast an engine is as another, by medians; None without both."""
        ours, theirs = self.median("seconds", engine), self.median("seconds", than)
        return None if ours is None or theirs is None else round(theirs / ours, 2)

    @property
    def leaves(self) -> tuple[int, int]:
        """Return the least and the largest number of leaves."""
        numbers = self.head.parameters["leaves"]
        return min(numbers), max(numbers)

    @property
    def rounds(self) -> list[int]:
        """Return how often the loads were run: several numbers where parts differ in it."""
        return sorted({len(case.of(*way)) for case in self.cases for way in case.ways})

    def values(self, name: str) -> list:
        """Return the values of an axis, in the order in which they ran first."""
        return list(dict.fromkeys(point[name] for _, point in self.ways if name in point))

    @property
    def first(self) -> Load:
        """Return the first load: the input is that of its case."""
        return next(load for load in self.loads if load.done)

    @property
    def rows(self) -> int:
        return self.first.rows

    @property
    def bytes(self) -> int:
        return self.first.input_bytes


def name_of(head: Head) -> str:
    """Return the name of what was measured: the experiment, and the server if it is older."""
    major = head.postgresql.major
    return head.experiment if major == NEWEST else f"{head.experiment}-pg{major}"


def newest() -> dict[str, Record]:
    """Return the latest record of each experiment on each server, and of the benchmarks of several.

    Those are here once all parts are.
    """
    records = {name_of(run.head): Record(run.head, run.loads) for run in record.newest(RECORDS)}
    majors = {each.head.postgresql.major for each in records.values()}
    wholes = [joined(whole, major, records) for whole in PARTS for major in majors]
    return records | {name_of(each.head): each for each in wholes if each}


def joined(whole: str, major: int, records: Mapping[str, Record]) -> Record | None:
    """Return the parts of a benchmark as one record, if all are here and of one machine."""
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
    """Return the commit that is measured, marked if the checkout differs from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
