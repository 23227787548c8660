"""The command line: figures of writers as JSON, while another program partitions their table.

    python -m pgsluice_lab.writers --rows N --clients N --rate N --partitions N URL -- COMMAND...
    python -m pgsluice_lab.writers --rows N --clients N --rate N --seconds N URL

The command is timed from its start to its end, while the writers are already at work.
"""

import argparse
import json
import subprocess
import sys

from pgsluice_lab.failure import LabError
from pgsluice_lab.programs import needed
from pgsluice_lab.writers.beside import Wish, measure
from pgsluice_lab.writers.pgbench import Work


def main(args: list[str] | None = None) -> int:
    """Measure, print the figures, and return the exit status."""
    parser = argparse.ArgumentParser(prog="writers", description=(__doc__ or "").splitlines()[0])
    version = "show the version of the program that is measured, and exit"
    parser.add_argument("--version", nargs="?", const="pgbench", metavar="PROGRAM", help=version)
    parser.add_argument("--rows", type=int, default=0, help="rows of the table, with keys from 1")
    parser.add_argument("--clients", type=int, default=1, help="clients of pgbench")
    parser.add_argument("--rate", type=int, default=1, help="their transactions a second")
    parser.add_argument("--partitions", type=int, default=0, help="that the command makes")
    parser.add_argument("--seconds", type=float, default=0, help="to measure without a command")
    parser.add_argument("url", nargs="?", default="")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="program, and its arguments")
    given = parser.parse_args(args)
    if given.version:
        return subprocess.run([needed(given.version), "--version"], check=False).returncode
    if given.rows < 1 or given.rate < 1:
        parser.error("--rows and --rate must be at least 1")
    command = given.command[given.command[:1] == ["--"] :]
    work = Work(given.rows, given.clients, given.rate)
    try:
        print(json.dumps(measure(Wish(given.url, work, given.partitions, command, given.seconds))))
    except LabError as error:
        print(*error.lines(), sep="\n", file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
