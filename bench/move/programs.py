"""The commands of pgsluice and psql, and the reports of pgsluice."""

import json
import subprocess
from pathlib import Path

from pgsluice_lab.failure import LabError
from pgsluice_lab.programs import needed
from pgsluice_lab.site import Site
from pgsluice_lab.timing import OverdueError, Timing, timed

from bench.move.options import Options

# Seconds that a program may take. A move that cannot catch up with the writers does not end.
LIMIT = 3600


def partition(site: Site, schema: str, options: Options, *more: str) -> list[str]:
    """Return the command that partitions the table of a schema."""
    command = [needed("pgsluice"), "partition", f"{schema}.accounts", "--by", "HASH (aid)"]
    command += ["--leaves", str(options.leaves), "-j", str(options.jobs)]
    return [*command, "--memory", f"{options.memory}MiB", *more, "-q", "--json", "-d", site.url]


def swap(site: Site, schema: str) -> list[str]:
    """Return the command that swaps a table whose rows were copied."""
    command = [needed("pgsluice"), "partition", "swap", f"{schema}.accounts"]
    return [*command, "-q", "--json", "-d", site.url]


def script(site: Site, file: Path, **variables: object) -> list[str]:
    """Return the command that runs a script of SQL."""
    given = [part for name, value in variables.items() for part in ("-v", f"{name}={value}")]
    command = [needed("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1"]
    return [*command, *given, "-f", str(file), site.url]


def run(site: Site, schema: str, command: list[str]) -> Timing:
    """Run a program and return its cost. Raise its error if it fails."""
    try:
        return timed(command, env=site.environment(schema), limit=LIMIT, quiet=True)
    except OverdueError as overdue:
        raise too_long(command) from overdue
    except subprocess.CalledProcessError as failure:
        raise failed(command, failure.returncode, failure.stderr or "") from failure


def failed(command: list[str], status: int, errors: str) -> LabError:
    """Return the error of a program that failed."""
    return LabError(f"{Path(command[0]).name} ended with status {status}", errors.strip())


def too_long(command: list[str]) -> LabError:
    """Return the error of a program that was stopped."""
    return LabError(f"{Path(command[0]).name} was stopped after {LIMIT:,} seconds")


def report(output: str) -> dict:
    """Return the JSON that pgsluice printed, which is one line."""
    return json.loads(output)
