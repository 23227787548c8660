"""Time what pgsluice alone costs: lineitem's CSV routed and encoded by one thread, sent nowhere.

Run it by `make bench CASE=null`, with ARGS="--scale 0.1" for a quick look.
"""

import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from pgsluice_lab.server import Server

from bench import inputs, lineitem, program, rounds
from bench.rounds import Contender, by_pgsluice

NAME = "pgsluice load --sink null --threads 1"


def arguments() -> Namespace:
    """Read the command line."""
    return program.arguments("null", __doc__, scale=(1.0, "TPC-H's scale factor"))


def measure(server: Server, _: Path, options: Namespace) -> dict:
    """Run all rounds and return what the record holds."""
    rows = inputs.lineitem(options.scale)
    lineitem.plant(server)

    def verify(contender: Contender, run: dict) -> None:
        said = run["said"]
        if said["rows_read"] != rows.count or said["wire"] != "binary":
            rounds.wrong(contender, f"{said['rows_read']} rows read, wire {said['wire']}")
        if rounds.counts(server, contender.table):
            rounds.wrong(contender, "rows were sent")

    one = by_pgsluice(server, lineitem.TABLE, rows, options, "--sink", "null", "--threads", "1")
    contender, count = replace(one, name=NAME), options.rounds
    runs = rounds.interleaved(server, [contender], count, rows.count, lambda _: None, verify)
    seconds = rounds.median(runs, "client_cpu_seconds", how=NAME)
    measured = {"cpu": round(rows.bytes / 1e6 / seconds)}
    case = program.case(options, rows, scale=options.scale)
    return {"case": case, "measured": measured, "runs": runs}


if __name__ == "__main__":
    sys.exit(program.main("null", measure, arguments()))
