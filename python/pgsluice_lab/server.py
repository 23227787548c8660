"""A server by its URL, with SQL by psql; and the embedded one, started and stopped.

It is run by the installed programs, as a user would run it; nothing here bypasses them.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pgsluice_lab import programs


@dataclass(frozen=True)
class Server:
    """A running server, by its URL; `options` are the options of its start."""

    url: str
    options: tuple[str, ...] = ()

    @classmethod
    def start(cls, *options: str, quiet: bool = False) -> "Server":
        """Start the embedded server, or find it running."""
        errors = subprocess.PIPE if quiet else None
        command = [programs.needed("pgsluice"), "server", "start", *options]
        return cls(call(command, stdout=subprocess.PIPE, stderr=errors).stdout.split()[-1], options)

    def stop(self, quiet: bool = False) -> None:
        """Stop it; its data is kept."""
        data = self.options[: 2 if "--data" in self.options else 0]
        errors = subprocess.PIPE if quiet else None
        command = [programs.needed("pgsluice"), "server", "stop", *data]
        call(command, stdout=subprocess.DEVNULL, stderr=errors)

    def psql(self, *args: str) -> list[str]:
        """Return a psql command for this server that reads no start-up file and stops on errors."""
        program = programs.needed("psql")
        return [program, "-X", "-q", "-v", "ON_ERROR_STOP=1", *args, self.url]

    def query(self, sql: str) -> list[list[str]]:
        """Return the rows of a query, each value as text."""
        done = call(self.psql("-A", "-t", "-F", "\t", "-c", sql), stdout=subprocess.PIPE)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def execute(self, *statements: str) -> None:
        """Run statements, each in its own transaction."""
        call(self.psql(*(arg for sql in statements for arg in ("-c", sql))))

    def script(self, file: Path, **variables: str) -> None:
        """Run a file of SQL; psql replaces its `:variables`."""
        options = [arg for name, value in variables.items() for arg in ("-v", f"{name}={value}")]
        call(self.psql("-f", str(file), *options), stdout=subprocess.DEVNULL)


def call(
    command: list[str], env: dict[str, str] | None = None, **options: object
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in our environment or in the given one. Fail if it fails."""
    env = environment() if env is None else env
    return subprocess.run(command, check=True, text=True, env=env, **options)


def environment() -> dict[str, str]:
    """Return our environment without variables that would choose another PostgreSQL server."""

    def keeps(name: str) -> bool:
        return name.startswith("PGSLUICE_") or not name.startswith(("DATABASE_URL", "PG"))

    return {name: value for name, value in os.environ.items() if keeps(name)}


def settings() -> list[str]:
    """Return settings for measuring: durable, and no checkpoint or vacuum during a load."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    buffers = min(4096, memory // 4 // (1 << 20))
    return [
        f"shared_buffers={buffers}MB",
        "max_wal_size=16GB",
        "checkpoint_timeout=1h",
        "autovacuum=off",
        "fsync=on",
        "synchronous_commit=on",
    ]


def copy_command(table: str, file: Path, options: str = "") -> str:
    r"""Return psql's `\copy` of a file into a table."""
    name = str(file).replace("'", "''")
    return f"\\copy {table} from '{name}' {options}".rstrip()
