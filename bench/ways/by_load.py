"""`pgsluice.load` of an Arrow table."""

from dataclasses import asdict

import pgsluice
import pyarrow

from bench.ways import Target

VERSION = f"pgsluice {pgsluice.__version__}"
FIGURES = ("rows_read", "wire", "lanes", "fallbacks", "first_row")


def ready(table: pyarrow.Table) -> pyarrow.Table:
    """Return the table unchanged."""
    return table


def load(table: pyarrow.Table, to: Target) -> dict:
    """Load with the same connections and memory as the command line."""
    done = pgsluice.load(table, to.table, to.url, jobs=to.jobs, memory=f"{to.memory}MiB")
    fields = asdict(done)
    return {name: fields[name] for name in FIGURES}
