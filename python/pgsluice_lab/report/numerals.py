"""Numbers for people: with a unit, and with the digits that matter."""

from collections.abc import Callable

MIB = 1024 * 1024


def digits(value: float, significant: int = 3) -> str:
    """Return a number with that many digits, in full and with commas: 1.24, 12.4, 831,000."""
    rounded = float(f"{value:.{significant}g}")
    size = abs(rounded)
    decimals = 0 if size >= 10 ** (significant - 1) else significant - 1
    while decimals and size >= 10 ** (significant - decimals):
        decimals -= 1
    if 0 < size < 0.01:
        return f"{rounded:.{significant}g}"
    return f"{rounded:,.{decimals + (0 < size < 1)}f}" if rounded else "0"


def plain(value: float) -> str:
    """Return a number of any size; whole numbers in full."""
    whole = isinstance(value, int) or float(value).is_integer()
    return f"{int(value):,}" if whole else digits(value)


def times(ratio: float) -> str:
    """Return a ratio for "1.82 times": near to one, two decimal places matter."""
    return f"{ratio:.2f}" if 0.1 <= ratio < 1.995 else digits(ratio, 2)


# `plain` shows whole numbers in full, for counts. `digits` is for measured values.
SPECS: dict[str, Callable[[float], str]] = {
    "plain": plain,
    "digits": digits,
    "fast": lambda ratio: f"{times(ratio)} times as fast",
    "large": lambda ratio: f"{times(ratio)} times as large",
    "much": lambda ratio: f"{times(ratio)} times as much processor time",
    "s": lambda value: f"{digits(value)} s",
    "ms": lambda value: f"{digits(value)} ms",
    "mib": lambda value: f"{digits(value / MIB)} MiB",
    "rate": lambda value: f"{digits(value)} rows/s",
}
# The format and title of each figure of a measurement; others are plain numbers.
FIGURES = {
    "seconds": ("Time", "s"),
    "rows_per_second": ("Rows a second", "digits"),
    "client_cpu_seconds": ("CPU, client", "s"),
    "server_cpu_seconds": ("CPU, server", "s"),
    "wal_bytes": ("WAL", "mib"),
    "table_bytes": ("Tables", "mib"),
    "index_bytes": ("Indexes", "mib"),
    "tps": ("Transactions a second", "digits"),
    "latency_ms": ("Latency", "ms"),
    "p50_ms": ("Median latency", "ms"),
    "p99_ms": ("99th percentile", "ms"),
    "longest_ms": ("Longest latency", "ms"),
    "first_row_seconds": ("First row after", "s"),
}


def shown(value: float, spec: str) -> str:
    """Return a number in the format of that name; ValueError if it is unknown."""
    if spec not in SPECS:
        raise ValueError(f"there is no way {spec!r} to show a number; there are {', '.join(SPECS)}")
    return SPECS[spec](value)


def title_of(figure: str) -> str:
    known = FIGURES.get(figure)
    return known[0] if known else figure.replace("_", " ").capitalize()


def spec_of(figure: str) -> str:
    return FIGURES.get(figure, ("", "digits"))[1]
