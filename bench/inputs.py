"""The rows that the benchmarks and the demo load: made once, and kept under .cache."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from pgsluice_lab import inputs
from pgsluice_lab.inputs import Rows

from bench.place import ROOT

CACHE = ROOT / ".cache" / "bench"


def accounts(rows: int, step: int = 0) -> Rows:
    """Return pgbench_accounts as COPY text; with a step, balances that are so far apart."""
    return inputs.accounts(rows, step, CACHE)


def uuids(rows: int, seed: int) -> Rows:
    """Return random uuids of version 4 as COPY text, others for each seed."""
    return inputs.uuids(rows, seed, CACHE)


def lineitem(scale: float) -> Rows:
    """Return TPC-H's lineitem at this scale, as CSV with a header."""

    def generate(file: Path) -> None:
        folder = file.with_suffix(".d")
        command = ["tpchgen-cli", "csv", "--quiet", "--tables=lineitem"]
        command += [f"--scale-factor={scale:g}", f"--output-dir={folder}"]
        subprocess.run(command, check=True)
        (folder / "lineitem.csv").rename(file)
        folder.rmdir()

    file = cache(f"lineitem-{scale:g}.csv", generate)
    return Rows(file, count_lines(file) - 1, "with (format csv, header)", ("--header",))


def few(rows: Rows, count: int, file: Path) -> Rows:
    """Return the first of these rows, which have no header, in a file of their own."""
    with rows.file.open("rb") as lines:
        file.write_bytes(b"".join(lines.readline() for _ in range(count)))
    return Rows(file, count, rows.copy, rows.load)


def cache(name: str, generate: Callable[[Path], None]) -> Path:
    """Return the file of this name, generated if it is not there yet."""
    if not (CACHE / name).exists():
        print(f"generating {name} ...", flush=True)
    return inputs.prepare(name, generate, CACHE)


def count_lines(file: Path) -> int:
    """Count the line ends; no value of lineitem holds one."""
    with file.open("rb") as lines:
        return sum(block.count(b"\n") for block in iter(lambda: lines.read(1 << 20), b""))
