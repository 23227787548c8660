#!/usr/bin/env python3
"""Try a wheel or an sdist like a user: `try_wheel.py dist/*.whl`.

It is installed into a separate environment, with the extra `server`, and runs README.md's line of
Python against the embedded server. The rows must then be in the table.
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
    # Root's server runs as another user, who must be able to enter the directory.
    with tempfile.TemporaryDirectory(prefix="pgsluice-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        stored = run(package, Path(folder), example[1])
    if stored != STORED:
        return fail(f"the table has other rows:\n{stored}")
    print(f"{package.name}: installed, and the table has what README's line loads")
    return 0


def run(package: Path, folder: Path, example: str) -> str:
    """Run the example, and return the table's rows as CSV."""
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
    """Return the environment variables that choose this server."""
    place = urlsplit(url)
    named = {
        "PGHOST": place.hostname,
        "PGPORT": place.port,
        "PGUSER": place.username,
        "PGPASSWORD": place.password,
    }
    return {name: str(value) for name, value in named.items() if value}


def polars() -> str:
    """Return the requirement of the library that provides the frame."""
    pinned = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    return next(line for line in pinned.splitlines() if line.startswith("polars=="))


def output(*command: str | Path) -> str:
    """Run a command that must succeed, and return its output. It finds no other package."""
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
