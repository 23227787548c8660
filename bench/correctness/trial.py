"""Runs one tool on one input, and reads the rows that it stored."""

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pyarrow
from pgsluice_lab.failure import LabError
from pgsluice_lab.site import Site
from pyarrow import parquet

from bench.correctness.case import Case
from bench.correctness.judge import Row, Stored
from bench.correctness.tools import TOOLS, Load, Tool
from bench.place import ROOT

LIMIT = 300
PAUSE = 0.001
TRIES = 5
# The most characters of an error in the record.
LONGEST = 300
# The line of a traceback with the exception.
RAISED = re.compile(r"(\w+\.)+\w+: |\w+Error: ")
PROGRESS = "SELECT coalesce(sum(tuples_processed), 0) FROM pg_stat_progress_copy"
REPEAT = "INSERT INTO t SELECT t.* FROM t, generate_series(1, %s)"
# Sessions that a killed tool left behind.
OTHERS = """SELECT count(*) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND pid <> %s"""


@dataclass(frozen=True)
class Bench:
    """The server, a private schema, and the folder of the files."""

    place: Site
    connection: psycopg.Connection
    schema: str
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of the tools."""
        found = self.place.environment(self.schema)
        path = f"{ROOT}:{found['PYTHONPATH']}" if found.get("PYTHONPATH") else str(ROOT)
        return {**found, "PYTHONPATH": path}

    def prepare(self, case: Case) -> None:
        """Write the file."""
        data, file = case.repeated(), self.folder / case.file
        if isinstance(data, pyarrow.Table):
            parquet.write_table(data, file)
        else:
            file.write_bytes(data)

    def create(self, case: Case) -> None:
        """Create the table again."""
        self.connection.execute("DROP TABLE IF EXISTS t CASCADE")
        self.connection.execute("DROP FUNCTION IF EXISTS change")
        for statement in case.table:
            self.connection.execute(statement)

    def rows(self, case: Case) -> list[Row]:
        """Return the rows of the table with their leaves, each value as text."""
        values = ", ".join(f"({value})::text" for value in case.values)
        query = f"SELECT tableoid::regclass::text, {values} FROM t"
        return sorted(self.connection.execute(query), key=lambda row: [*map(str, row)])


def expected(bench: Bench, case: Case) -> list[Row] | None:
    """Return the rows that should be stored, or None if the input should be refused."""
    if case.is_refused:
        return None
    bench.create(case)
    if case.expected:
        bench.connection.execute(case.expected)
        bench.connection.execute(REPEAT, [case.times - 1])
    else:
        once = run(bench, TOOLS[0], case)
        if once.returncode:
            raise LabError(f"COPY refuses {case.name}", once.stderr.strip())
    return bench.rows(case)


def trial(bench: Bench, tool: Tool, case: Case) -> Stored:
    """Run a tool as often as the case requires, and return the stored rows."""
    bench.create(case)
    load_id = bench.place.load_id()
    if case.runs == "killed":
        kill(bench, tool, case, load_id)
    elif case.runs == "twice":
        first = run(bench, tool, case, load_id)
        if first.returncode:
            raise LabError(f"{tool.name} fails at {case.name}", first.stderr.strip())
    done = run(bench, tool, case, load_id)
    if done.returncode < 0:
        raise LabError(f"{tool.name} was ended by signal {-done.returncode} at {case.name}")
    return Stored(bench.rows(case), done.returncode != 0, error(done.stderr))


def command(bench: Bench, tool: Tool, case: Case, load_id: str) -> list[str]:
    return tool.command(Load(case, f"{bench.schema}.t", bench.place.url, load_id))


def run(
    bench: Bench, tool: Tool, case: Case, load_id: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end."""
    return subprocess.run(
        command(bench, tool, case, load_id),
        cwd=bench.folder,
        env=bench.environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def kill(bench: Bench, tool: Tool, case: Case, load_id: str) -> None:
    """Kill a tool before its load ends. Repeat if the load was faster."""
    for _ in range(TRIES):
        bench.create(case)
        if kill_once(bench, tool, case, load_id):
            return
    raise LabError(f"{tool.name} ended before it was killed, {TRIES} times")


def kill_once(bench: Bench, tool: Tool, case: Case, load_id: str) -> bool:
    """Kill a tool. Returns whether rows were left to load."""
    whole = case.repeated()
    assert isinstance(whole, bytes)
    rows = whole.count(b"\n") - 1
    process = subprocess.Popen(
        command(bench, tool, case, load_id),
        cwd=bench.folder,
        env=bench.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and not is_under_way(bench, rows // 4):
        time.sleep(PAUSE)
    process.kill()
    process.wait()
    own = bench.place.connection.info.backend_pid
    while bench.connection.execute(OTHERS, [own]).fetchone() != (0,):
        time.sleep(PAUSE)
    return bench.connection.execute("SELECT count(*) < %s FROM t", [rows]).fetchone() == (True,)


def is_under_way(bench: Bench, rows: int) -> bool:
    """Whether the server has this number of rows in a transaction, or other sessions see some."""
    (found,) = bench.connection.execute(PROGRESS).fetchone() or (0,)
    is_seen = bench.connection.execute("SELECT FROM t LIMIT 1").fetchone() is not None
    return found >= rows or is_seen


def error(output: str) -> str:
    """Return the line of an error that describes it, without the exception's context."""
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    named = [line for line in lines if RAISED.match(line)]
    return (named or lines or [""])[-1 if named else 0][:LONGEST]
