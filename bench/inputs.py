"""The rows that the benchmarks and the demo load: made once, and kept under .cache."""

import os
import random
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.server import ROOT

CACHE = ROOT / ".cache" / "bench"
ROWS_A_BRANCH = 100_000
ROWS_A_WRITE = 5_000  # our own memory counts in what the clients started by us report


@dataclass(frozen=True)
class Rows:
    """A file of rows, how many there are, and how COPY and pgsluice are told of its format."""

    file: Path
    count: int
    copy: str = ""
    load: tuple[str, ...] = ("--format", "text")

    @property
    def bytes(self) -> int:
        return self.file.stat().st_size


def accounts(rows: int, step: int = 0) -> Rows:
    """Return pgbench_accounts as COPY text, as `pgbench -i` fills it.

    With a step the balances are not 0 but so far apart, modulo the number of rows.
    """
    filler = f"\t{'':84}\n"

    def lines(first: int) -> Iterable[str]:
        bid = first // ROWS_A_BRANCH + 1
        last = min(first + ROWS_A_WRITE, rows + 1)
        return (f"{aid}\t{bid}\t{aid * step % rows}{filler}" for aid in range(first, last))

    name = f"accounts-{rows}-{step}.txt" if step else f"accounts-{rows}.txt"
    return Rows(kept(name, lambda file: write(file, lines, range(1, rows + 1, ROWS_A_WRITE))), rows)


def uuids(rows: int, seed: int) -> Rows:
    """Return random uuids of version 4 as COPY text, others for each seed."""
    chance = random.Random(seed)

    def lines(first: int) -> Iterable[str]:
        digits = chance.randbytes(16 * min(ROWS_A_WRITE, rows - first)).hex()
        return (uuid(digits[at : at + 32]) for at in range(0, len(digits), 32))

    name = f"uuids-{rows}-{seed}.txt"
    return Rows(kept(name, lambda file: write(file, lines, range(0, rows, ROWS_A_WRITE))), rows)


def uuid(digits: str) -> str:
    """Return a line with the uuid of version 4 that is made of these 32 digits."""
    variant = "89ab"[int(digits[16], 16) % 4]
    middle = f"{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}"
    return f"{digits[:8]}-{middle}-{digits[20:]}\n"


def lineitem(scale: float) -> Rows:
    """Return TPC-H's lineitem at this scale, as CSV with a header."""

    def generate(file: Path) -> None:
        folder = file.with_suffix(".d")
        command = ["tpchgen-cli", "csv", "--quiet", "--tables=lineitem"]
        command += [f"--scale-factor={scale:g}", f"--output-dir={folder}"]
        subprocess.run(command, check=True)
        (folder / "lineitem.csv").rename(file)
        folder.rmdir()

    file = kept(f"lineitem-{scale:g}.csv", generate)
    return Rows(file, count_lines(file) - 1, "with (format csv, header)", ("--header",))


def few(rows: Rows, count: int, file: Path) -> Rows:
    """Return the first of these rows, which have no header, in a file of their own."""
    with rows.file.open("rb") as lines:
        file.write_bytes(b"".join(lines.readline() for _ in range(count)))
    return Rows(file, count, rows.copy, rows.load)


def kept(name: str, generate: Callable[[Path], None]) -> Path:
    """Return the file of this name, generated if it is not there yet."""
    file = CACHE / name
    if not file.exists():
        print(f"generating {name} ...", flush=True)
        CACHE.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(f".{os.getpid()}")
        generate(unfinished)
        unfinished.rename(file)
    return file


def write(file: Path, lines: Callable[[int], Iterable[str]], firsts: Iterable[int]) -> None:
    """Write the lines that begin at each of these numbers."""
    with file.open("w", encoding="ascii") as out:
        for first in firsts:
            out.write("".join(lines(first)))


def count_lines(file: Path) -> int:
    """Count the line ends; no value of lineitem holds one."""
    with file.open("rb") as lines:
        return sum(block.count(b"\n") for block in iter(lambda: lines.read(1 << 20), b""))
