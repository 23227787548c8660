"""Records: a file of JSON lines for each run, written line by line, so that a run can be resumed.

The first line describes the run, each of the others is a load, and the last one is the end.
FORMAT.md in docs/lab lists the keys. A record names no path, host or user.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pgsluice_lab.failure import LabError
from pgsluice_lab.typed import build

# The fields that distinguish loads of one run.
Key = tuple[str, str, str, int]
VERSION = 2
# The longest time between the starts of consecutive runs.
A_ROW = timedelta(days=1)
DONE = "done"
STATUSES = (DONE, "wrong", "failed", "stopped")


def now() -> str:
    return datetime.now(UTC).replace(microsecond=0).isoformat()


def key(case: str, point: dict, engine: str, number: int) -> Key:
    return case, json.dumps(point, sort_keys=True), engine, number


@dataclass(frozen=True)
class Machine:
    cores: int | None
    cpu: str
    memory_gib: int
    system: str


@dataclass(frozen=True)
class Postgresql:
    version: str
    settings: dict[str, str]
    major: int
    embedded: bool


@dataclass(frozen=True)
class Program:
    """An engine and its version, or the program that is missing."""

    title: str
    version: str | None = None
    missing: str | None = None


@dataclass(frozen=True)
class Head:
    """The description of a run; version 1 did not contain its version."""

    experiment: str
    scale: str
    date: str
    pgsluice: str
    rounds: int
    parameters: dict[str, object]
    machine: Machine
    postgresql: Postgresql
    engines: dict[str, Program]
    version: int = 1
    commit: str | None = None

    @classmethod
    def from_json(cls, data: Mapping, what: str) -> "Head":
        """Read the head from a line."""
        if data.get("version", 1) not in range(1, VERSION + 1):
            raise LabError(
                f"{what} is of version {data['version']}",
                f"This pgsluice-lab reads versions up to {VERSION}.",
                "Read it by a newer one: pip install --upgrade 'pgsluice[lab]'",
            )
        engines = {
            name: build(Program, each, f"{what}, engine {name},")
            for name, each in data.get("engines", {}).items()
        }
        parts = {
            "machine": build(Machine, data.get("machine", {}), f"{what}, machine,"),
            "postgresql": build(Postgresql, data.get("postgresql", {}), f"{what}, postgresql,"),
            "engines": engines,
        }
        return build(cls, {**data, **parts}, what)


@dataclass(frozen=True)
class Load:
    """One load by one engine: its figures if it is done, else the reason."""

    case: str
    point: dict[str, object]
    engine: str
    round: int
    status: str
    date: str = ""
    reason: str | None = None
    command: str | None = None
    seconds: float | None = None
    client_cpu_seconds: float | None = None
    client_peak_mib: float | None = None
    server_cpu_seconds: float | None = None
    wal_bytes: int | None = None
    table_bytes: int | None = None
    index_bytes: int | None = None
    input_bytes: int | None = None
    rows: int | None = None
    rows_per_second: float | None = None
    figures: dict[str, float | str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: Mapping, what: str) -> "Load":
        """Read a load from a line."""
        load = build(cls, data, what)
        if load.status not in STATUSES:
            raise LabError(f"{what} has an unknown status: {load.status}")
        return load

    @property
    def key(self) -> Key:
        return key(self.case, self.point, self.engine, self.round)

    @property
    def done(self) -> bool:
        return self.status == DONE

    def figure(self, name: str) -> float | str | None:
        """Return one figure, of the load itself or from its engine's output."""
        value = getattr(self, name, None)
        return self.figures.get(name) if value is None else value


@dataclass
class Run:
    """A run from its file: the head, the loads, and whether it is complete."""

    file: Path
    head: Head
    loads: list[Load] = field(default_factory=list)
    ended: bool = False

    @classmethod
    def read(cls, file: Path) -> "Run | None":
        """Read a file; an incomplete last line is ignored."""
        run = None
        lines = file.read_text().splitlines()
        for number, text in enumerate(lines, 1):
            what = f"line {number} of {file.name}"
            try:
                data = json.loads(text)
            except json.JSONDecodeError as error:
                if number == len(lines):
                    break
                raise LabError(f"{what} is not JSON", str(error)) from error
            match data.pop("kind", None):
                case "run" if run is None:
                    run = cls(file, Head.from_json(data, what))
                case "load" if run:
                    run.loads.append(Load.from_json(data, what))
                case "end" if run:
                    run.ended = True
                case other:
                    raise LabError(f"{what} is of an unknown kind: {other}")
        return run

    def lines(self) -> str:
        """Return the head and the loads as lines of the file."""
        return "".join([line("run", self.head), *(line("load", each) for each in self.loads)])

    def write(self, text: str) -> None:
        """Append to the file, and flush it to disk."""
        with self.file.open("a") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())

    def add(self, load: Load) -> None:
        """Add a load."""
        self.loads.append(load)
        self.write(line("load", load))

    def end(self) -> None:
        self.ended = True
        self.write(json.dumps({"kind": "end", "date": now()}) + "\n")

    def done(self) -> set[Key]:
        """Return the loads that need not be run again."""
        return {each.key for each in self.loads}


def line(kind: str, of: Head | Load) -> str:
    """Return a line of a file; unknown values are left out."""
    return json.dumps({"kind": kind, **asdict(of, dict_factory=known)}) + "\n"


def known(pairs: list[tuple[str, object]]) -> dict[str, object]:
    return {name: value for name, value in pairs if value is not None}


def begin(folder: Path, head: Head) -> tuple[Run, bool]:
    """Return the run to write, and whether it is a resumed one.

    The newest run of the same name is resumed if it is incomplete and has the same conditions.
    """
    name = f"{head.experiment}-{head.scale}-pg{head.postgresql.major}"
    last = latest(folder, name)
    same = ("version", "parameters", "rounds", "machine", "postgresql", "pgsluice", "engines")
    if last and not last.ended and all(getattr(last.head, s) == getattr(head, s) for s in same):
        # The rest of an incomplete line would spoil the next one.
        last.file.write_text(last.lines())
        return last, True
    folder.mkdir(parents=True, exist_ok=True)
    run = Run(unused(folder, name, datetime.fromisoformat(head.date)), head)
    run.write(run.lines())
    return run, False


def latest(folder: Path, name: str) -> Run | None:
    """Return the newest run of this experiment, scale and server."""
    found = sorted(folder.glob(f"{name}-*.jsonl"))
    return Run.read(found[-1]) if found else None


def remaining(wanted: Mapping[str, tuple[int, dict]], folder: Path) -> list[str]:
    """Return the remaining runs of a series; if one was interrupted, those just before it are done.

    `wanted` has the rounds and the parameters of each.
    """
    found = {name: latest(folder, name) for name in wanted}
    runs = {
        name: run if run and (run.head.rounds, run.head.parameters) == wanted[name] else None
        for name, run in found.items()
    }
    cut = next((run for run in runs.values() if run and not run.ended), None)
    if cut is None:
        return list(wanted)
    since = datetime.fromisoformat(cut.head.date)

    def done(run: Run | None) -> bool:
        if run is None or not run.ended:
            return False
        return timedelta() <= since - datetime.fromisoformat(run.head.date) <= A_ROW

    return [name for name in wanted if not done(runs[name])]


def unused(folder: Path, name: str, since: datetime) -> Path:
    """Create the file of a run. If a run began in the same second, use the next second's name."""
    while True:
        file = folder / f"{name}-{since:%Y-%m-%dT%H%M%S}.jsonl"
        try:
            file.touch(exist_ok=False)
        except FileExistsError:
            since += timedelta(seconds=1)
        else:
            return file


def newest(folder: Path) -> Iterator[Run]:
    """Yield the newest complete run for each experiment and server version, or else the newest."""
    runs: dict[tuple[str, int], Run] = {}
    for file in sorted(folder.glob("*.jsonl"), key=lambda file: file.stem[-17:]):
        run = Run.read(file)
        if not run or not run.loads:
            continue
        which = run.head.experiment, run.head.postgresql.major
        if run.ended or which not in runs or not runs[which].ended:
            runs[which] = run
    yield from (runs[which] for which in sorted(runs))
