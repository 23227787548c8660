"""The transactions of writers from pgbench's log, and their latency."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

FAILED = "failed"


class Transaction(NamedTuple):
    """A transaction of a writer. Times are seconds of the clock.

    It begins when it is due, if writers have a rate: a waiting writer also delays its next
    transaction. A failed transaction has no beginning. `script` is the number of its script.
    """

    began: float
    ended: float
    failed: bool = False
    script: int = 0

    @property
    def milliseconds(self) -> float:
        return 1000 * (self.ended - self.began)


def transactions(files: Iterable[Path]) -> Iterator[Transaction]:
    """Read the log of pgbench: `client number microseconds script seconds microseconds`."""
    for file in files:
        with file.open() as lines:
            for line in lines:
                _, _, latency, script, seconds, part = line.split()[:6]
                ended = int(seconds) + int(part) / 1e6
                if latency == FAILED:
                    yield Transaction(ended, ended, failed=True, script=int(script))
                else:
                    yield Transaction(ended - int(latency) / 1e6, ended, script=int(script))


def began(all_of: Iterable[Transaction], begins: float, ends: float) -> Iterator[Transaction]:
    """Yield the transactions that began within this time."""
    return (each for each in all_of if begins <= each.began < ends)


def ended(all_of: Iterable[Transaction], begins: float, ends: float) -> Iterator[Transaction]:
    """Yield the transactions that ended within this time."""
    return (each for each in all_of if begins <= each.ended <= ends)


def ran(all_of: Iterable[Transaction], begins: float, ends: float) -> Iterator[Transaction]:
    """Yield the transactions that ran within this time, even if they began or ended outside."""
    return (each for each in all_of if each.ended >= begins and each.began <= ends)


def longest(all_of: Iterable[Transaction]) -> float:
    """Return the milliseconds of the longest transaction, or 0."""
    return round(max((each.milliseconds for each in all_of), default=0.0), 3)


def quantile(ranked: Sequence[float], share: float) -> float:
    return ranked[int(share * (len(ranked) - 1))]
