"""Ways to load a table that a Python program has in memory, a file each, and what they share.

A way is a module with `VERSION`, `ready(table)`, which gives what its library loads, and
`load(data, target)`, which loads it and may return figures. Only the latter is metered.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """Where rows go to, and with what."""

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
