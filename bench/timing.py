"""Run programs side by side and say what they took: wall time, CPU time and peak memory."""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from bench.server import ROOT, environment

MIB = 1024 * 1024


@dataclass(frozen=True)
class Timing:
    """What a run took: wall seconds, the clients' CPU seconds, the largest client's memory.

    Linux counts the memory of the process that starts a client as the client's own, so no peak is
    below what Python takes, some 20 MiB.
    """

    seconds: float
    cpu_seconds: float
    peak_mib: float
    output: str


def timed(*commands: list[str]) -> Timing:
    """Run all commands at once and wait for the last; a failure of one is an error."""
    with tempfile.TemporaryFile("w+") as output:
        began = time.perf_counter()
        children = [
            subprocess.Popen(command, stdout=output, cwd=ROOT, env=environment())
            for command in commands
        ]
        usages = [reap(child) for child in children]
        seconds = time.perf_counter() - began
        output.seek(0)
        cpu = sum(usage.ru_utime + usage.ru_stime for usage in usages)
        peak = max(usage.ru_maxrss for usage in usages) * rss_unit() / MIB
        return Timing(seconds, cpu, peak, output.read())


def reap(child: subprocess.Popen) -> "os.struct_rusage":
    """Wait for one child and return what it alone has used."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise subprocess.CalledProcessError(child.returncode, child.args)
    return usage


def rss_unit() -> int:
    """Return the bytes in one unit of `ru_maxrss`: macOS counts bytes, the others KiB."""
    return 1 if sys.platform == "darwin" else 1024
