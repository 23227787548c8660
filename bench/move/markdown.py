"""A record as Markdown: the ways, the phases, and the swaps."""

import statistics
from collections.abc import Iterator

from pgsluice_lab.timing import MIB

from bench.move.record import Move, Phase, Spent, Writing
from bench.move.waits import REPORTED_MS
from bench.move.ways import OURS, WAYS

HEADINGS = (
    "how",
    "seconds",
    "times as fast",
    "client CPU s",
    "server CPU s",
    "client peak MiB",
    "WAL MiB",
)
PHASES = "phase", "seconds", "transactions/s", "p50 ms", "p99 ms", "longest ms"
SWAPS = "the longest in a swap", "median ms", "longest ms"
OF_A_SWAP = (
    ("waited_ms", "wait of a writer for a lock"),
    ("locked_ms", "wait that pgsluice reports"),
    ("longest_ms", "transaction during the command"),
    ("beside_ms", "transaction before the command"),
)


def tables(record: Move) -> str:
    """Return the tables of the measured parts."""
    return "\n\n".join(
        [
            *(ways(record) if record.ways else []),
            *(writers(record, record.writing) if record.writing else []),
            *(swaps(record) if record.swaps else []),
        ]
    )


def ways(record: Move) -> Iterator[str]:
    """Yield a table of the ways without a primary key, a table with one, and the peak memory."""
    given = record.parameters
    for key, words in ((False, "without a primary key"), (True, "with a primary key on `aid`")):
        yield (
            f"{given['rows']:,} rows of `pgbench_accounts` in a plain table {words}, which is to"
            f" become {given['leaves']} hash leaves; pgsluice with `-j {given['jobs']}`:"
        )
        lines = [row(*HEADINGS), "|---|" + "--:|" * (len(HEADINGS) - 1)]
        of_key = (each for each in record.ways if WAYS[each.way].key == key)
        yield "\n".join([*lines, *(way(record, each) for each in of_key)])
    yield (
        "The first way only fills the leaves. pgsluice also creates them, compares the rows of both"
        " tables unless it has `--no-verify`, and exchanges the names. The steps by hand include"
        " neither the comparison nor the names. The peak memory of pgsluice was"
        f" {record.peak(*OURS):.0f} MiB at `--memory {given['memory']}MiB`."
    )


def way(record: Move, spent: Spent) -> str:
    """Return the line of one way. Its speed is compared with `INSERT` into a tree with its key."""
    insert = next(name for name, each in WAYS.items() if each.key == WAYS[spent.way].key)
    seconds, client, server, wal = (
        spent.median(name)
        for name in ("seconds", "client_cpu_seconds", "server_cpu_seconds", "wal_bytes")
    )
    return row(
        WAYS[spent.way].title,
        f"{seconds:.2f}",
        f"{record.faster(spent.way, insert):.2f}",
        f"{client:.2f}",
        "-" if server is None else f"{server:.2f}",
        f"{max(spent.client_peak_mib):,.0f}",
        f"{wal / MIB:,.0f}",
    )


def writers(record: Move, writing: Writing) -> Iterator[str]:
    """Yield a table of the writers' latency in each phase."""
    given = record.parameters
    yield (
        f"{given['clients']} clients of pgbench write to this table while it is partitioned online."
        " Of 20 transactions, 18 update a row by its key, one inserts a row, and one deletes such a"
        " row. Each transaction counts for the phase in which it began. `start` is the survey, and"
        " `copy` begins with the log:"
    )
    lines = [row(*PHASES), "|---|" + "--:|" * (len(PHASES) - 1)]
    yield "\n".join([*lines, *(phase(each) for each in writing.phases)])
    failed = sum(each.failed for each in writing.phases)
    yield (
        f"The move took {writing.seconds:.1f} s and followed {writing.rows_followed:,} changed"
        f" rows. pgsluice reports that others waited at most {writing.locked_ms:.0f} ms for the"
        f" swap. {failed or 'No'} {'transaction' if failed == 1 else 'transactions'} failed."
    )


def phase(each: Phase) -> str:
    """Return the line of one phase."""
    times = (f"{value:,.2f}" for value in (each.p50_ms, each.p99_ms, each.longest_ms))
    return row(each.phase, f"{each.seconds:.1f}", f"{each.a_second:,.0f}", *times)


def swaps(record: Move) -> Iterator[str]:
    """Yield a table of the waits and the transactions of writers in all swaps."""
    given = record.parameters
    yield (
        f"{len(record.swaps)} swaps of tables of {given['swap_rows']:,} rows with the same clients."
        f" The server reports each wait for a lock on a table of more than {REPORTED_MS} ms. The"
        " command `partition swap` also follows and compares the rows before it swaps. Transactions"
        " are also measured for the same time before the command:"
    )
    lines = [row(*SWAPS), "|---|" + "--:|" * (len(SWAPS) - 1)]
    yield "\n".join([*lines, *(figure(record, *each) for each in OF_A_SWAP)])


def figure(record: Move, name: str, words: str) -> str:
    """Return the line of one figure of all swaps."""
    values = [getattr(each, name) for each in record.swaps]
    return row(words, *(f"{value:,.0f}" for value in (statistics.median(values), max(values))))


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
