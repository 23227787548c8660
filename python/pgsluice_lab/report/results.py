"""Runs for the report: the newest of each experiment and server, and its figures.

A figure is a number of a load (`seconds`, `wal_bytes`, ...) or from its engine's output (`tps`,
...). Only loads that are done have figures.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median

from pgsluice_lab import record
from pgsluice_lab.record import Head, Load

EXTREMES = {"max": max, "min": min}


@dataclass(frozen=True)
class Measured:
    """A number with a value for each round: their median, the smallest and the largest."""

    rounds: tuple[float, ...]

    @property
    def value(self) -> float:
        return median(self.rounds)

    @property
    def low(self) -> float:
        return min(self.rounds)

    @property
    def high(self) -> float:
        return max(self.rounds)

    @property
    def once(self) -> bool:
        return len(self.rounds) == 1

    @property
    def undecided(self) -> bool:
        """Return whether the rounds of a ratio leave open on which side of one it lies."""
        return self.low <= 1 <= self.high and not self.once


@dataclass(frozen=True)
class Results:
    """One run of an experiment: its head, its loads, and whether it is complete."""

    head: Head
    loads: list[Load]
    finished: bool

    @property
    def major(self) -> int:
        return self.head.postgresql.major

    @cached_property
    def done(self) -> list[Load]:
        """Return the loads that have figures; if a load was done twice, the later one."""
        keyed = {(identity(load), load.round): load for load in self.loads if load.done}
        return list(keyed.values())

    def values(self, parameter: str) -> list:
        """Return all values of a parameter in this run."""
        given = self.head.parameters.get(parameter, [])
        return given if isinstance(given, list) else [given]

    def fixed(self, where: dict) -> dict:
        """Return these values of axes, with "max" and "min" replaced by numbers."""
        return {
            axis: EXTREMES[value](self.values(axis)) if value in ("max", "min") else value
            for axis, value in where.items()
        }

    def points(self, case: str, engine: str, where: dict) -> list[dict]:
        """Return the points with figures that have these values, in the order of the scale.

        An axis that the case does not have excludes nothing: a plain table has no partitions.
        """
        fixed = self.fixed(where)
        found = {
            identity(load): load.point
            for load in self.done
            if load.case == case
            and load.engine == engine
            and all(load.point.get(axis, value) == value for axis, value in fixed.items())
        }
        return sorted(found.values(), key=self.place)

    def place(self, point: dict) -> list[int]:
        """Return the position of a point in the lists of the scale."""
        listed = ((value, self.values(axis)) for axis, value in point.items())
        return [values.index(value) if value in values else -1 for value, values in listed]

    def by_round(self, figure: str, case: str, engine: str, point: dict) -> dict[int, float]:
        """Return a figure of one point and engine in each round that has it."""
        found = {
            load.round: load.figure(figure)
            for load in self.done
            if (load.case, load.engine, load.point) == (case, engine, point)
        }
        return {number: value for number, value in sorted(found.items()) if value is not None}

    def find(self, figure: str, case: str, engine: str, point: dict) -> Measured | None:
        """Return a figure of one point and engine over the rounds; None if no round has it."""
        values = self.by_round(figure, case, engine, point)
        return Measured(tuple(values.values())) if values else None


def identity(load: Load) -> tuple:
    return load.case, load.engine, tuple(sorted(load.point.items()))


def newest(records: Path) -> dict[str, list[Results]]:
    """Return the newest run of each experiment on each major version, the highest first."""
    found: dict[str, list[Results]] = {}
    for run in record.newest(records):
        results = Results(run.head, run.loads, run.ended)
        found.setdefault(run.head.experiment, []).append(results)
    for runs in found.values():
        runs.sort(key=lambda run: -run.major)
    return found
