"""The command line of this benchmark: its size, and the parts to run."""

import argparse
from dataclasses import dataclass, fields

PARTS = ("speed", "phases", "swaps")
HELP = {
    "rows": "rows of the table",
    "leaves": "leaves of the partitioned table",
    "rounds": "moves by each way",
    "jobs": "connections of pgsluice",
    "memory": "memory of pgsluice, in MiB",
    "clients": "clients of pgbench",
    "warm": "seconds for which the clients write before they are measured",
    "baseline": "seconds for which they are measured before the move",
    "after": "seconds for which they are measured after the move",
    "swaps": "swaps",
    "swap_rows": "rows of the table for each swap",
}


@dataclass(frozen=True)
class Options:
    """The size of the benchmark. The defaults are for the whole benchmark."""

    rows: int = 5_000_000
    leaves: int = 800
    rounds: int = 5
    jobs: int = 2
    memory: int = 512
    clients: int = 8
    warm: int = 10
    baseline: int = 30
    after: int = 10
    swaps: int = 50
    swap_rows: int = 100_000


def read(args: list[str]) -> tuple[Options, list[str], bool]:
    """Return the size, the parts to run, and whether this is at least the whole benchmark."""
    parser = argparse.ArgumentParser(
        prog="make bench CASE=move",
        description="Partition a table in several ways, with writers and without.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    for each in fields(Options):
        name = "--" + each.name.replace("_", "-")
        parser.add_argument(*(["-j"] if each.name == "jobs" else []), name, type=int,
                            default=each.default, help=HELP[each.name])  # fmt: skip
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[*PARTS], help="run these")
    given = vars(parser.parse_args(args))
    parts = given.pop("only")
    options, whole = Options(**given), Options()
    as_whole = {**given, "rounds": whole.rounds} == vars(whole) and options.rounds >= whole.rounds
    return options, parts, as_whole and set(parts) == {*PARTS}
