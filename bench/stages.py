"""Time each stage of the core in one thread, by the benchmarks of crates/core/benches.

Run it by `make bench CASE=stages`. The record contains criterion's medians.
"""

import json
import os
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from pgsluice import __version__
from pgsluice_lab.failure import LabError
from pgsluice_lab.machine import machine
from pgsluice_lab.record import Machine
from pgsluice_lab.typed import build

from bench.place import ROOT
from bench.record import RECORDS, commit

COMMAND = ["cargo", "bench", "--locked", "--quiet", "--profile", "dist"]
COMMAND += ["-p", "pgsluice-core", "--bench", "stages"]
VERSION = 2


@dataclass(frozen=True)
class Stage:
    """One stage on one input: criterion's median."""

    stage: str
    input: str
    ns_a_row: float
    gb_a_second: float


@dataclass(frozen=True)
class Stages:
    """A record of all stages; docs/lab/FORMAT.md lists its keys."""

    date: str
    pgsluice: str
    commit: str
    machine: Machine
    stages: list[Stage]
    version: int

    @classmethod
    def read(cls, file: Path) -> "Stages":
        """Read a file. Fail if it has an unknown key or version."""
        data = json.loads(file.read_text())
        if data.get("version") != VERSION:
            raise LabError(f"{file.name} is not of version {VERSION}")
        parts = {
            "machine": build(Machine, data.get("machine", {}), f"{file.name}, machine,"),
            "stages": [build(Stage, each, f"{file.name}, stage,") for each in data["stages"]],
        }
        return build(cls, {**data, **parts}, file.name)

    def write(self) -> Path:
        """Write a new file."""
        stamp = self.date.split("+")[0].replace(":", "")
        file = RECORDS / f"stages-{stamp}.json"
        with file.open("x") as out:
            json.dump(asdict(self), out, indent=1)
            out.write("\n")
        return file


def newest() -> Stages | None:
    """Return the latest record."""
    files = sorted(RECORDS.glob("stages-*.json"))
    return Stages.read(files[-1]) if files else None


def main(args: list[str]) -> int:
    """Measure, write the record if no options are given, and return the exit status."""
    stages = measure()
    if args:
        print("\nnot the whole benchmark, so no record is written")
        return 0
    now = datetime.now(UTC).replace(microsecond=0).isoformat()
    about = Machine(**machine())
    file = Stages(now, __version__, commit(), about, stages, VERSION).write()
    print(f"\nrecord: {file.relative_to(ROOT)}; `make bench-report` puts it into the documentation")
    return 0


def measure() -> list[Stage]:
    """Run criterion, and return its medians."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"CRITERION_HOME": folder}
        subprocess.run([*COMMAND, "--", "--quiet"], cwd=ROOT, env=environment, check=True)
        files = sorted(Path(folder).glob("*/*/new"), key=lambda file: file.stat().st_mtime_ns)
        return [stage(file) for file in files]


def stage(folder: Path) -> Stage:
    """Return one benchmark from criterion's files."""
    about = json.loads((folder / "benchmark.json").read_text())
    median = json.loads((folder / "estimates.json").read_text())["median"]["point_estimate"]
    size = about["throughput"]["ElementsAndBytes"]
    return Stage(
        about["group_id"],
        about["function_id"],
        ns_a_row=round(median / size["elements"], 1),
        gb_a_second=round(size["bytes"] / median, 3),
    )
