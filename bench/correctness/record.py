"""The record of this benchmark: one JSON file for each run. docs/lab/FORMAT.md lists its keys."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from pgsluice_lab.failure import LabError
from pgsluice_lab.record import Machine, Postgresql
from pgsluice_lab.typed import build

from bench.record import RECORDS

VERSION = 1


@dataclass(frozen=True)
class Program:
    """A tool."""

    tool: str
    title: str
    version: str


@dataclass(frozen=True)
class Input:
    """A file and the table that it is loaded into."""

    input: str
    group: str
    title: str


@dataclass(frozen=True)
class Result:
    """The verdict on a tool and an input.

    `note` describes the mistake, `error` is the tool's output.
    """

    input: str
    tool: str
    verdict: str
    note: str = ""
    error: str = ""


@dataclass(frozen=True)
class Correctness:
    """A record."""

    date: str
    pgsluice: str
    commit: str
    machine: Machine
    postgresql: Postgresql
    tools: list[Program]
    inputs: list[Input]
    results: list[Result]
    version: int = VERSION

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a file. Fails if it has an unknown key or version."""
        data = json.loads(file.read_text())
        if data.get("version") != VERSION:
            raise LabError(f"{file.name} is not of version {VERSION}")
        parts = {
            "machine": build(Machine, data.get("machine", {}), f"{file.name}, machine,"),
            "postgresql": build(Postgresql, data.get("postgresql", {}), f"{file.name}, server,"),
            "tools": [build(Program, each, f"{file.name}, tool,") for each in data["tools"]],
            "inputs": [build(Input, each, f"{file.name}, input,") for each in data["inputs"]],
            "results": [build(Result, each, f"{file.name}, result,") for each in data["results"]],
        }
        return build(cls, {**data, **parts}, file.name)

    def write(self) -> Path:
        """Write a new file."""
        stamp = self.date.split("+")[0].replace(":", "")
        file = RECORDS / f"correctness-{stamp}.json"
        with file.open("x") as out:
            json.dump(asdict(self), out, indent=1, ensure_ascii=False)
            out.write("\n")
        return file

    def result(self, name: str, tool: str) -> Result:
        """Return the result of a tool for the input of this name."""
        return next(each for each in self.results if (each.input, each.tool) == (name, tool))


def newest() -> Correctness | None:
    """Return the latest record."""
    files = sorted(RECORDS.glob("correctness-*.json"))
    return Correctness.read(files[-1]) if files else None
