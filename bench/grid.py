"""The grid of small loads: pgsluice's time by psql's, for each size, table and connections."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import geometric_mean

from bench.record import Record

ENGINES = ("pgsluice-one", "pgsluice")


@dataclass(frozen=True)
class Cell:
    """A load of the grid: how many times psql's time an engine takes."""

    rows: int
    leaves: int
    key: int
    engine: str
    ratio: float


def cells(record: Record) -> Iterator[Cell]:
    """Yield the cells of a record that were measured."""
    points = [point for engine, point in record.ways if engine == "psql" and "key" in point]
    for point in points:
        psql = record.median("seconds", "psql", point)
        for engine in ENGINES:
            if ours := record.median("seconds", engine, point):
                yield Cell(**point, engine=engine, ratio=ours / psql)


def mean(record: Record) -> float | None:
    """Return the geometric mean of all cells."""
    ratios = [cell.ratio for cell in cells(record)]
    return round(geometric_mean(ratios), 2) if ratios else None


def worst(record: Record) -> Cell | None:
    """Return the cell in which we are slowest."""
    return max(cells(record), key=lambda cell: cell.ratio, default=None)


def most(record: Record) -> float | None:
    """Return the ratio of the worst cell."""
    cell = worst(record)
    return round(cell.ratio, 2) if cell else None
