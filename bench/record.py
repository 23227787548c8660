"""Records of the benchmarks, as tables, goals and the chart read them; they measure nothing.

A record is a run of the lab: docs/lab/FORMAT.md lists what it holds.
"""

import statistics
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from pgsluice_lab import record
from pgsluice_lab.record import Head, Load

from bench.place import ROOT

RECORDS = ROOT / "bench" / "records"
EVERYWHERE: Mapping[str, object] = {}


@dataclass(frozen=True)
class Record:
    """A run of a benchmark: an engine is one way to load, whatever the case."""

    head: Head
    loads: list[Load]

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
        return [
            load
            for load in self.loads
            if load.done and load.engine == engine and point.items() <= load.point.items()
        ]

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
    def first(self) -> Load:
        """Return the first load: the input is that of its case."""
        return next(load for load in self.loads if load.done)

    @property
    def rows(self) -> int:
        return self.first.rows

    @property
    def bytes(self) -> int:
        return self.first.input_bytes


def newest() -> dict[str, Record]:
    """Return the latest record of each benchmark, on the highest version of the server."""
    return {run.head.experiment: Record(run.head, run.loads) for run in record.newest(RECORDS)}


def commit() -> str:
    """Return the commit that is measured, marked if the checkout differs from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
