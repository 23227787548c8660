"""The cost of a load: the processor time of all servers, and the WAL of the loaded one.

Processor time is read from /proc, so it needs Linux and the server's own machine. A backend that
has ended and was waited for counts with the postmaster, any other process by itself.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
PAUSE = 0.02


@dataclass(frozen=True)
class Cost:
    """The cost in the servers; `cpu_seconds` is None if a server runs elsewhere."""

    cpu_seconds: float | None
    wal_bytes: int


class Meter:
    """Reads the counters of the servers before and after a load, without its own queries.

    `query` runs on the loaded server. `postmasters` has a process ID for each server, None if it
    runs elsewhere.
    """

    def __init__(self, query: Callable[[str], list], *postmasters: int | None) -> None:
        self.query = query
        self.postmasters = postmasters
        self.wal = self.wal_position()
        self.ticks = self.settled()

    def stop(self) -> Cost:
        """Return the cost in the servers since the creation of this meter."""
        ticks = self.settled()
        known = ticks is not None and self.ticks is not None
        seconds = (ticks - self.ticks) / os.sysconf("SC_CLK_TCK") if known else None
        return Cost(seconds, self.wal_position() - self.wal)

    def wal_position(self) -> int:
        """Return the amount of WAL that the loaded server has ever written."""
        [[position]] = self.query("SELECT pg_current_wal_insert_lsn() - '0/0'")
        return int(position)

    def settled(self) -> int | None:
        """Return the ticks of all processes, once no process has started or ended for a moment."""
        if None in self.postmasters:
            return None
        before = None
        while (now := self.family()).keys() != before:
            before = now.keys()
            time.sleep(PAUSE)
        return sum(now.values())

    def family(self) -> dict[int, int]:
        """Return the ticks of each postmaster, ended children included, and each living child."""
        ticks = {}
        for folder in PROC.glob("[0-9]*"):
            fields = stat(int(folder.name))
            if fields is None:
                continue  # it has ended
            pid, parent = int(folder.name), int(fields[4])
            utime, stime, cutime, cstime = map(int, fields[14:18])
            if pid in self.postmasters:
                ticks[pid] = utime + stime + cutime + cstime
            elif parent in self.postmasters:
                ticks[pid] = utime + stime
        return ticks


def postmaster_in(data: Path) -> int | None:
    """Return the postmaster of this data directory, if /proc shows it."""
    if not PROC.joinpath("self", "stat").exists():
        return None
    return int((data / "postmaster.pid").read_text().split()[0])


def postmaster_of(backend: int) -> int | None:
    """Return the parent of a backend, if that is a process of PostgreSQL on this machine."""
    fields = stat(backend)
    if fields is None:
        return None
    parent = int(fields[4])
    return parent if all("postgres" in program(pid) for pid in (backend, parent)) else None


def program(pid: int) -> str:
    """Return the command line of a process."""
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def stat(pid: int) -> list[str] | None:
    """Return the fields of a process, numbered from 1 as in proc(5); None if it has ended."""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name of the program, in parentheses, may contain any characters.
    return ["", "", "", *text.rsplit(")", 1)[1].split()]
