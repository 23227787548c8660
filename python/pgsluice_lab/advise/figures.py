"""The measurements: loads, their medians, and ratios of these."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

# The cases, and the engines that the advice names.
TREE, PLAIN, BARE = "tree", "plain", "bare"
COPY, OURS, EXCHANGE, INSERT = "psql", "pgsluice", "pgsluice-exchange", "psycopg-values"


@dataclass(frozen=True)
class Way:
    """A way to load: a case, an engine, and the connections, or the rows per statement.

    `rows` is the number of first rows to load, 0 for all of them.
    """

    case: str
    engine: str
    jobs: int = 1
    batch: int = 0
    rows: int = 0


@dataclass(frozen=True)
class Load:
    way: Way
    round: int
    seconds: float | None = None
    rows_per_second: float | None = None
    wal_bytes: int | None = None
    reason: str = ""  # the reason for missing figures


@dataclass(frozen=True)
class Figures:
    """All loads, and the locks of one transaction that wrote all rows into the root."""

    loads: list[Load]
    locks: int | None = None
    locked: int = 0  # leaves that received rows

    def loads_of(self, way: Way) -> list[Load]:
        return [load for load in self.loads if load.way == way and load.seconds is not None]

    def middle(self, way: Way, figure: str = "seconds") -> float | None:
        """Return the median of a figure; None if no load has it."""
        values = [getattr(load, figure) for load in self.loads_of(way)]
        known = [value for value in values if value is not None]
        return median(known) if known else None

    def ratio(self, way: Way, over: Way) -> float | None:
        """Return the ratio of the times of two ways, as a reader divides the figures shown."""
        seconds, others = self.middle(way), self.middle(over)
        return seconds / others if seconds and others else None

    @property
    def unrest(self) -> float:
        """Return the factor between the rounds of a way, as the median of all ways."""
        times = [
            [load.seconds for load in self.loads_of(way)]
            for way in {load.way for load in self.loads}
        ]
        spreads = [max(each) / min(each) for each in times if each]
        return median(spreads) if spreads else 1

    def ways(self, case: str, engine: str, rows: int = 0) -> Iterator[Way]:
        """Yield the ways of an engine that were measured with `rows` rows, in their order."""
        for way in dict.fromkeys(load.way for load in self.loads):
            if (way.case, way.engine, way.rows) == (case, engine, rows) and self.loads_of(way):
                yield way

    def fastest(self, case: str, engine: str, rows: int = 0) -> Way | None:
        """Return the way of an engine with the most rows per second."""
        ways = list(self.ways(case, engine, rows))
        return max(ways, key=lambda way: self.middle(way, "rows_per_second")) if ways else None

    @property
    def fewer(self) -> int:
        """Return the smaller number of rows in the measurement; 0 if there was only one."""
        return max((load.way.rows for load in self.loads), default=0)

    def reason(self, case: str, engine: str) -> str:
        """Return the reason why an engine has no figures, if known."""
        texts = (
            load.reason for load in self.loads if (load.way.case, load.way.engine) == (case, engine)
        )
        return next(filter(None, texts), "")
