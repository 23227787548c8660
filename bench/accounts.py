"""The rows of pgbench_accounts, as `pgbench -i` fills it and COPY writes it."""

import os
from pathlib import Path

from bench.server import ROOT

ROWS_A_BRANCH = 100_000
ROWS_A_WRITE = 5_000  # our own memory counts in what the clients started by us report


def generate(rows: int, step: int = 0) -> Path:
    """Return pgbench_accounts as COPY text, as `pgbench -i` fills it; generated once and kept.

    With a step the balances are not 0 but so far apart, modulo the number of rows.
    """
    name = f"accounts-{rows}-{step}.txt" if step else f"accounts-{rows}.txt"
    file = ROOT / ".cache" / "bench" / name
    if not file.exists():
        print(f"generating {rows:,} rows ...", flush=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        filler = f"\t{'':84}\n"
        unfinished = file.with_suffix(f".{os.getpid()}")
        with unfinished.open("w", encoding="ascii") as out:
            for first in range(1, rows + 1, ROWS_A_WRITE):
                bid = first // ROWS_A_BRANCH + 1
                last = min(first + ROWS_A_WRITE, rows + 1)
                lines = [f"{aid}\t{bid}\t{aid * step % rows}{filler}" for aid in range(first, last)]
                out.write("".join(lines))
        unfinished.rename(file)
    return file
