"""What a network's round trips cost: how much longer a load takes, and for how many it waits."""

from bench.network import DELAY, DIRECT
from bench.record import Record

NO_DELAY = "0"


def delays(record: Record) -> list[str]:
    """Return the round trips in milliseconds that were measured, the shortest first."""
    given = set(record.values(DELAY)) - {DIRECT, NO_DELAY}
    return sorted(given, key=float)


def growth(record: Record, engine: str, rows: int, delay: str) -> float | None:
    """Return how many times as long as on the loopback a load takes."""
    far, near = (
        record.median("seconds", engine, {"rows": rows, DELAY: each}) for each in (delay, DIRECT)
    )
    return None if far is None or near is None else round(far / near, 2)


def slowest(record: Record, engine: str) -> float | None:
    """Return the most that the largest load takes, as times of what it takes on the loopback."""
    rows = max(record.values("rows"), default=0)
    grown = [growth(record, engine, rows, delay) for delay in delays(record)]
    return None if None in grown else max(grown, default=None)


def round_trips(record: Record, engine: str, rows: int, delay: str) -> float | None:
    """Return for how many round trips a load waits: what they add to its time, by one of them."""
    far, near = (
        record.median("seconds", engine, {"rows": rows, DELAY: each}) for each in (delay, NO_DELAY)
    )
    if far is None or near is None:
        return None
    return round(1000 * (far - near) / float(delay), 1)


def more_round_trips(record: Record) -> float | None:
    """Return how many more than psql we need, for the worst of the small loads.

    By the longest delay: at a short one they are lost in the noise.
    """
    longest = delays(record)[-1:]
    pairs = [
        [round_trips(record, engine, rows, delay) for engine in ("pgsluice", "psql")]
        for rows in record.values("rows")
        for delay in longest
    ]
    known = [ours - theirs for ours, theirs in pairs if ours is not None and theirs is not None]
    return round(max(known), 1) if known else None
