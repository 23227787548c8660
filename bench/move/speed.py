"""The time of each way to partition a table, in interleaved rounds."""

import shutil
from dataclasses import fields

from pgsluice_lab.site import Site

from bench.move import programs
from bench.move.accounts import HERE, Accounts
from bench.move.options import Options
from bench.move.record import Spent
from bench.move.ways import WAYS, Way

# The directory of the embedded server's data, and the free space that a round needs there.
DATA = "/var/tmp"
ROOM_FOR_WAL = 8 << 30
BYTES_OF_A_ROW = 160
FIGURES = [each.name for each in fields(Spent) if each.name != "way"]


def measure(site: Site, options: Options) -> list[Spent]:
    """Measure each way once in each round. Each round begins with another way."""
    accounts = Accounts(site, options.rows, "bare", "keyed")
    spent: dict[str, dict[str, list]] = {way: {name: [] for name in FIGURES} for way in WAYS}
    for number in range(options.rounds):
        turn = number * len(WAYS) // options.rounds
        for name in [*WAYS][turn:] + [*WAYS][:turn]:
            print(f"round {number + 1}: {name}", flush=True)
            for figure, value in move(accounts, WAYS[name], options).items():
                spent[name][figure].append(value)
        make_room(accounts, options.rows)
    drop_old(accounts)
    accounts.drop()
    return [Spent(way, **figures) for way, figures in spent.items()]


def move(accounts: Accounts, way: Way, options: Options) -> dict[str, float | int | None]:
    """Partition the table in one way, and return the figures of the record."""
    site, name = accounts.site, "keyed" if way.key else "bare"
    plain = f"{accounts.home}.{name}"
    if way.tree:
        accounts.make_tree(options.leaves, way.key)
    if way.script is None:
        accounts.lend(name)
        plain = f"{accounts.work}.accounts"
        command = programs.partition(site, accounts.work, options, *way.options)
    else:
        variables = {"plain": plain, "leaves": options.leaves, "key": 0}
        command = programs.script(site, HERE / way.script, **variables)
    # Read the table into memory.
    site.query(f"SELECT count(*) FROM {plain}")
    site.checkpoint(always=True)
    meter = site.meter()
    timing = programs.run(site, accounts.work, command)
    cost = meter.stop()
    accounts.check(options.leaves)
    if way.script is None:
        accounts.take_back(name)
    site.renew(accounts.work)
    return {
        "seconds": round(timing.seconds, 4),
        "client_cpu_seconds": round(timing.cpu_seconds, 3),
        "server_cpu_seconds": None if cost.cpu_seconds is None else round(cost.cpu_seconds, 3),
        "client_peak_mib": round(timing.peak_mib, 1),
        "wal_bytes": cost.wal_bytes,
    }


def make_room(accounts: Accounts, rows: int) -> None:
    """Drop the partitioned tables of all rounds if the disk lacks space for another round.

    ext4 skips the inodes of files that were deleted within the last minutes, which slows down the
    creation of leaves. So the tables are kept as long as possible.
    """
    if shutil.disk_usage(DATA).free < ROOM_FOR_WAL + rows * BYTES_OF_A_ROW * len(WAYS):
        print("too little room on the disk: dropping the tables of this round", flush=True)
        drop_old(accounts)


def drop_old(accounts: Accounts) -> None:
    """Drop the partitioned tables of all rounds."""
    for [schema] in accounts.site.lab_schemas():
        if schema not in (accounts.home, accounts.work):
            accounts.site.drop(schema)
