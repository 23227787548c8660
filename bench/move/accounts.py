"""The plain tables to be partitioned, and the schema in which that happens.

The plain table is in its own schema. For pgsluice, which renames it, it is moved next to its
partitions and back again, so that all ways read the same pages.
"""

from pathlib import Path

from pgsluice_lab.failure import LabError
from pgsluice_lab.site import Site
from pgsluice_lab.writers.pgbench import EXPERIMENT

HERE = Path(__file__).resolve().parent
TREE = HERE.parent / "experiments" / "grid-small" / "accounts.sql"
COUNTED = """SELECT (SELECT count(*) FROM {schema}.accounts),
    (SELECT count(*) FROM pg_partition_tree('{schema}.accounts') WHERE isleaf)"""


class Accounts:
    """Plain tables of pgbench's accounts: `bare`, and `keyed` with a primary key."""

    def __init__(self, site: Site, rows: int, *names: str) -> None:
        self.site, self.rows = site, rows
        self.home = site.create()
        self.work = site.create()
        for name in names:
            variables = {"name": name, "rows": rows, "key": int(name == "keyed")}
            site.script(EXPERIMENT / "plain.sql", self.home, variables)

    def lend(self, name: str) -> None:
        """Move a plain table to the working schema, under the name `accounts`."""
        self.site.execute(f"ALTER TABLE {self.home}.{name} SET SCHEMA {self.work}")
        self.site.execute(f"ALTER TABLE {self.work}.{name} RENAME TO accounts")

    def take_back(self, name: str) -> None:
        """Move the plain table back after pgsluice has renamed it."""
        self.site.execute(f"ALTER TABLE {self.work}.accounts_old RENAME TO {name}")
        self.site.execute(f"ALTER TABLE {self.work}.{name} SET SCHEMA {self.home}")
        if name == "keyed":
            old = f"{self.home}.keyed_pkey_old"
            self.site.execute(f"ALTER INDEX {old} RENAME TO keyed_pkey")

    def make_tree(self, leaves: int, key: bool) -> None:
        """Create an empty partitioned table in the working schema."""
        self.site.script(TREE, self.work, {"leaves": leaves, "key": int(key)})

    def check(self, leaves: int) -> None:
        """Fail if rows or leaves are missing in the partitioned table."""
        [[rows, found]] = self.site.query(COUNTED.format(schema=self.work))
        if (int(rows), int(found)) != (self.rows, leaves):
            raise LabError(
                f"accounts has {rows} rows in {found} leaves, not {self.rows} in {leaves}"
            )

    def drop(self) -> None:
        """Drop both schemas."""
        for schema in (self.work, self.home):
            self.site.drop(schema)
