r"""Time 100 rows into 800 hash leaves, where a COPY for each leaf would cost more than it saves.

Run it by `make bench CASE=few`. The leaves are not emptied between the loads: a trickle goes into
tables that have rows already, and emptying 800 of them takes much longer than the load.
"""

import sys
from argparse import Namespace
from collections import Counter
from pathlib import Path

from pgsluice_lab.server import Server

from bench import inputs, program, rounds
from bench.place import ROOT
from bench.rounds import PSQL, Contender, by_pgsluice, by_psql

TABLE = "accounts"


def arguments() -> Namespace:
    """Read the command line."""
    rows, leaves = (100, "rows to load"), (800, "hash partitions")
    return program.arguments("few", __doc__, least=21, rows=rows, leaves=leaves)


def measure(server: Server, _: Path, options: Namespace) -> dict:
    """Run all rounds and return what the record holds."""
    rows = inputs.accounts(options.rows)
    server.script(ROOT / "bench" / "hash800.sql", leaves=str(options.leaves))
    each = Counter(rounds.warmed(server, TABLE, rows))
    held = each.copy()

    def verify(contender: Contender, _: dict) -> None:
        held.update(each)
        if rounds.counts(server, TABLE) != held:
            rounds.wrong(contender)

    contenders = [by_psql(server, TABLE, rows), by_pgsluice(server, TABLE, rows, options)]
    count = options.rounds
    runs = rounds.interleaved(server, contenders, count, rows.count, lambda _: None, verify)
    measured = {"root": rounds.faster(runs, PSQL, rounds.ours(options.jobs))}
    case = program.case(options, rows, leaves=options.leaves)
    return {"case": case, "measured": measured, "runs": runs}


if __name__ == "__main__":
    sys.exit(program.main("few", measure, arguments()))
