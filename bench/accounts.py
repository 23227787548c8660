"""The rows of pgbench_accounts, as `pgbench -i` fills it and COPY writes it."""

import os
from pathlib import Path

from bench.server import ROOT

ROWS_A_BRANCH = 100_000
ROWS_A_WRITE = 5_000  # our own memory counts in what the clients started by us report


def generate(rows: int) -> Path:
    """Return pgbench_accounts as COPY text, as `pgbench -i` fills it; generated once and kept."""
    file = ROOT / ".cache" / "bench" / f"accounts-{rows}.txt"
    if not file.exists():
        print(f"generating {rows:,} rows ...", flush=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(f".{os.getpid()}")
        with unfinished.open("w", encoding="ascii") as out:
            for first in range(1, rows + 1, ROWS_A_WRITE):
                rest = f"\t{first // ROWS_A_BRANCH + 1}\t0\t{'':84}\n"
                last = min(first + ROWS_A_WRITE, rows + 1)
                out.write("".join([f"{aid}{rest}" for aid in range(first, last)]))
        unfinished.rename(file)
    return file
