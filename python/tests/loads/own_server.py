"""A private server for a test, which stops, crashes and restarts it."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psycopg
from formats.place import program

from .place import Limited

# A commit that does not wait for the disk stays in memory, unless another one waits.
LAZY = ("fsync=off", "wal_writer_delay=10s", "wal_writer_flush_after=1GB")


class OwnServer(Limited):
    settings: tuple[str, ...] = LAZY

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="pgsluice-own-", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)
        self.addCleanup(self.server, "stop")
        self.url = self.server("start")

    def server(self, what: str) -> str:
        """Start or stop the server; return its URL if it starts."""
        command = [program(), "server", what, "--data", str(self.folder / "data")]
        settings = [arg for setting in self.settings for arg in ("--set", setting)]
        command += settings if what == "start" else []
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return (done.stdout.split() or [""])[-1]

    def connect(self) -> psycopg.Connection:
        """Connect as soon as the server accepts connections."""
        while True:
            with suppress(psycopg.OperationalError):
                return psycopg.connect(self.url, autocommit=True)
            time.sleep(0.05)

    def ask(self, query: str) -> tuple:
        with self.connect() as connection:
            return connection.execute(query).fetchone()

    def make(self) -> None:
        """Recreate the table, and write it to disk."""
        with self.connect() as connection:
            connection.execute("DROP TABLE IF EXISTS loaded")
            connection.execute("CREATE TABLE loaded (id bigint) PARTITION BY HASH (id)")
            for leaf in range(3):
                connection.execute(
                    f"CREATE TABLE loaded_{leaf} PARTITION OF loaded"
                    f" FOR VALUES WITH (MODULUS 3, REMAINDER {leaf})"
                )
            connection.execute("CHECKPOINT")

    def restart(self) -> None:
        """Shut the server down in order, which loses nothing, and start it."""
        self.server("stop")
        self.server("start")

    def crash(self) -> None:
        """Stop the server with PostgreSQL's immediate shutdown, and start it."""
        file = self.folder / "data" / "data" / "postmaster.pid"
        pid = int(file.read_text().split()[0])
        os.kill(pid, signal.SIGQUIT)
        while file.exists():
            time.sleep(0.02)
        self.server("start")

    def kill_process(self) -> None:
        """Kill one process of the server: the postmaster then reinitializes its memory."""
        with self.connect() as victim:
            os.kill(victim.info.backend_pid, signal.SIGKILL)
            with suppress(psycopg.OperationalError):
                while True:
                    victim.execute("SELECT pg_sleep(0.02)")
        self.connect().close()
