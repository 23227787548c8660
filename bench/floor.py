"""The floor: what the server needs when somebody has routed, sorted and encoded the rows before.

The bench does that itself, outside of the timing: it dumps each leaf of a table that psql loaded
into a file of its own. What is left to time are psql's that push bytes, as many as pgsluice has
connections, one transaction a leaf. They commit as pgsluice does: without waiting for the disk,
and with one commit in the end that does, and so makes all before it durable.
"""

from argparse import Namespace
from pathlib import Path

from pgsluice_lab.server import Server, copy_command
from pgsluice_lab.shares import shares
from pgsluice_lab.timing import timed

from bench.rounds import PSQL, Contender, counts, faster, ours

DUMPS = 2
ASYNCHRONOUS = ", synchronous_commit=off"
FLUSH = """RESET synchronous_commit;
SELECT pg_logical_emit_message(true, 'bench', '');
"""


class Leaves:
    """The rows of each leaf, in files that COPY reads with `options`; sorted, if by something."""

    def __init__(
        self, server: Server, table: str, folder: Path, options: str, by: str = ""
    ) -> None:
        self.server, self.folder, self.options = server, folder, options
        folder.mkdir()
        names = sorted(counts(server, table))
        self.files = {name: folder / f"leaf{number}" for number, name in enumerate(names)}
        order = f" ORDER BY {by}" if by else ""
        dumps = {
            f"\\copy (SELECT * FROM ONLY {table}{name}{order}) to '{file}' {options}": 1
            for name, file in self.files.items()
        }
        timed(*self.scripts(dumps, DUMPS))

    def push(self, table: str, jobs: int) -> list[list[str]]:
        """Return the programs that push all files into the leaves of a table."""
        copies = {
            copy_command(f"{table}{name}", file, self.options): file.stat().st_size
            for name, file in self.files.items()
        }
        return self.scripts(copies, jobs)

    def scripts(self, weights: dict[str, int], jobs: int) -> list[list[str]]:
        """Return so many psql's that share the commands, each about as much by their weight."""
        return [self.script(share) for share in shares(weights, jobs) if share]

    def script(self, commands: list[str]) -> list[str]:
        """Return the psql that runs these commands."""
        script = self.folder / f"{len(list(self.folder.glob('*.sql')))}.sql"
        script.write_text("\n".join(["SET synchronous_commit = off;", *commands, FLUSH]))
        return self.server.psql("-f", str(script))


def floors(
    server: Server, table: str, folder: Path, options: Namespace, *encodings: str
) -> list[Contender]:
    """Return the floor in each encoding, of a table that holds the rows now; none if unwanted."""

    def floor(encoding: str) -> Contender:
        leaves = Leaves(server, table, folder / encoding, f"with (format {encoding})")
        return Contender(name(options.jobs, encoding), table, leaves.push(table, options.jobs))

    return [] if "floor" in options.without else [floor(encoding) for encoding in encodings]


def name(jobs: int, encoding: str = "binary") -> str:
    """Return the floor's name in tables and records."""
    return f"the floor: {encoding} leaf files by {jobs} psql{ASYNCHRONOUS}"


def figures(runs: list[dict], jobs: int) -> dict[str, float | None]:
    """Return how we did against psql into the root and against the floor, as the goals name it."""
    floor, us = name(jobs), ours(jobs)
    return {"root": faster(runs, us, PSQL), "floor": faster(runs, floor, us)}
