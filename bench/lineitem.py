r"""Time TPC-H's lineitem into months x hash partitions: pgsluice, psql's `\copy`, and the floor.

Run it by `make bench CASE=lineitem`, with ARGS="--scale 0.1 --rounds 1" for a quick look. The table
is the demo's.
"""

import sys
from argparse import Namespace
from pathlib import Path

from pgsluice_lab.server import Server

from bench import floor, inputs, program, rounds
from bench.place import ROOT
from bench.rounds import by_pgsluice, by_psql

SCHEMA = "tpch"
TABLE = f"{SCHEMA}.lineitem"


def arguments() -> Namespace:
    """Read the command line."""
    return program.arguments("lineitem", __doc__, scale=(1.0, "TPC-H's scale factor"))


def measure(server: Server, folder: Path, options: Namespace) -> dict:
    """Run all rounds and return what the record holds."""
    rows = inputs.lineitem(options.scale)
    plant(server)
    expected = rounds.warmed(server, TABLE, rows)
    contenders = [by_psql(server, TABLE, rows), by_pgsluice(server, TABLE, rows, options)]
    contenders += floor.floors(server, TABLE, folder, options, "binary")
    prepare, verify = rounds.emptying(server, TABLE), rounds.expecting(server, {TABLE: expected})
    runs = rounds.interleaved(server, contenders, options.rounds, rows.count, prepare, verify)
    measured = floor.figures(runs, options.jobs)
    case = program.case(options, rows, scale=options.scale, leaves=len(expected))
    return {"case": case, "measured": measured, "runs": runs}


def plant(server: Server) -> None:
    """Make the demo's table."""
    server.script(ROOT / "demo" / "lineitem.sql", schema=SCHEMA)


if __name__ == "__main__":
    sys.exit(program.main("lineitem", measure, arguments()))
