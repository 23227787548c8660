"""The grid of small loads: pgsluice's time relative to psql's, by size, table and connections."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import geometric_mean

from bench.record import Record

ENGINES = ("pgsluice-one", "pgsluice")
# Loads of fewer rows take milliseconds, mostly for starting and connecting.
LARGE_FROM = 10_000


@dataclass(frozen=True)
class Cell:
    """A load of the grid: the time of an engine as a multiple of psql's."""

    rows: int
    leaves: int
    key: int
    engine: str
    ratio: float
    longer: float
    """The seconds that it takes longer."""


def cells(record: Record) -> Iterator[Cell]:
    """Yield the measured cells of a record."""
    points = [point for engine, point in record.ways if engine == "psql" and "key" in point]
    for point in points:
        psql = record.median("seconds", "psql", point)
        for engine in ENGINES:
            if ours := record.median("seconds", engine, point):
                yield Cell(**point, engine=engine, ratio=ours / psql, longer=ours - psql)


def larger(record: Record) -> list[Cell]:
    """Return the cells of loads that take long enough for a ratio."""
    return [cell for cell in cells(record) if cell.rows >= LARGE_FROM]


def mean(record: Record) -> float | None:
    """Return the geometric mean of the larger loads."""
    ratios = [cell.ratio for cell in larger(record)]
    return round(geometric_mean(ratios), 2) if ratios else None


def worst(record: Record) -> Cell | None:
    """Return the cell of the larger loads in which we are the slowest."""
    return max(larger(record), key=lambda cell: cell.ratio, default=None)


def most(record: Record) -> float | None:
    """Return the ratio of the worst cell."""
    cell = worst(record)
    return round(cell.ratio, 2) if cell else None


def later(record: Record) -> float | None:
    """Return the largest number of milliseconds by which a smaller load is slower than psql."""
    times = [1000 * cell.longer for cell in cells(record) if cell.rows < LARGE_FROM]
    return round(max(times), 1) if times else None
