"""Records of the benchmarks: dated JSON that says on what it was measured and is never overwritten.

A record names no path, host or user.
"""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from pgsluice import __version__
from pgsluice_lab.machine import machine

from bench.place import ROOT

RECORDS = ROOT / "bench" / "records"


def write(bench: str, result: dict) -> Path:
    """Write what was measured, with the time, the version and the machine, to a new file."""
    now = datetime.now(UTC).replace(microsecond=0)
    about = {"bench": bench, "date": now.isoformat(), "pgsluice": __version__, "commit": commit()}
    file = RECORDS / f"{bench}-{now:%Y-%m-%dT%H%M%S}.json"
    RECORDS.mkdir(exist_ok=True)
    with file.open("x") as out:
        json.dump({**about, "machine": machine(), **result}, out, indent=1)
        out.write("\n")
    return file


def newest(bench: str) -> dict | None:
    """Return the latest record of a benchmark."""
    files = sorted(RECORDS.glob(f"{bench}-*.json"))
    return json.loads(files[-1].read_text()) if files else None


def commit() -> str:
    """Return the commit that was measured, marked if the checkout differed from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
