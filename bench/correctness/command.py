"""Run the benchmark, print its tables, and write its record."""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pgsluice
import psycopg
from pgsluice_lab import site
from pgsluice_lab.machine import machine
from pgsluice_lab.record import Machine, Postgresql
from pgsluice_lab.site import Site

from bench.correctness import failures, markdown, rules, texts, typed
from bench.correctness.case import Case
from bench.correctness.judge import judge
from bench.correctness.record import Correctness, Input, Program, Result
from bench.correctness.tools import TOOLS, Tool
from bench.correctness.trial import Bench, expected, trial
from bench.place import ROOT
from bench.record import commit

GROUPS = {
    "CSV and COPY text": texts.CASES,
    "NDJSON and Parquet": typed.CASES,
    "Rules of the table": rules.CASES,
    "Failures": failures.CASES,
}


def main(args: list[str]) -> int:
    """Compare, write the record if all inputs were tried, and return the exit status."""
    names = [case.name for cases in GROUPS.values() for case in cases]
    parser = argparse.ArgumentParser(prog="make bench CASE=correctness")
    parser.add_argument("--only", nargs="+", choices=names, help="inputs to try")
    options = parser.parse_args(args)
    chosen = options.only or names
    now = datetime.now(UTC).replace(microsecond=0).isoformat()
    with opened() as bench:
        record = Correctness(
            date=now,
            pgsluice=pgsluice.__version__,
            commit=commit(),
            machine=Machine(**machine()),
            postgresql=Postgresql(**bench.place.described()),
            tools=[
                Program(tool.name, tool.title, tool.version_of(bench.environment)) for tool in TOOLS
            ],
            inputs=[
                Input(case.name, group, case.title)
                for group, cases in GROUPS.items()
                for case in cases
                if case.name in chosen
            ],
            results=[*compare(bench, chosen)],
        )
    print(f"\n{markdown.tables(record)}")
    if args:
        print("\nnot the whole benchmark, so no record is written")
        return 0
    file = record.write()
    print(f"\nrecord: {file.relative_to(ROOT)}; `make bench-report` puts it into the documentation")
    return 0


@contextmanager
def opened() -> Iterator[Bench]:
    """Open a server, and a schema and a folder for the inputs."""
    with site.opened(None) as place, tempfile.TemporaryDirectory() as folder:
        schema = place.create()
        with connected(place, schema) as connection:
            yield Bench(place, connection, schema, Path(folder))


def connected(place: Site, schema: str) -> psycopg.Connection:
    """Return a connection that finds the tables of a schema, and spells times in UTC."""
    options = f"-c search_path={schema} -c timezone=UTC -c client_min_messages=error"
    password = place.env.get("PGPASSWORD")
    return psycopg.connect(place.url, autocommit=True, password=password, options=options)


def compare(bench: Bench, names: list[str]) -> Iterator[Result]:
    """Run each tool on each input."""
    for case in (each for cases in GROUPS.values() for each in cases if each.name in names):
        bench.prepare(case)
        wanted = expected(bench, case)
        for tool in TOOLS:
            result = compare_one(bench, tool, case, wanted)
            print(f"{case.name:12} {tool.name:9} {result.verdict:8} {result.note}", flush=True)
            if result.error:
                print(f"{'':22} {result.error}", flush=True)
            yield result


def compare_one(bench: Bench, tool: Tool, case: Case, wanted: list | None) -> Result:
    """Run one tool on one input."""
    if not tool.reads(case):
        return Result(case.name, tool.name, "n/a")
    stored = trial(bench, tool, case)
    verdict, note = judge(case.values, stored, wanted)
    return Result(case.name, tool.name, verdict, note, stored.output if stored.failed else "")
