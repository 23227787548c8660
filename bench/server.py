"""The embedded server as the demo and the benchmark use it: start, stop, and SQL by psql.

Both run the installed programs, as a user would; nothing here goes round them.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pgsluice.postgres import programs

ROOT = Path(__file__).resolve().parent.parent
PGSLUICE = ".venv/bin/pgsluice"


@dataclass(frozen=True)
class Server:
    """A running server, by its URL; `options` are those that it was started with."""

    url: str
    options: tuple[str, ...] = ()

    @classmethod
    def start(cls, *options: str) -> "Server":
        """Start the embedded server, or find it running."""
        done = call([PGSLUICE, "server", "start", *options], stdout=subprocess.PIPE)
        return cls(done.stdout.split()[-1], options)

    def stop(self) -> None:
        """Stop it; its data stays."""
        data = self.options[: 2 if "--data" in self.options else 0]
        call([PGSLUICE, "server", "stop", *data], stdout=subprocess.DEVNULL)

    def psql(self, *args: str) -> list[str]:
        """Return a psql command for this server that reads no start-up file and stops on errors."""
        return [psql_program(), "-X", "-q", "-v", "ON_ERROR_STOP=1", *args, self.url]

    def query(self, sql: str) -> list[list[str]]:
        """Return the rows of a query, each value as text."""
        done = call(self.psql("-A", "-t", "-F", "\t", "-c", sql), stdout=subprocess.PIPE)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def execute(self, *statements: str) -> None:
        """Run statements, each in a transaction of its own."""
        call(self.psql(*(arg for sql in statements for arg in ("-c", sql))))

    def script(self, file: Path, **variables: str) -> None:
        """Run a file of SQL; psql replaces its `:variables`."""
        options = [arg for name, value in variables.items() for arg in ("-v", f"{name}={value}")]
        call(self.psql("-f", str(file), *options), stdout=subprocess.DEVNULL)


def call(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and fail if it fails; it writes its own complaints to stderr."""
    return subprocess.run(command, check=True, text=True, cwd=ROOT, env=environment(), **options)


def environment() -> dict[str, str]:
    """Return our environment without what would lead a PostgreSQL client to another server."""

    def kept(name: str) -> bool:
        return name.startswith("PGSLUICE_") or not name.startswith(("DATABASE_URL", "PG"))

    return {name: value for name, value in os.environ.items() if kept(name)}


def psql_program() -> str:
    """Return the psql that came with the embedded server, else the system's."""
    folder = programs()
    return str(folder / "psql") if folder else shutil.which("psql") or "psql"


def copy_command(table: str, file: Path, options: str = "") -> str:
    r"""Return psql's `\copy` of a file into a table."""
    name = str(file).replace("'", "''")
    return f"\\copy {table} from '{name}' {options}".rstrip()
