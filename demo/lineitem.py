"""Load TPC-H's lineitem with psql and with pgsluice, and prove that both tables are equal.

Run it by `make demo`; `make demo ARGS="--scale 1"` for twice the rows.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from pgsluice_lab.programs import needed
from pgsluice_lab.server import Server, copy_command
from pgsluice_lab.timing import timed

from bench import inputs
from bench.place import PGSLUICE, ROOT

BY_PSQL = "by_psql"
BY_PGSLUICE = "by_pgsluice"
ORDER = [BY_PSQL, BY_PGSLUICE, BY_PGSLUICE, BY_PSQL]

HELD = """
SELECT c.relname, pg_get_expr(c.relpartbound, c.oid), coalesce(held.rows, 0), held.checksum
FROM pg_partition_tree('{schema}.lineitem') AS node
JOIN pg_class AS c ON c.oid = node.relid
LEFT JOIN (
    SELECT tableoid, count(*) AS rows, sum(hashtextextended(row::text, 0)::numeric) AS checksum
    FROM {schema}.lineitem AS row
    GROUP BY tableoid
) AS held ON held.tableoid = node.relid
WHERE node.isleaf
ORDER BY c.relname
"""


def main() -> int:
    """Run the demo and return its exit status."""
    options = arguments()
    data = inputs.lineitem(options.scale)
    file, rows = data.file, data.count
    say(
        f"\n{bold('TPC-H lineitem')}, scale {options.scale:g}: {rows:,} rows,", size(file), "of CSV"
    )
    server = Server.start()
    for schema in (BY_PSQL, BY_PGSLUICE):
        server.execute(
            f"SET client_min_messages = warning; DROP SCHEMA IF EXISTS {schema} CASCADE",
            f"CREATE SCHEMA {schema}",
        )
        server.script(ROOT / "demo" / "lineitem.sql", schema=schema)
    say("Two equal tables: 84 months of l_shipdate x 4 hash partitions on l_orderkey = 336 leaves.")
    seconds = race(server, file, options.jobs)
    draw(seconds, rows, options.jobs)
    same = compare(server, rows)
    next_steps(file)
    return 0 if same else 1


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="make demo",
        description=__doc__.splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--scale", type=float, default=0.5, help="TPC-H's scale factor")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="connections of pgsluice")
    return parser.parse_args()


def race(server: Server, file: Path, jobs: int) -> dict[str, list[float]]:
    """Load both tables twice, first and last with psql, and return the seconds of each load."""
    name = file.relative_to(ROOT)
    copy = copy_command(f"{BY_PSQL}.lineitem", name, "with (format csv, header)")
    load = [PGSLUICE, "load", str(name), "-t", f"{BY_PGSLUICE}.lineitem", "--header", f"-j{jobs}"]
    commands = {BY_PSQL: server.psql("-c", copy), BY_PGSLUICE: load}
    shown = {BY_PSQL: f'psql -c "{copy}"', BY_PGSLUICE: " ".join(load)}
    say("Each is loaded twice, in the order psql, pgsluice, pgsluice, psql,")
    say("after TRUNCATE and CHECKPOINT.")
    seconds: dict[str, list[float]] = {BY_PSQL: [], BY_PGSLUICE: []}
    for schema in ORDER:
        server.execute(f"TRUNCATE {schema}.lineitem", "CHECKPOINT")
        say(f"\n$ {bold(shown[schema])}")
        timing = timed(commands[schema])
        say(timing.output, end="")
        say(dim(f"{timing.seconds:.1f} s"))
        seconds[schema].append(timing.seconds)
    return seconds


def draw(seconds: dict[str, list[float]], rows: int, jobs: int) -> None:
    """Draw the better load of each as a bar, and print the conditions."""
    best = {schema: min(times) for schema, times in seconds.items()}
    width = max(20, min(50, shutil.get_terminal_size().columns - 48))
    full = "█" if (sys.stdout.encoding or "").lower().startswith("utf") else "#"
    say("\nThe better of two loads (shorter is better):\n")
    for label, schema in ((r"psql \copy", BY_PSQL), (f"pgsluice -j {jobs}", BY_PGSLUICE)):
        bar = full * max(1, round(width * best[schema] / max(best.values())))
        speed = f"{best[schema]:6.1f} s {rows / best[schema]:12,.0f} rows/s"
        say(f"  {label:14} {bar:{width}} {speed}")
    ratio = best[BY_PSQL] / best[BY_PGSLUICE]
    winner = f"pgsluice is {ratio:.1f}" if ratio >= 1 else f"psql is {1 / ratio:.1f}"
    say(f"\n  {bold(f'{winner} times as fast')} here: one machine with {os.cpu_count()} cores for")
    say("  clients and server, one server, the same settings, the programs' start included.")


def compare(server: Server, rows: int) -> bool:
    """Compare rows and checksum of each leaf, computed by the server, and print the outcome."""
    say("\nComparing each leaf: bounds, rows, and the sum of a 64-bit hash over the rows ...")
    left, right = (server.query(HELD.format(schema=schema)) for schema in (BY_PSQL, BY_PGSLUICE))
    held = sum(int(leaf[2]) for leaf in right)
    if left == right and held == rows:
        say(f"  {len(right)} leaves, {held:,} rows: {bold('identical')}")
        return True
    say(f"  {bold('DIFFERENT')}: {rows:,} rows in the file, {held:,} in {BY_PGSLUICE}.lineitem")
    for ours, theirs in zip(right, left, strict=False):
        if ours != theirs:
            say(f"  {ours[0]}: {ours[2]} rows by pgsluice, {theirs[2]} by psql, or other rows")
    return False


def next_steps(file: Path) -> None:
    """Print what to try next, and how to stop the server."""
    name = file.relative_to(ROOT)
    psql = Path(needed("psql"))
    psql = psql.relative_to(ROOT) if psql.is_relative_to(ROOT) else psql
    table = f"{BY_PGSLUICE}.lineitem"
    say(f"""
What to try next:

  {dim("what a load of this file would do, and why")}
  {PGSLUICE} plan {name} -t {table} --header
  {dim("the partitions, their bounds, rows and sizes")}
  {PGSLUICE} tree -t {table}
  {dim("look around with psql")}
  {psql} "$({PGSLUICE} server url)"
  {dim("load a file of your own into a table of your own")}
  {PGSLUICE} load FILE.csv --header -t TABLE -d postgresql://USER@HOST/DATABASE

The server keeps running and keeps both tables. To stop it: {PGSLUICE} server stop
""")


def size(file: Path) -> str:
    """Return the size of a file for people."""
    return f"{file.stat().st_size / 1e6:,.0f} MB"


def say(*words: str, end: str = "\n") -> None:
    """Print at once, so that our lines and those of the programs are in order."""
    print(*words, end=end, flush=True)


def bold(text: str) -> str:
    """Return the text in bold on a terminal."""
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text


def dim(text: str) -> str:
    """Return the text in grey on a terminal."""
    return f"\033[2m{text}\033[0m" if sys.stdout.isatty() else text


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except subprocess.CalledProcessError as failure:
        sys.exit(f"demo: {Path(failure.cmd[0]).name} ended with exit status {failure.returncode}")
