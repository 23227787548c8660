"""Numbers as people read them: with a unit, and with the digits that mean something."""

from collections.abc import Callable

MIB = 1024 * 1024
# Ratios this near to one are called equal.
EQUAL = 0.03


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
    """Return a number of any size; whole ones in full."""
    whole = isinstance(value, int) or float(value).is_integer()
    return f"{int(value):,}" if whole else digits(value)


def percent(ratio: float) -> str:
    """Return how much more or less than one a ratio is: 2.4 is +140 %."""
    change = round((ratio - 1) * 100)
    return f"{change:+,} %".replace("-", "\N{MINUS SIGN}") if change else "0 %"


def times(ratio: float) -> str:
    """Return a ratio as the number in "2.4 times"."""
    return digits(ratio, 2)


def compared(ratio: float, equal: str, multiple: str, above: str, below: str) -> str:
    """Return a ratio in words: a multiple from 2 on, otherwise in percent."""
    if abs(ratio - 1) <= EQUAL:
        return equal
    if ratio >= 2:
        return f"{times(ratio)} times {multiple}"
    return f"{abs(ratio - 1) * 100:.0f} % {above if ratio > 1 else below}"


def longer(ratio: float) -> str:
    return compared(ratio, "as long as", "as long as", "longer than", "less time than")


def long(ratio: float) -> str:
    """Return a ratio of times as the end of a sentence."""
    return compared(ratio, "as long", "as long", "longer", "less time")


def many(ratio: float) -> str:
    """Return a ratio of things that are counted, which are named next."""
    return compared(ratio, "as many", "as many", "more", "fewer")


def more(ratio: float) -> str:
    return compared(ratio, "as much as", "as much as", "more than", "less than")


def faster(ratio: float) -> str:
    return compared(ratio, "as fast as", "as fast as", "faster than", "slower than")


# `plain` has whole numbers in full: counts. `digits` is for what was measured.
SPECS: dict[str, Callable[[float], str]] = {
    "plain": plain,
    "digits": digits,
    "percent": percent,
    "times": times,
    "longer": longer,
    "long": long,
    "more": more,
    "many": many,
    "faster": faster,
    "s": lambda value: f"{digits(value)} s",
    "ms": lambda value: f"{digits(value)} ms",
    "mib": lambda value: f"{digits(value / MIB)} MiB",
    "rate": lambda value: f"{digits(value)} rows/s",
}
# How each figure of a measurement is shown, and what it is called; others are plain numbers.
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
    "first_row_seconds": ("First row after", "s"),
}


def shown(value: float, spec: str) -> str:
    """Return a number in the way of that name; ValueError if there is none."""
    if spec not in SPECS:
        raise ValueError(f"there is no way {spec!r} to show a number; there are {', '.join(SPECS)}")
    return SPECS[spec](value)


def title_of(figure: str) -> str:
    known = FIGURES.get(figure)
    return known[0] if known else figure.replace("_", " ").capitalize()


def spec_of(figure: str) -> str:
    return FIGURES.get(figure, ("", "digits"))[1]
