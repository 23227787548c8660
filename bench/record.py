"""Records of the benchmarks: dated JSON that says on what it was measured and is never overwritten.

A record names no path, host or user.
"""

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from pgsluice import __version__

from bench.server import ROOT, Server

RECORDS = ROOT / "bench" / "records"
SETTINGS = [
    "shared_buffers",
    "max_wal_size",
    "checkpoint_timeout",
    "autovacuum",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_level",
    "data_checksums",
]


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


def machine() -> dict:
    """Return what the figures depend on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "cpu": cpu(),
        "memory_gib": round(memory / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
    }


def cpu() -> str:
    """Return the model of the processor."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown"


def postgresql(server: Server) -> dict:
    """Return the server's version and the settings that the figures depend on."""
    names = ", ".join(f"'{name}'" for name in SETTINGS)
    known = (
        f"SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({names}) ORDER BY 1"
    )
    [[version]] = server.query("SHOW server_version")
    return {"version": version, "settings": dict(server.query(known))}
