"""Estimates the disk space of a run from the experiments' figures, before anything is created."""

import shutil
from pathlib import Path

from pgsluice_lab.engine import BY_LEAF, Engine
from pgsluice_lab.experiment import Experiment, Scale
from pgsluice_lab.failure import LabError

# A table of loaded text takes up to twice its bytes with indexes, and so does the WAL of a load.
OF_A_TABLE = OF_WAL = 2
# The embedded server makes a checkpoint when half of its max_wal_size is full.
MOST_WAL = 8 << 30
LEAST = 1 << 30


def needed(experiment: Experiment, scale: Scale, engines: dict[str, Engine]) -> tuple[int, int]:
    """Return the bytes of the inputs and of the server: the largest table, and WAL."""
    inputs: dict[tuple, int] = {}
    largest = sent = passing = 0
    for case in experiment.cases:
        forms = {engines[name].form for name in case.engines if name in engines}
        for point in case.points(scale):
            size = case.size(scale, point)
            largest = max(largest, size)
            sent += size * scale.rounds * sum(name in engines for name in case.engines)
            if case.input:
                inputs[(case.input, size)] = size
            if kept := forms & {*BY_LEAF}:
                inputs[(case.name, *point.items())] = len(kept) * size
                passing = max(passing, size)
    wal = min(OF_WAL * max(sent, largest), MOST_WAL)
    # Rows that are ordered by leaf are first in a file a leaf.
    return sum(inputs.values()) + passing, OF_A_TABLE * largest + wal


def check(inputs: int, table: int, cache: Path, data: Path | None) -> None:
    """Fail if there is less space; `data` is the server's directory, None if elsewhere."""
    wanted = [(cache, inputs + LEAST)]
    if data:
        wanted.append((data, table + LEAST))
        if cache.stat().st_dev == data.stat().st_dev:
            wanted = [(cache, inputs + table + LEAST)]
    for place, size in wanted:
        free = shutil.disk_usage(place).free
        if free < size:
            raise LabError(
                "there is too little room on the disk",
                f"The run needs {gib(size)} in {place}, of which {gib(free)} are free.",
                "Take a smaller --scale, or set PGSLUICE_LAB_CACHE to a folder on another disk.",
            )


def gib(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB"
