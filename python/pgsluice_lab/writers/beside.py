"""A command that partitions a table while writers change it, and the cost of both.

Writers have a rate. The latency of a transaction counts from the time at which it was due, as the
users of an application see it, and not from the time at which a writer was free to begin it.
"""

import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg

from pgsluice_lab.failure import LabError
from pgsluice_lab.programs import needed
from pgsluice_lab.timing import Timing, timed
from pgsluice_lab.writers import latency
from pgsluice_lab.writers.latency import Transaction, quantile
from pgsluice_lab.writers.pgbench import UPDATE, Work, writing

# Seconds for which writers write before the measurement.
WARM = 2
HELD = """SELECT (SELECT count(*) FROM accounts WHERE aid <= %(rows)s),
    (SELECT sum(abalance) FROM accounts WHERE aid <= %(rows)s),
    (SELECT count(*) FROM pg_partition_tree('accounts') WHERE isleaf)"""


@dataclass(frozen=True)
class Wish:
    """The command to run beside the writers, which creates `partitions`; or only a time to wait."""

    url: str
    work: Work
    partitions: int
    command: list[str]
    seconds: float


def measure(wish: Wish) -> dict[str, float]:
    """Run the writers and the command, check the table, and return the figures of both."""
    with writing(wish.url, os.environ, wish.work) as writers:
        time.sleep(WARM)
        began = time.time()
        timing = spend(wish)
        ended = time.time()
        writers.catch_up()
        transactions = list(writers.stop())
    check(wish, transactions)
    return {**cost(timing), **figures(transactions, began, ended)}


def spend(wish: Wish) -> Timing | None:
    """Run the command and return its cost, or wait if no command is given."""
    if wish.command:
        return run(wish.command, os.environ)
    time.sleep(wish.seconds)
    return None


def run(command: list[str], env: Mapping[str, str]) -> Timing:
    """Run a command, and return its cost. Raise its error if it fails."""
    try:
        return timed([needed(command[0]), *command[1:]], env=env, quiet=True)
    except subprocess.CalledProcessError as failure:
        output = (failure.stderr or "").strip().splitlines() or [""]
        status = f"{Path(command[0]).name} ended with status {failure.returncode}"
        raise LabError(f"{status}: {output[0]}", "\n".join(output[1:])) from failure


def cost(timing: Timing | None) -> dict[str, float]:
    """Return the figures of the command, if any."""
    if timing is None:
        return {}
    return {
        "seconds": round(timing.seconds, 4),
        "client_cpu_seconds": round(timing.cpu_seconds, 3),
        "client_peak_mib": round(timing.peak_mib, 1),
    }


def figures(all_of: list[Transaction], begins: float, ends: float) -> dict[str, float]:
    """Return the figures of the writers; latencies are of the transactions due in this time."""
    due = list(latency.began(all_of, begins, ends))
    done = [each for each in latency.ended(all_of, begins, ends) if not each.failed]
    ranked = sorted(each.milliseconds for each in due if not each.failed) or [0.0]
    return {
        "tps": round(len(done) / (ends - begins), 1),
        "p50_ms": round(quantile(ranked, 0.5), 3),
        "p99_ms": round(quantile(ranked, 0.99), 3),
        "longest_ms": round(ranked[-1], 3),
        "failed": sum(each.failed for each in due),
    }


def check(wish: Wish, transactions: list[Transaction]) -> None:
    """Fail if the table is not partitioned as expected, or lacks a row or an update.

    The last update of a client may be in the table but not in the log.
    """
    password = os.environ.get("PGPASSWORD")
    with psycopg.connect(wish.url, password=password) as connection:
        held = connection.execute(HELD, {"rows": wish.work.rows}).fetchone() or (0, 0, 0)
    rows, updates, leaves = map(int, held)
    logged = sum(each.script == UPDATE and not each.failed for each in transactions)
    if (rows, leaves) != (wish.work.rows, wish.partitions if wish.command else 0):
        raise LabError(f"the table has {rows:,} rows of the first ones, in {leaves:,} partitions")
    if not logged <= updates <= logged + wish.work.clients:
        raise LabError(f"the table has {updates:,} updates, and pgbench made {logged:,}")
