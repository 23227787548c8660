"""The record of this benchmark: one JSON file for each run. docs/lab/FORMAT.md lists its keys."""

import json
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path

from pgsluice_lab.failure import LabError
from pgsluice_lab.record import Machine, Postgresql
from pgsluice_lab.typed import build

from bench.record import RECORDS

VERSION = 1
# The time without a move, before it and after it, among the phases.
BASELINE, AFTER = "baseline", "after"


@dataclass(frozen=True)
class Spent:
    """The cost of one way to partition a table. Each list has a figure for each round."""

    way: str
    seconds: list[float]
    client_cpu_seconds: list[float]
    server_cpu_seconds: list[float | None]
    client_peak_mib: list[float]
    wal_bytes: list[int]

    def median(self, name: str) -> float | None:
        """Return the median of a figure, or None if a round does not have it."""
        values = getattr(self, name)
        return None if None in values or not values else statistics.median(values)


@dataclass(frozen=True)
class Phase:
    """The transactions of writers that began in one phase of the move."""

    phase: str
    seconds: float
    transactions: int
    failed: int
    p50_ms: float
    p99_ms: float
    longest_ms: float

    @property
    def a_second(self) -> float:
        return self.transactions / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Writing:
    """Writers before, during and after one online move of `seconds`."""

    seconds: float
    rows_followed: int
    locked_ms: float
    phases: list[Phase]


@dataclass(frozen=True)
class Swap:
    """The waits of writers in one swap, and their longest transactions.

    `waited_ms` is the longest wait for a lock on a table, as the server reports it to the writers,
    and `locked_ms` the wait that pgsluice reports. `longest_ms` is the longest transaction during
    the command, which also follows and compares. `beside_ms` is the longest transaction in the same
    time before it, without any command.
    """

    waited_ms: float
    locked_ms: float
    longest_ms: float
    beside_ms: float


@dataclass(frozen=True)
class Move:
    """A record."""

    date: str
    pgsluice: str
    commit: str
    parameters: dict[str, int]
    machine: Machine
    postgresql: Postgresql
    ways: list[Spent]
    writing: Writing | None
    swaps: list[Swap]
    version: int = VERSION

    @classmethod
    def read(cls, file: Path) -> "Move":
        """Read a file. Fails if it has an unknown key or version."""
        data = json.loads(file.read_text())
        if data.get("version") != VERSION:
            raise LabError(f"{file.name} is not of version {VERSION}")
        writing = data.get("writing")
        if writing:
            phases = [build(Phase, each, f"{file.name}, phase,") for each in writing["phases"]]
            writing = build(Writing, {**writing, "phases": phases}, f"{file.name}, writing,")
        parts = {
            "machine": build(Machine, data.get("machine", {}), f"{file.name}, machine,"),
            "postgresql": build(Postgresql, data.get("postgresql", {}), f"{file.name}, server,"),
            "ways": [build(Spent, each, f"{file.name}, way,") for each in data.get("ways", [])],
            "writing": writing,
            "swaps": [build(Swap, each, f"{file.name}, swap,") for each in data.get("swaps", [])],
        }
        return build(cls, {**data, **parts}, file.name)

    def write(self) -> Path:
        """Write a new file."""
        stamp = self.date.split("+")[0].replace(":", "")
        file = RECORDS / f"move-{stamp}.json"
        with file.open("x") as out:
            json.dump(asdict(self), out, indent=1)
            out.write("\n")
        return file

    def spent(self, way: str) -> Spent | None:
        return next((each for each in self.ways if each.way == way), None)

    def median(self, name: str, way: str) -> float | None:
        """Return the median of a figure of a way, or None if it was not measured."""
        spent = self.spent(way)
        return spent.median(name) if spent else None

    def faster(self, way: str, than: str) -> float | None:
        """Return how many times as fast one way is as another, by medians."""
        ours, theirs = self.median("seconds", way), self.median("seconds", than)
        return None if ours is None or theirs is None else round(theirs / ours, 2)

    def peak(self, *ways: str) -> float | None:
        """Return the peak memory of the clients of these ways, in MiB."""
        known = [each for each in self.ways if each.way in ways]
        return max((peak for each in known for peak in each.client_peak_mib), default=None)

    @property
    def waited_ms(self) -> float | None:
        """Return the longest wait of a writer in all swaps."""
        return max((each.waited_ms for each in self.swaps), default=None)


def newest() -> Move | None:
    """Return the latest record."""
    files = sorted(RECORDS.glob("move-*.json"))
    return Move.read(files[-1]) if files else None
