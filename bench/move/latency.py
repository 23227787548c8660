"""The latency of the writers' transactions, by the phase of the move in which they began."""

from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable
from typing import NamedTuple

from pgsluice_lab.writers.latency import Transaction, quantile

from bench.move.record import Phase


class Window(NamedTuple):
    """A time span that belongs to one phase."""

    phase: str
    begins: float
    ends: float


def by_phase(windows: list[Window], all_of: Iterable[Transaction]) -> list[Phase]:
    """Return the figures of each phase. The windows follow each other; a phase may have several.

    A transaction that waits for a lock belongs to the phase in which it began to wait. A
    transaction outside all windows is ignored.
    """
    begins = [window.begins for window in windows]
    # Arrays, because there may be millions of transactions.
    spent = {window.phase: array("d") for window in windows}
    failed = dict.fromkeys(spent, 0)
    for each in all_of:
        place = bisect_right(begins, each.began) - 1
        if place < 0 or each.began >= windows[place].ends:
            continue
        phase = windows[place].phase
        if each.failed:
            failed[phase] += 1
        else:
            spent[phase].append(each.milliseconds)
    lengths = dict.fromkeys(spent, 0.0)
    for window in windows:
        lengths[window.phase] += window.ends - window.begins
    return [figures(phase, lengths[phase], spent[phase], failed[phase]) for phase in spent]


def figures(phase: str, seconds: float, times: Collection[float], failed: int) -> Phase:
    """Return the figures of one phase. The latencies are 0 if no transaction began in it."""
    ranked = sorted(times) or [0.0]
    return Phase(
        phase,
        seconds=round(seconds, 3),
        transactions=len(times),
        failed=failed,
        p50_ms=round(quantile(ranked, 0.5), 3),
        p99_ms=round(quantile(ranked, 0.99), 3),
        longest_ms=round(ranked[-1], 3),
    )
