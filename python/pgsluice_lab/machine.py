"""The conditions of the figures: the machine, and the server's version and settings."""

import os
import platform
from collections.abc import Callable
from pathlib import Path

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


def machine() -> dict:
    """Return the figures of the machine, without anything that identifies it."""
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


def postgresql(query: Callable[[str], list]) -> dict:
    """Return the version and the settings of the server that answers these queries."""
    names = ", ".join(f"'{name}'" for name in SETTINGS)
    known = (
        f"SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({names}) ORDER BY 1"
    )
    [[version]] = query("SHOW server_version")
    return {"version": version, "settings": dict(query(known))}
