"""Records of benchmarks that time whole programs, in interleaved rounds.

They measure systems that use pgsluice, such as Spark and Kafka. docs/lab/FORMAT.md lists the keys.
"""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import pgsluice
from pgsluice_lab.failure import LabError
from pgsluice_lab.machine import machine
from pgsluice_lab.record import Machine, Postgresql
from pgsluice_lab.site import Site
from pgsluice_lab.typed import build

from bench.record import RECORDS, commit, median

VERSION = 1
CASES = ("spark", "kafka", "objects")


@dataclass(frozen=True)
class Round:
    """One way to load all rows, once."""

    way: str
    seconds: float
    bytes_read: int | None = None
    """The bytes that came over the network, if they are counted."""


@dataclass(frozen=True)
class Rounds:
    """A record of loads of `rows` rows, for each round of each way."""

    case: str
    date: str
    pgsluice: str
    commit: str
    parameters: dict[str, float]
    programs: dict[str, str]
    """The versions of the programs beside pgsluice and PostgreSQL."""
    machine: Machine
    postgresql: Postgresql
    titles: dict[str, str]
    """The ways, in words."""
    rows: int
    rounds: list[Round]
    version: int = VERSION

    @classmethod
    def from_measured(
        cls,
        case: str,
        place: Site,
        parameters: dict[str, float],
        programs: dict[str, str],
        titles: dict[str, str],
        rows: int,
        rounds: list[Round],
    ) -> Self:
        """Return the record of rounds that were just measured on this machine."""
        return cls(
            case=case,
            date=datetime.now(UTC).replace(microsecond=0).isoformat(),
            pgsluice=pgsluice.__version__,
            commit=commit(),
            parameters=parameters,
            programs=programs,
            machine=Machine(**machine()),
            postgresql=Postgresql(**place.described()),
            titles=titles,
            rows=rows,
            rounds=rounds,
        )

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a file. Fails if it has an unknown key or version."""
        data = json.loads(file.read_text())
        if data.get("version") != VERSION:
            raise LabError(f"{file.name} is not of version {VERSION}")
        parts = {
            "machine": build(Machine, data.get("machine", {}), f"{file.name}, machine,"),
            "postgresql": build(Postgresql, data.get("postgresql", {}), f"{file.name}, server,"),
            "rounds": [build(Round, each, f"{file.name}, round,") for each in data["rounds"]],
        }
        return build(cls, {**data, **parts}, file.name)

    def write(self) -> Path:
        """Write a new file."""
        stamp = self.date.split("+")[0].replace(":", "")
        file = RECORDS / f"{self.case}-{stamp}.json"
        with file.open("x") as out:
            json.dump(asdict(self), out, indent=1)
            out.write("\n")
        return file

    def median(self, way: str) -> float | None:
        """Return the median of the seconds of a way, or None if it was not measured."""
        return median(each.seconds for each in self.rounds if each.way == way)

    def bytes_read(self, way: str) -> float | None:
        """Return the median of the bytes that a way read over the network, or None."""
        return median(each.bytes_read for each in self.rounds if each.way == way)

    def faster(self, way: str, than: str) -> float | None:
        """Return how many times as fast one way is as another, by medians."""
        ours, theirs = self.median(way), self.median(than)
        return None if ours is None or theirs is None else round(theirs / ours, 2)

    @property
    def table(self) -> str:
        """Return the ways with their medians, in Markdown.

        The others are compared with the first.
        """
        first = next(iter(self.titles))
        lines = ["| way | seconds | rows/s | times as fast |", "|---|--:|--:|--:|"]
        for way, title in self.titles.items():
            if (seconds := self.median(way)) is not None:
                speed, ratio = self.rows / seconds, self.faster(way, first) or 0
                lines.append(f"| {title} | {seconds:.2f} | {speed:,.0f} | {ratio:.2f} |")
        return "\n".join(lines)


def newest(case: str) -> Rounds | None:
    """Return the latest record of a case."""
    files = sorted(RECORDS.glob(f"{case}-*.json"))
    return Rounds.read(files[-1]) if files else None
