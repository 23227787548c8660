"""What a load costs the server: the processor time of all its processes, and its WAL.

Processor time is read from /proc, so on Linux only. A backend that has ended and was waited for
counts with the postmaster, any other process by itself.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from bench.server import Server

PROC = Path("/proc")
PAUSE = 0.02


@dataclass(frozen=True)
class Cost:
    """What the server spent; no seconds where nobody can tell."""

    cpu_seconds: float | None
    wal_bytes: int


class Meter:
    """Reads the server before and after a load; the questions that it asks are not counted."""

    def __init__(self, server: Server) -> None:
        self.server = server
        [[data]] = server.query("SHOW data_directory")
        self.postmaster = int((Path(data) / "postmaster.pid").read_text().split()[0])
        self.wal = self.wal_position()
        self.ticks = self.settled()

    def stop(self) -> Cost:
        """Return what the server spent since this meter was made."""
        ticks = self.settled()
        known = ticks is not None and self.ticks is not None
        seconds = (ticks - self.ticks) / os.sysconf("SC_CLK_TCK") if known else None
        return Cost(seconds, self.wal_position() - self.wal)

    def wal_position(self) -> int:
        """Return how much WAL the server has ever written."""
        [[position]] = self.server.query("SELECT pg_current_wal_insert_lsn() - '0/0'")
        return int(position)

    def settled(self) -> int | None:
        """Return the ticks of all processes, once none has come or gone for a moment."""
        if not PROC.joinpath("self", "stat").exists():
            return None
        before = None
        while (now := self.family()).keys() != before:
            before = now.keys()
            time.sleep(PAUSE)
        return sum(now.values())

    def family(self) -> dict[int, int]:
        """Return the ticks of the postmaster, ended children included, and of each living child."""
        ticks = {}
        for folder in PROC.glob("[0-9]*"):
            try:
                stat = (folder / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended meanwhile
            # The name of the program, in parentheses, may hold anything. proc(5) counts from 1.
            fields = ["", "", "", *stat.rsplit(")", 1)[1].split()]
            pid, parent = int(folder.name), int(fields[4])
            utime, stime, cutime, cstime = map(int, fields[14:18])
            if pid == self.postmaster:
                ticks[pid] = utime + stime + cutime + cstime
            elif parent == self.postmaster:
                ticks[pid] = utime + stime
        return ticks
