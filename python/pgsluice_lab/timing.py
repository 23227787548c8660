"""Run programs side by side and return their cost: wall time, CPU time and peak memory."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from pgsluice_lab.server import environment

MIB = 1024 * 1024
SUCCESS = (0,)


@dataclass(frozen=True)
class Timing:
    """The cost of a run: wall seconds, the clients' CPU seconds, the largest client's memory.

    Linux counts the memory of the process that starts a client as the client's own, so no peak is
    below the memory of Python and its libraries, about 40 MiB.
    """

    seconds: float
    cpu_seconds: float
    peak_mib: float
    output: str


class OverdueError(Exception):
    """The programs exceeded their time limit, and were stopped."""


def timed(
    *commands: list[str],
    env: Mapping[str, str] | None = None,
    limit: float | None = None,
    statuses: Collection[int] = SUCCESS,
    quiet: bool = False,
) -> Timing:
    """Run all commands at once and wait for the last; a failure of one is an error.

    Raises CalledProcessError with stderr's text, if `quiet`, and OverdueError after `limit`
    seconds.
    """
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        began = time.perf_counter()
        children = [
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors if quiet else None,
                env=environment() if env is None else env,
                start_new_session=limit is not None,
            )
            for command in commands
        ]
        with watching(children, limit) as watch:
            usages = [reap(child) for child in children]
        seconds = time.perf_counter() - began
        if watch.overdue:
            raise OverdueError(f"stopped after {limit:g} seconds")
        for child in children:
            if child.returncode not in statuses:
                errors.seek(0)
                message = errors.read()
                raise subprocess.CalledProcessError(child.returncode, child.args, stderr=message)
        output.seek(0)
        cpu = sum(usage.ru_utime + usage.ru_stime for usage in usages)
        peak = max(usage.ru_maxrss for usage in usages) * rss_unit() / MIB
        return Timing(seconds, cpu, peak, output.read())


class watching:  # noqa: N801 - used as a statement
    """Stops the children, each with all processes that it started, at the time limit."""

    def __init__(self, children: list[subprocess.Popen], limit: float | None) -> None:
        self.children, self.overdue = children, False
        self.timer = threading.Timer(limit, self.stop) if limit is not None else None

    def __enter__(self) -> "watching":
        if self.timer:
            self.timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.timer:
            self.timer.cancel()
        for child in self.children:
            if child.returncode is None:
                self.kill(child)
                child.wait()

    def stop(self) -> None:
        self.overdue = True
        for child in self.children:
            self.kill(child)

    def kill(self, child: subprocess.Popen) -> None:
        if child.returncode is not None:
            return
        with suppress(ProcessLookupError):  # it has just ended
            # A child's own session is also its own process group.
            os.killpg(child.pid, signal.SIGKILL) if self.timer else child.kill()


def reap(child: subprocess.Popen) -> "os.struct_rusage":
    """Wait for one child and return its own resource usage."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage


def rss_unit() -> int:
    """Return the bytes in one unit of `ru_maxrss`: macOS counts bytes, other systems KiB."""
    return 1 if sys.platform == "darwin" else 1024
