r"""Time pgbench_accounts rows into 800 hash leaves: pgsluice, psql's `\copy`, and the floor.

Run it by `make bench CASE=hash800`, with ARGS="--rows 500000 --rounds 1" for a quick look.
"""

import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from pgsluice_lab.server import Server

from bench import floor, inputs, program, rounds
from bench.place import ROOT
from bench.rounds import by_pgsluice, by_psql, ours

TABLE, PLAIN = "accounts", "accounts_plain"
UNPARTITIONED = r"psql \copy into an unpartitioned table"


def arguments() -> Namespace:
    """Read the command line."""
    rows, leaves = (5_000_000, "rows to load"), (800, "hash partitions")
    return program.arguments("hash800", __doc__, rows=rows, leaves=leaves)


def measure(server: Server, folder: Path, options: Namespace) -> dict:
    """Run all rounds and return what the record holds."""
    rows = inputs.accounts(options.rows)
    server.script(ROOT / "bench" / "hash800.sql", leaves=str(options.leaves))
    expected = {TABLE: rounds.warmed(server, TABLE, rows), PLAIN: {"": rows.count}}
    whole, bare = ours(options.jobs), ours(options.jobs, "--no-ledger")
    contenders = [
        by_psql(server, TABLE, rows),
        by_pgsluice(server, TABLE, rows, options),
        replace(by_pgsluice(server, TABLE, rows, options, "--no-ledger"), name=bare),
    ]
    if "plain" not in options.without:
        contenders.append(by_psql(server, PLAIN, rows, UNPARTITIONED))
    contenders += floor.floors(server, TABLE, folder, options, "binary", "text")
    prepare = rounds.emptying(server, TABLE, PLAIN)
    verify = rounds.expecting(server, expected)
    runs = rounds.interleaved(server, contenders, options.rounds, rows.count, prepare, verify)
    measured = {
        **floor.figures(runs, options.jobs),
        "plain": rounds.faster(runs, whole, UNPARTITIONED),
        "ledger": rounds.faster(runs, bare, whole),
    }
    case = program.case(options, rows, leaves=options.leaves)
    return {"case": case, "measured": measured, "runs": runs}


if __name__ == "__main__":
    sys.exit(program.main("hash800", measure, arguments()))
