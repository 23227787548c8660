"""pgbench, which changes rows of the table by their keys until it is stopped.

Of 20 transactions, 18 update a row, one inserts a row and one deletes such a row. Each is a single
statement.
"""

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

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.said.close()


@contextmanager
def writing(site: Site, schema: str, rows: int, clients: int) -> Iterator[Writers]:
    """Run writers on the table of a schema."""
    with tempfile.TemporaryDirectory() as folder:
        writers = Writers(site, schema, rows, clients, Path(folder))
        try:
            yield writers
        finally:
            writers.close()
