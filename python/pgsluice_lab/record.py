"""Records: a file of JSON lines for each run, written line by line, so that a run can go on.

The first line says what was run and on what, the others are a load each, the last one is the end.
A record names no path, host or user.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

# What tells loads of one run apart.
Key = tuple[str, str, str, int]


def now() -> str:
    return datetime.now(UTC).replace(microsecond=0).isoformat()


def key(case: str, point: dict, engine: str, number: int) -> Key:
    return case, json.dumps(point, sort_keys=True), engine, number


@dataclass
class Run:
    """A run as its file says: the head, the loads, and whether it came to its end."""

    file: Path
    head: dict
    loads: list[dict] = field(default_factory=list)
    ended: bool = False

    @classmethod
    def read(cls, file: Path) -> "Run":
        """Read a file; a last line that was cut off is as if it was not there."""
        lines = []
        for line in file.read_text().splitlines():
            try:
                lines.append(json.loads(line))
            except json.JSONDecodeError:
                break
        kinds = [line["kind"] for line in lines]
        loads = [line for line in lines if line["kind"] == "load"]
        return cls(file, lines[0] if kinds[:1] == ["run"] else {}, loads, "end" in kinds)

    def write(self, line: dict) -> None:
        """Add a line, and have it on the disk."""
        with self.file.open("a") as out:
            out.write(json.dumps(line) + "\n")
            out.flush()
            os.fsync(out.fileno())

    def add(self, load: dict) -> None:
        """Add a load."""
        self.loads.append({"kind": "load", **load})
        self.write(self.loads[-1])

    def end(self) -> None:
        self.ended = True
        self.write({"kind": "end", "date": now()})

    def done(self) -> set[Key]:
        """Return the loads that need not be run again."""
        return {
            key(each["case"], each["point"], each["engine"], each["round"]) for each in self.loads
        }


def begin(folder: Path, head: dict) -> tuple[Run, bool]:
    """Return the run to write, and whether it is one that goes on.

    The newest run of the same name goes on if it did not end and was to measure the same.
    """
    head = {"kind": "run", **head}
    name = f"{head['experiment']}-{head['scale']}-pg{head['postgresql']['major']}"
    same = ("parameters", "rounds", "machine", "postgresql", "pgsluice", "engines")
    found = sorted(folder.glob(f"{name}-*.jsonl"))
    if found:
        last = Run.read(found[-1])
        if not last.ended and all(last.head.get(each) == head[each] for each in same):
            # The rest of a line that was cut off would spoil the next one.
            whole = [last.head, *last.loads]
            last.file.write_text("".join(json.dumps(line) + "\n" for line in whole))
            return last, True
    folder.mkdir(parents=True, exist_ok=True)
    stamp = head["date"].split("+")[0].replace(":", "")
    run = Run(folder / f"{name}-{stamp}.jsonl", head)
    run.write(head)
    return run, False


def newest(folder: Path) -> Iterator[Run]:
    """Yield, for each experiment and server version, the newest run that ended, else the newest."""
    runs: dict[tuple[str, int], Run] = {}
    for file in sorted(folder.glob("*.jsonl"), key=lambda file: file.stem[-17:]):
        run = Run.read(file)
        if not run.loads:
            continue
        which = run.head["experiment"], run.head["postgresql"]["major"]
        if run.ended or which not in runs or not runs[which].ended:
            runs[which] = run
    yield from (runs[which] for which in sorted(runs))
