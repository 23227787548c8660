"""The latency of transactions in pgbench's log, by the phase of the move in which they began."""

from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from bench.move.record import Phase

FAILED = "failed"


class Transaction(NamedTuple):
    """A transaction of a writer. Times are seconds of the clock; a failed one has no beginning."""

    began: float
    ended: float
    failed: bool = False

    @property
    def milliseconds(self) -> float:
        return 1000 * (self.ended - self.began)


class Window(NamedTuple):
    """A span of time that belongs to one phase."""

    phase: str
    begins: float
    ends: float


def transactions(files: Iterable[Path]) -> Iterator[Transaction]:
    """Read the log of pgbench: `client number microseconds script seconds microseconds`."""
    for file in files:
        with file.open() as lines:
            for line in lines:
                _, _, latency, _, seconds, part = line.split()[:6]
                ended = int(seconds) + int(part) / 1e6
                if latency == FAILED:
                    yield Transaction(ended, ended, failed=True)
                else:
                    yield Transaction(ended - int(latency) / 1e6, ended)


def by_phase(windows: list[Window], all_of: Iterable[Transaction]) -> list[Phase]:
    """Return the figures of each phase. The windows follow each other; a phase may have several.

    A transaction that waits for a lock belongs to the phase in which it began to wait. One outside
    of all windows is left out.
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


def quantile(ranked: list[float], share: float) -> float:
    return ranked[int(share * (len(ranked) - 1))]


def longest(all_of: Iterable[Transaction]) -> float:
    """Return the milliseconds of the longest transaction, or 0."""
    return round(max((each.milliseconds for each in all_of), default=0.0), 3)


def ran(all_of: Iterable[Transaction], begins: float, ends: float) -> Iterator[Transaction]:
    """Yield the transactions that ran within this time, also if they began or ended outside."""
    return (each for each in all_of if each.ended >= begins and each.began <= ends)


def ended(all_of: Iterable[Transaction], begins: float, ends: float) -> Iterator[Transaction]:
    """Yield the transactions that ended within this time."""
    return (each for each in all_of if begins <= each.ended <= ends)
