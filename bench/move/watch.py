"""The phases of a running move, as the ledger shows them every 100 ms."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from pgsluice_lab.site import Site
from psycopg import errors

from bench.move import programs
from bench.move.latency import Window

PAUSE = 0.1
# The time before a move is in the ledger, and the last phase of each move.
START, SWAP = "start", "swap"
PHASE = "SELECT phase FROM pgsluice.move"

Poll = tuple[float, str | None]
"""When the ledger was read, and the phase, if it had one."""


@contextmanager
def asking(site: Site) -> Iterator[Callable[[], str | None]]:
    """Connect, and yield a function that returns the phase of the only move."""
    password = site.env.get("PGPASSWORD")
    with psycopg.connect(site.url, password=password, autocommit=True) as connection:

        def phase() -> str | None:
            try:
                row = connection.execute(PHASE).fetchone()
            except (errors.UndefinedTable, errors.InvalidSchemaName):
                return None  # the ledger is not created yet
            return row[0] if row else None

        yield phase


def watched(site: Site, schema: str, command: list[str]) -> tuple[str, list[Window]]:
    """Run a move, and return its output and its phases. Fail if it fails or takes too long."""
    polls: list[Poll] = []
    began = time.time()
    with asking(site) as phase, subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=site.environment(schema)
    ) as process:  # fmt: skip
        try:
            while process.poll() is None and time.time() < began + programs.LIMIT:
                polls.append((time.time(), phase()))
                pause(process)
            ended = time.time()
            if process.poll() is None:
                raise programs.too_long(command)
        finally:
            if process.poll() is None:
                process.kill()
        output, errors = process.communicate()
    if process.returncode:
        raise programs.failed(command, process.returncode, errors)
    return output, windows(began, polls, ended)


def pause(process: subprocess.Popen) -> None:
    """Wait until the next poll, or until the process ends."""
    try:
        process.wait(PAUSE)
    except subprocess.TimeoutExpired:
        return


def windows(began: float, polls: list[Poll], ended: float) -> list[Window]:
    """Return the phases of a move that has succeeded.

    A phase begins at the last poll that did not show it yet. A swap that no poll has shown begins
    at the last poll that showed a phase.
    """
    marks = [(began, START)]
    before = began
    for at, phase in polls:
        if phase and phase != marks[-1][1]:
            marks.append((before, phase))
        if phase or marks[-1][1] == START:
            before = at
    if marks[-1][1] != SWAP:
        marks.append((before, SWAP))
    ends = [begins for begins, _ in marks[1:]] + [ended]
    return [Window(phase, begins, end) for (begins, phase), end in zip(marks, ends, strict=True)]
