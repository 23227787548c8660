"""The rows of the benchmarks and the demo beyond the lab's: created once, and kept in a cache."""

import csv
import random
import subprocess
import sys
from array import array
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pgsluice_lab import inputs
from pgsluice_lab.inputs import Rows

from bench.place import ROOT

CACHE = ROOT / ".cache" / "bench"
SHARE = 100  # one row in this number is bad
ACCOUNTS = 5_000_000  # rows of pgbench_accounts at scale 1
# The suffixes of lineitem's numeric columns.
NUMBERS = ("key", "number", "quantity", "price", "discount", "tax")


def lineitem(scale: float) -> Rows:
    """Return TPC-H's lineitem at this scale, as CSV with a header."""

    def generate(file: Path) -> None:
        print(f"generating lineitem at scale {scale:g} ...", flush=True)
        folder = file.with_suffix(".d")
        command = ["tpchgen-cli", "csv", "--quiet", "--tables=lineitem"]
        command += [f"--scale-factor={scale:g}", f"--output-dir={folder}"]
        subprocess.run(command, check=True)
        (folder / "lineitem.csv").rename(file)
        folder.rmdir()

    file = inputs.prepare(f"lineitem-{scale:g}.csv", generate, CACHE)
    return Rows(file, count_lines(file) - 1, "with (format csv, header)", ("--header",))


def lineitem_files(scale: float) -> Rows:
    """Return lineitem, which is also stored as `.gz`, `.zst`, `.ndjson` and `.parquet`."""
    rows = lineitem(scale)
    inputs.prepare(f"{rows.file.name}.ndjson", lambda file: write_objects(rows.file, file), CACHE)
    lineitem_parquet(rows, scale)
    for suffix, command in (("gz", ["gzip", "-6"]), ("zst", ["zstd", "-3", "--quiet"])):

        def compress(file: Path, command: list[str] = command) -> None:
            with rows.file.open("rb") as source, file.open("wb") as out:
                subprocess.run([*command, "--stdout"], stdin=source, stdout=out, check=True)

        inputs.prepare(f"{rows.file.name}.{suffix}", compress, CACHE)
    return rows


def lineitem_parquet(rows: Rows, scale: float) -> Path:
    """Create lineitem's Parquet file beside the file of these rows."""

    def generate(file: Path) -> None:
        folder = file.with_suffix(".d")
        command = [
            "tpchgen-cli",
            "parquet",
            "--quiet",
            "--tables=lineitem",
            "--compression=ZSTD(3)",
        ]
        command += [f"--scale-factor={scale:g}", f"--output-dir={folder}"]
        subprocess.run(command, check=True)
        (folder / "lineitem.parquet").rename(file)
        folder.rmdir()

    return inputs.prepare(f"{rows.file.name}.parquet", generate, CACHE)


def lineitem_table(scale: float) -> Rows:
    """Return lineitem, which is also stored as `.parquet`, to be read as a table."""
    rows = lineitem(scale)
    lineitem_parquet(rows, scale)
    return rows


def accounts_table(rows: int) -> Rows:
    """Return pgbench_accounts, which is also stored as `.parquet`, to be read as a table."""
    made = inputs.accounts(rows)

    def generate(file: Path) -> None:
        command = [sys.executable, "-m", "bench.accounts", str(made.file), str(file)]
        subprocess.run(command, check=True)

    inputs.prepare(f"{made.file.name}.parquet", generate, made.file.parent)
    return made


def write_objects(source: Path, file: Path) -> None:
    """Write the rows of lineitem, which contain no quotes, as one object each."""
    with (
        source.open(encoding="utf-8", newline="") as lines,
        file.open("w", encoding="utf-8") as out,
    ):
        rows = csv.reader(lines)
        names = next(rows)
        are_numbers = [name.endswith(NUMBERS) for name in names]
        pairs = [
            f'"{name}":{{}}' if is_number else f'"{name}":"{{}}"'
            for name, is_number in zip(names, are_numbers, strict=True)
        ]
        line = "{{" + ",".join(pairs) + "}}\n"
        out.writelines(line.format(*row) for row in rows)


def one_account(step: int) -> Rows:
    """Return the first row of pgbench_accounts."""
    return inputs.accounts(1, step)


def scaled_accounts(scale: float) -> Rows:
    """Return pgbench_accounts, with `ACCOUNTS` rows at scale 1."""
    return inputs.accounts(round(scale * ACCOUNTS))


def scattered_accounts(rows: int, step: int) -> Rows:
    """Return pgbench_accounts in no order."""

    def generate(file: Path) -> None:
        order = array("I", range(1, rows + 1))
        random.Random(1).shuffle(order)
        inputs.write(file, (inputs.account(aid, rows, step) for aid in order))

    return Rows(inputs.prepare(f"accounts-{rows}-{step}-scattered.txt", generate, CACHE), rows)


def spoilt_accounts(rows: int) -> Rows:
    """Return pgbench_accounts with one bad row in a hundred: unreadable, or violating a check."""
    good = inputs.accounts(rows)

    def generate(file: Path) -> None:
        with good.file.open("rb") as lines, file.open("wb") as out:
            for number, line in enumerate(lines, 1):
                if number % SHARE == 0:
                    fields = line.split(b"\t")
                    fields[2] = b"-1" if number % (2 * SHARE) else b"none"
                    line = b"\t".join(fields)
                out.write(line)

    return replace(good, file=inputs.prepare(f"accounts-{rows}-spoilt.txt", generate))


KNOWN = {
    each.__name__: each
    for each in (
        accounts_table,
        lineitem,
        lineitem_files,
        lineitem_table,
        one_account,
        scaled_accounts,
        scattered_accounts,
        spoilt_accounts,
    )
}


def given(name: str, parameters: Mapping[str, object]) -> Rows:
    """Return the rows with a name, from the lab or from here."""
    return inputs.given(name, parameters, {**inputs.BY_NAME, **KNOWN})


def count_lines(file: Path) -> int:
    """Count the line ends. No value of lineitem contains one."""
    with file.open("rb") as lines:
        return sum(block.count(b"\n") for block in iter(lambda: lines.read(1 << 20), b""))
