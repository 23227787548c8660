"""Figures of benchmarks, each read from a record by a function; None if it was not measured."""

from collections.abc import Callable

from bench import delays
from bench.move.record import Move
from bench.move.ways import OURS
from bench.network import SOCKET
from bench.record import Record
from bench.rounds import Rounds

Figure = Callable[[Record | Move | Rounds], float | None]

OTHERS = ("python-adbc", "python-polars", "python-psycopg", "python-pandas")


def faster(engine: str, than: str) -> Figure:
    """Return a figure: how many times as fast an engine is as another."""
    return lambda record: record.faster(engine, than)


def at(engine: str, than: str, **point: object) -> Figure:
    """Return a figure: how many times as fast an engine is at a single point."""

    def figure(record: Record) -> float | None:
        ours, theirs = (record.median("seconds", each, point) for each in (engine, than))
        return None if ours is None or theirs is None else round(theirs / ours, 2)

    return figure


def more_leaves(record: Record) -> float | None:
    """Return the time of pgsluice with many leaves as a multiple of its time with few."""
    few, many = (record.median("seconds", "pgsluice", {"leaves": n}) for n in record.leaves)
    return None if few is None or many is None else round(many / few, 2)


def unasked(record: Record) -> float | None:
    """Return the multiple of a plain load's time for a load that expects rows, but meets none."""
    ours = record.median("seconds", "pgsluice-skip", {"share": 0})
    plain = record.median("seconds", "pgsluice")
    return None if ours is None or plain is None else round(ours / plain, 2)


def far(engine: str) -> Figure:
    """Return a figure: a load's time over a network as a multiple of the loopback's, at most."""
    return lambda record: delays.slowest(record, engine)


def by_socket(figure: Figure) -> Figure:
    """Return the figure for records of programs that connect by a socket, and None for others."""
    return lambda record: figure(record) if record.head.parameters.get(SOCKET) else None


def in_memory(engine: str, than: str, case: str) -> Figure:
    """Return a figure: the time of an engine as a multiple of another's, in one case."""
    return lambda record: record.within(case).faster(than, engine)


def as_best(record: Record) -> float | None:
    """Return how many times as fast pgsluice loads a table from Python as the best other way."""
    hash800 = record.within("hash")
    times = [hash800.faster("python-load", each) for each in OTHERS]
    return None if None in times else min(times)


def beside(record: Record) -> float | None:
    """Return the peak memory of a load from Python without its table, in MiB."""
    return record.peak("python-load") if record.loads_of("python-load") else None


def beyond_memory(record: Record) -> float | None:
    """Return by how many MiB the largest load of pgsluice exceeds its `--memory`, at least 0."""
    memory = record.head.parameters.get("memory")
    loads = [load for load in record.loads if load.done and load.engine.startswith("pgsluice")]
    if memory is None or not loads:
        return None
    return max(0, max(load.client_peak_mib for load in loads) - memory)


def move_peak(record: Record | Move) -> float | None:
    """Return the peak memory of pgsluice in all moves, in MiB."""
    return record.peak(*OURS) if isinstance(record, Move) else None


def longest_wait(record: Record | Move) -> float | None:
    """Return the milliseconds of the longest wait of a writer in a swap."""
    return record.waited_ms if isinstance(record, Move) else None


def pace(record: Record) -> float | None:
    """Return the megabytes that one thread handles in a second of processor time."""
    seconds = record.median("client_cpu_seconds", "pgsluice-null")
    return None if seconds is None else round(record.bytes / 1e6 / seconds)


def share_read(way: str) -> Figure:
    """Return a figure: the bytes of an object 20 ms away that were read, as a share of its size."""

    def figure(record: Record | Move | Rounds) -> float | None:
        if not isinstance(record, Rounds):
            return None
        size, read = record.parameters.get(f"{way} bytes"), record.bytes_read(f"{way}-20")
        return None if size is None or read is None else round(read / size, 2)

    return figure
