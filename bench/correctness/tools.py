"""The tools, the forms of input that each can read, and the command of each."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from pgsluice_lab import programs

from bench.correctness.case import Case


@dataclass(frozen=True)
class Load:
    """One load by a tool."""

    case: Case
    table: str
    """The table with its schema."""
    url: str
    load_id: str


Command = Callable[[Load], list[str]]


@dataclass(frozen=True)
class Tool:
    name: str
    title: str
    command: Command
    version: tuple[str, ...]
    """A command that prints the version."""
    forms: tuple[str, ...] = ("csv", "text", "ndjson", "parquet")
    """The inputs that it reads."""

    def reads(self, case: Case) -> bool:
        return case.form in self.forms

    def version_of(self, environment: dict[str, str]) -> str:
        """Return the version that the tool prints."""
        done = subprocess.run(
            self.version, check=True, stdout=subprocess.PIPE, text=True, env=environment
        )
        return done.stdout.strip()


def psql(load: Load) -> list[str]:
    r"""Return the command of `\copy`."""
    case = load.case
    form = "format text"
    if case.form == "csv":
        form = f"format csv, header, encoding '{case.encoding}'"
    copy = f"\\copy {load.table} ({', '.join(case.fields)}) from '{case.file}' ({form})"
    options = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", copy]
    return [programs.needed("psql"), *options, load.url]


def pgsluice(load: Load) -> list[str]:
    """Return the command of `pgsluice load`."""
    case = load.case
    command = [programs.needed("pgsluice"), "load", case.file, "-t", load.table, "-d", load.url]
    command += ["-q", "-j", "2"]
    if case.form == "csv":
        command += ["--header=map", "--encoding", case.encoding]
    if case.atomic:
        command += ["--atomic"]
    if case.runs != "once":
        command += ["--load-id", load.load_id]
    return command


def library(name: str) -> Command:
    """Return the command of a library of Python."""

    def command(load: Load) -> list[str]:
        case = load.case
        given = [case.file, load.table, load.url, "--form", case.form, "--encoding", case.encoding]
        if case.atomic:
            given += ["--atomic"]
        if case.runs != "once":
            given += ["--load-id", load.load_id]
        return [*run_library(name), *given]

    return command


def run_library(name: str, *options: str) -> tuple[str, ...]:
    return sys.executable, "-m", "bench.correctness.library", name, *options


def define_library(name: str, title: str, *forms: str) -> Tool:
    """Return a library of Python, which reads these forms; all forms if none is named."""
    known = {"forms": forms} if forms else {}
    return Tool(name, title, library(name), run_library(name, "--version"), **known)


FRAMES = ("csv", "ndjson", "parquet")
# The first tool defines the meaning of CSV and COPY text.
TOOLS = [
    Tool("psql", r"psql `\copy`", psql, (programs.needed("psql"), "--version"), ("csv", "text")),
    Tool("pgsluice", "`pgsluice load`", pgsluice, (programs.needed("pgsluice"), "--version")),
    define_library("load", "`pgsluice.load`"),
    define_library("psycopg", "psycopg `copy`"),
    define_library("adbc", "ADBC `adbc_ingest`", *FRAMES),
    define_library("polars", "polars `write_database`", *FRAMES),
    define_library("pandas", "pandas `to_sql`", *FRAMES),
]
