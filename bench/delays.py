"""The cost of a network's round trips: how much longer a load takes, and how many it waits for."""

from bench.network import DELAY, DIRECT
from bench.record import Record

NO_DELAY = "0"


def delays(record: Record) -> list[str]:
    """Return the measured round trips in milliseconds, the shortest first."""
    given = set(record.values(DELAY)) - {DIRECT, NO_DELAY}
    return sorted(given, key=float)


def growth(record: Record, engine: str, rows: int, delay: str) -> float | None:
    """Return the time of a load as a multiple of its time on the loopback."""
    far, near = (
        record.median("seconds", engine, {"rows": rows, DELAY: each}) for each in (delay, DIRECT)
    )
    return None if far is None or near is None else round(far / near, 2)


def slowest(record: Record, engine: str) -> float | None:
    """Return the largest multiple of the loopback's time that the largest load takes."""
    rows = max(record.values("rows"), default=0)
    grown = [growth(record, engine, rows, delay) for delay in delays(record)]
    return None if None in grown else max(grown, default=None)


def round_trips(record: Record, engine: str, rows: int, delay: str) -> float | None:
    """Return the round trips that a load waits for: its additional time, divided by one of them."""
    far, near = (
        record.median("seconds", engine, {"rows": rows, DELAY: each}) for each in (delay, NO_DELAY)
    )
    if far is None or near is None:
        return None
    return round(1000 * (far - near) / float(delay), 1)


def more_round_trips(record: Record) -> float | None:
    """Return how many more round trips than psql we need, in the worst of the small loads.

    This uses the longest delay: a short one is lost in the noise.
    """
    longest = delays(record)[-1:]
    pairs = [
        [round_trips(record, engine, rows, delay) for engine in ("pgsluice", "psql")]
        for rows in record.values("rows")
        for delay in longest
    ]
    known = [ours - theirs for ours, theirs in pairs if ours is not None and theirs is not None]
    return round(max(known), 1) if known else None
