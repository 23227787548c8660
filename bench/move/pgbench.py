"""pgbench, which changes rows of the table by their keys until it is stopped.

Of 20 transactions, 18 update a row, one inserts a row and one deletes such a row. Each is a single
statement. The server tells its session how long it has waited for a lock, and pgbench prints that.
"""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pgsluice_lab.failure import LabError
from pgsluice_lab.programs import needed
from pgsluice_lab.site import Site

from bench.move.accounts import HERE
from bench.move.latency import Transaction, transactions

APPLICATION = "pgsluice writers"
SCRIPTS = {"update": 18, "insert": 1, "delete": 1}
# Messages of the level LOG reach the client, in English. The server reports a wait that was longer
# than `deadlock_timeout`, here some milliseconds; the embedded server's own role may set that.
REPORTED_MS = 10
OPTIONS = (
    "client_min_messages=log",
    "lc_messages=C",
    "log_lock_waits=on",
    f"deadlock_timeout={REPORTED_MS}ms",
)
WAITED = re.compile(r"acquired \w+ on relation \d+ of database \d+ after ([0-9.]+) ms")
DAY = 24 * 60 * 60
SOON = 60
END = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = %s AND datname = current_database()"""


class Writers:
    """A running pgbench."""

    def __init__(self, site: Site, schema: str, rows: int, clients: int, folder: Path) -> None:
        self.site, self.folder = site, folder
        command = [needed("pgbench"), "--no-vacuum", "--protocol=prepared", f"--client={clients}"]
        command += [f"--time={DAY}", "--exit-on-abort", f"--define=rows={rows}"]
        command += ["--log", f"--log-prefix={folder}/log"]
        for name, weight in SCRIPTS.items():
            command.append(f"--file={HERE / 'writers' / name}.sql@{weight}")
        self.said = (folder / "said").open("w+")
        env = {**site.environment(schema), "PGAPPNAME": APPLICATION}
        env["PGOPTIONS"] += "".join(f" -c {option}" for option in OPTIONS)
        self.process = subprocess.Popen(
            [*command, site.url],
            stdin=subprocess.DEVNULL, stdout=self.said, stderr=self.said, env=env
        )  # fmt: skip

    def stop(self) -> Iterator[Transaction]:
        """Stop pgbench, and return its transactions. Fails if it has ended by itself.

        Its sessions are terminated: it then writes the rest of its log, which a signal would lose.
        """
        if self.process.poll() is not None:
            self.said.seek(0)
            raise LabError("pgbench has ended too early", self.said.read().strip())
        self.site.query(END, APPLICATION)
        self.process.wait(SOON)
        return transactions(self.folder.glob("log.*"))

    def printed(self) -> int:
        """Return how many bytes pgbench has printed until now."""
        return (self.folder / "said").stat().st_size

    def longest_wait(self, since: int) -> float:
        """Return the milliseconds of the longest wait for a lock on a table.

        It is one that pgbench has printed since it had printed so many bytes, or 0 if no wait was
        longer than `REPORTED_MS`.
        """
        # A file of its own: pgbench writes where the other one is.
        with (self.folder / "said").open("rb") as said:
            said.seek(since)
            return waited(said.read().decode(errors="replace"))

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.said.close()


def waited(printed: str) -> float:
    """Return the milliseconds of the longest wait for a lock on a table that was printed, or 0."""
    return max(map(float, WAITED.findall(printed)), default=0.0)


@contextmanager
def writing(site: Site, schema: str, rows: int, clients: int) -> Iterator[Writers]:
    """Run writers on the table of a schema."""
    with tempfile.TemporaryDirectory() as folder:
        writers = Writers(site, schema, rows, clients, Path(folder))
        try:
            yield writers
        finally:
            writers.close()
