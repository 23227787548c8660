"""pgbench, which changes rows of a table by their keys until it is stopped.

Of each 20 transactions, 18 update a row, one inserts a row and one deletes such a row. Each is a
single statement. The table has rows with the keys from 1 on, which only updates change: each adds 1
to the balance of one row, so that their sum is the number of updates.
"""

import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from pgsluice_lab.experiment import FOLDER
from pgsluice_lab.failure import LabError
from pgsluice_lab.programs import needed
from pgsluice_lab.writers.latency import Transaction, transactions

EXPERIMENT = FOLDER / "partition-in-use"
APPLICATION = "pgsluice writers"
SCRIPTS = {"update": 18, "insert": 1, "delete": 1}
UPDATE = [*SCRIPTS].index("update")
DAY = 24 * 60 * 60
SOON = 60
END = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = %s AND datname = current_database()"""
ABORTED = re.compile(r"^pgbench: error: .*", re.MULTILINE)
# The line that pgbench prints each second if it has a rate: the transactions, and their delay.
PROGRESS = re.compile(r"^progress: .* s, ([0-9.]+) tps, .* lag ([0-9.]+) ms", re.MULTILINE)
PAUSE = 0.2
ON_TIME_MS = 50
PATIENCE = 120


@dataclass(frozen=True)
class Work:
    """The work of writers: `rows` of the table, transactions per second in total, and settings.

    A `rate` of 0 means as many transactions as the server accepts.
    """

    rows: int
    clients: int
    rate: int = 0
    settings: tuple[str, ...] = ()

    def command(self, folder: Path, url: str) -> list[str]:
        """Return the command of pgbench, which logs into a folder."""
        command = [needed("pgbench"), "--no-vacuum", "--protocol=prepared"]
        command += [f"--client={self.clients}", f"--time={DAY}", f"--define=rows={self.rows}"]
        command += ["--log", f"--log-prefix={folder}/log"]
        if self.rate:
            command += [f"--rate={self.rate}", "--progress=1"]
        for name, weight in SCRIPTS.items():
            command.append(f"--file={EXPERIMENT / name}.pgbench@{weight}")
        return [*command, url]


class Writers:
    """A running pgbench. `env` leads it to the table."""

    def __init__(self, url: str, env: Mapping[str, str], work: Work, folder: Path) -> None:
        self.url, self.password, self.folder = url, env.get("PGPASSWORD"), folder
        options = [env.get("PGOPTIONS", ""), *(f"-c {each}" for each in work.settings)]
        own = {"PGAPPNAME": APPLICATION, "PGOPTIONS": " ".join(options).strip()}
        self.output = (folder / "output").open("w")
        self.process = subprocess.Popen(
            work.command(folder, url),
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output, env={**env, **own}
        )  # fmt: skip

    def stop(self) -> Iterator[Transaction]:
        """Stop pgbench, and return its transactions. Fail if a client has ended by itself.

        Its sessions are terminated: then it writes the rest of its log, which a signal would lose.
        """
        errors = ABORTED.findall(self.printed())
        if errors or self.process.poll() is not None:
            raise LabError("pgbench has ended too early", (errors or [self.printed().strip()])[0])
        with psycopg.connect(self.url, password=self.password, autocommit=True) as connection:
            connection.execute(END, [APPLICATION])
        self.process.wait(SOON)
        return transactions(self.folder.glob("log.*"))

    def printed(self, since: int = 0) -> str:
        """Return the output of pgbench after the first `since` bytes."""
        with (self.folder / "output").open("rb") as output:
            output.seek(since)
            return output.read().decode(errors="replace")

    def mark(self) -> int:
        """Return the number of bytes that pgbench has printed."""
        return (self.folder / "output").stat().st_size

    def catch_up(self) -> None:
        """Wait until all transactions that were already due have begun."""
        since, deadline = self.mark(), time.monotonic() + PATIENCE
        while not on_time(self.printed(since)):
            if time.monotonic() > deadline:
                hint = "Take a lower rate, or a server that has no other work."
                raise LabError("pgbench is behind its rate", self.printed(since).strip(), hint)
            time.sleep(PAUSE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.output.close()


def on_time(printed: str) -> bool:
    """Whether the last second of progress was on time. The first may have begun before."""
    seconds = PROGRESS.findall(printed)
    if len(seconds) < 2:
        return False
    rate, lag = map(float, seconds[-1])
    return rate > 0 and lag <= ON_TIME_MS


@contextmanager
def writing(url: str, env: Mapping[str, str], work: Work) -> Iterator[Writers]:
    """Run writers on the table `accounts` in their search path."""
    with tempfile.TemporaryDirectory() as folder:
        writers = Writers(url, env, work, Path(folder))
        try:
            yield writers
        finally:
            writers.close()
