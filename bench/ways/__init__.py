"""Ways to load a table in the memory of a Python program, one file each, and their common parts.

A way is a module with `VERSION`, with `ready(table)`, which converts the table for its library, and
with `load(data, target)`, which loads it and may return figures. Only `load` is measured.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """The target of the rows, and the settings of the load."""

    table: str
    url: str
    jobs: int
    memory: int

    @property
    def schema(self) -> str | None:
        return self.table.rpartition(".")[0] or None

    @property
    def name(self) -> str:
        return self.table.rpartition(".")[2]
