"""Sizes, times and ratios in the words of the advice."""

from pgsluice_lab.report.numerals import digits, times

GIB, MIB, KIB = 1 << 30, 1 << 20, 1 << 10
# Ratios nearer to one are within the difference of the rounds.
NOTICED = 1.1


def short(seconds: float | None) -> str:
    """Return the time of a load."""
    if seconds is None:
        return "not measured"
    return f"{digits(seconds)} s" if seconds >= 1 else f"{digits(1000 * seconds)} ms"


def duration(seconds: float) -> str:
    """Return an estimated time, in a suitable unit."""
    for unit, name in ((86_400, "days"), (3_600, "hours"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{digits(seconds / unit, 2)} {name}"
    return f"{digits(seconds, 2)} s"


def amount(size: float, significant: int = 3) -> str:
    """Return bytes in a suitable unit."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{digits(size / unit, significant)} {name}"
    return f"{size:.0f} bytes"


def faster(ratio: float) -> str:
    alike = 1 / NOTICED < ratio < NOTICED
    return "as fast as" if alike else f"{times(ratio)} times as fast as"


def over(jobs: int, limit: str = "") -> str:
    return f" over {limit}{jobs} connections" if jobs > 1 else ""
