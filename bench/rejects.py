"""Time a load that rejects one row in a hundred beside one whose rows are all good.

Run it by `make bench CASE=rejects`, with ARGS="--rows 100000 --rounds 1" for a quick look.
Half of the bad rows cannot be read, the other half break a constraint.
"""

import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from pgsluice_lab.server import Server

from bench import inputs, program, rounds
from bench.place import ROOT
from bench.rounds import Contender, by_pgsluice, by_psql

TABLE = "accounts"
SHARE = 100  # one row in so many is bad


def arguments() -> Namespace:
    """Read the command line."""
    return program.arguments("rejects", __doc__, rows=(1_000_000, "rows to load"))


def measure(server: Server, folder: Path, options: Namespace) -> dict:
    """Run all rounds and return what the record holds."""
    good = inputs.accounts(options.rows)
    bad = replace(good, file=folder / "bad.txt")
    spoil(good.file, bad.file)
    server.script(ROOT / "bench" / "rejects.sql", table=TABLE)
    rejected = folder / "rejected.txt"
    limits = ("--reject-file", str(rejected), "--max-rejects", "2%")
    clean = by_pgsluice(server, TABLE, good, options, *limits)
    spoilt = by_pgsluice(server, TABLE, bad, options, *limits)
    spoilt = replace(spoilt, name=f"{spoilt.name}, 1 % rejected", commands=rejecting(spoilt))
    expected = {clean.name: 0, spoilt.name: options.rows // SHARE}
    empty = rounds.emptying(server, TABLE)

    def prepare(contender: Contender) -> None:
        for file in (rejected, Path(f"{rejected}.log")):
            file.unlink(missing_ok=True)
        empty(contender)

    def verify(contender: Contender, _: dict) -> None:
        left = sum(rounds.counts(server, TABLE).values())
        kept = inputs.count_lines(rejected) if rejected.exists() else 0
        bad = expected.get(contender.name, 0)
        if (left, kept) != (options.rows - bad, bad):
            rounds.wrong(contender, f"{left} rows loaded, {kept} rejected")

    contenders = [by_psql(server, TABLE, good), clean, spoilt]
    runs = rounds.interleaved(server, contenders, options.rounds, good.count, prepare, verify)
    times = rounds.faster(runs, clean.name, spoilt.name)
    return {"case": program.case(options, good), "measured": {"times": times}, "runs": runs}


def spoil(good: Path, bad: Path) -> None:
    """Write the rows of a file, one in a hundred of them bad."""
    with good.open("rb") as rows, bad.open("wb") as out:
        for number, row in enumerate(rows, 1):
            if number % SHARE == 0:
                fields = row.split(b"\t")
                fields[2] = b"-1" if number % (2 * SHARE) else b"none"
                row = b"\t".join(fields)
            out.write(row)


def rejecting(contender: Contender) -> list[list[str]]:
    """Return its programs, for which it is success that rows were rejected."""
    return [["sh", "-c", '"$@"; test $? -eq 3', "sh", *command] for command in contender.commands]


if __name__ == "__main__":
    sys.exit(program.main("rejects", measure, arguments()))
