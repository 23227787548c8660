#!/usr/bin/env python3
"""Try a wheel, or an sdist, as its users have it: `try_wheel.py dist/*.whl`.

It is installed into an environment of its own, with the extra `server`, and runs the line of Python
that README.md has, against the embedded server. The rows must be in the table then.
"""

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = re.compile(r"^From \[Python\].*?\n\n    (pgsluice\..*?)\n", re.DOTALL | re.MULTILINE)
TABLE = """
    CREATE TABLE orders (id bigint, placed date, total numeric(10,2), PRIMARY KEY (id, placed))
        PARTITION BY RANGE (placed);
    CREATE TABLE orders_2026 PARTITION OF orders FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
    INSERT INTO orders VALUES (1, '2026-01-31', 1);
"""
FRAME = """
import pgsluice
import polars

frame = polars.DataFrame(
    {"id": [1, 2], "placed": ["2026-01-31", "2026-02-01"], "total": ["9.50", "0.00"]}
)
"""
STORED = "1,2026-01-31,9.50\n2,2026-02-01,0.00\n"
PROGRAMS = "from pgsluice_lab.postgres import programs; print(programs())"


def main(package: Path) -> int:
    """Install the package and run the example; return the exit status."""
    example = EXAMPLE.search((ROOT / "README.md").read_text(encoding="utf-8"))
    if example is None:
        return fail("README.md has no line of Python")
    # The server of root runs as another user, who must pass through.
    with tempfile.TemporaryDirectory(prefix="pgsluice-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        stored = run(package, Path(folder), example[1])
    if stored != STORED:
        return fail(f"the table has other rows:\n{stored}")
    print(f"{package.name}: installed, and the table has what README's line loads")
    return 0


def run(package: Path, folder: Path, example: str) -> str:
    """Return what is in the table then, as CSV."""
    venv.create(folder / "venv", with_pip=True)
    python, pgsluice = folder / "venv/bin/python", folder / "venv/bin/pgsluice"
    quiet = ["--quiet", "--disable-pip-version-check"]
    output(python, "-m", "pip", "install", *quiet, f"{package.resolve()}[server]", polars())
    psql = Path(output(python, "-c", PROGRAMS).strip(), "psql")
    place = ("--data", str(folder / "data"))
    url = output(pgsluice, "server", "start", *place).strip()
    try:
        os.environ.update(variables(url))
        output(psql, "-Xqc", "CREATE DATABASE shop", url)
        output(psql, "-Xqd", "shop", "-v", "ON_ERROR_STOP=1", "-c", TABLE)
        output(python, "-c", f"{FRAME}\n{example}")
        return output(psql, "-Xqd", "shop", "--csv", "-tc", "SELECT * FROM orders ORDER BY id")
    finally:
        output(pgsluice, "server", "stop", *place)


def variables(url: str) -> dict[str, str]:
    """Return the environment in which this server is meant."""
    place = urlsplit(url)
    named = {
        "PGHOST": place.hostname,
        "PGPORT": place.port,
        "PGUSER": place.username,
        "PGPASSWORD": place.password,
    }
    return {name: str(value) for name, value in named.items() if value}


def polars() -> str:
    """Return the requirement of the library that the frame is of."""
    pinned = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    return next(line for line in pinned.splitlines() if line.startswith("polars=="))


def output(*command: str | Path) -> str:
    """Run a command that must succeed, and return what it prints. It finds no other package."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=outside, check=True)
    return done.stdout


def fail(reason: str) -> int:
    print(f"try_wheel: {reason}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: try_wheel.py PACKAGE")
    sys.exit(main(Path(sys.argv[1])))
