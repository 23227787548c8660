"""The rows that experiments load: created once, always the same, and kept in a cache.

The arguments of a function are the parameters of an experiment that determine its rows. The cache
is the folder in PGSLUICE_LAB_CACHE, by default ~/.cache/pgsluice-lab.
"""

import hashlib
import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from pathlib import Path

from pgsluice_lab import texts

ROWS_A_BRANCH = 100_000
# Fewer transactions would be too short to time.
LEAST = 10
# A prime, the distance between consecutive numbers.
SCATTER = 7919
# Our own memory counts in the figures of the clients that we start, so nothing is held as a whole.
ROWS_A_WRITE = 5_000


@dataclass(frozen=True)
class Rows:
    """A file of rows, their number, and the options of COPY and pgsluice for its format."""

    file: Path
    count: int
    copy: str = ""
    load: tuple[str, ...] = ("--format", "text")
    columns: str = ""  # the columns of the file, in its order: a, b; "" for all

    @property
    def bytes(self) -> int:
        return self.file.stat().st_size


def accounts(rows: int, step: int = 0) -> Rows:
    """Return pgbench_accounts as COPY text, with the contents of `pgbench -i`.

    With a step, the balances are not 0, but this far apart, modulo the number of rows.
    """
    name = f"accounts-{rows}-{step}.txt" if step else f"accounts-{rows}.txt"
    lines = (account(aid, rows, step) for aid in range(1, rows + 1))
    return Rows(cache(name, lines), rows)


def account(aid: int, rows: int, step: int = 0) -> str:
    """Return one of the lines of `accounts`."""
    return f"{aid}\t{(aid - 1) // ROWS_A_BRANCH + 1}\t{aid * step % rows}\t{'':84}\n"


def uuids(rows: int, seed: int = 1) -> Rows:
    """Return random uuids of version 4 as COPY text, different for each seed."""
    return Rows(cache(f"uuids-{rows}-{seed}.txt", random_uuids(rows, seed)), rows)


def ordered_uuids(rows: int, seed: int = 1) -> Rows:
    """Return the same uuids in ascending order."""

    def lines() -> Iterator[str]:
        yield from sorted(random_uuids(rows, seed))

    return Rows(cache(f"uuids-{rows}-{seed}-ordered.txt", lines()), rows)


def random_uuids(rows: int, seed: int) -> Iterator[str]:
    chance = random.Random(seed)
    for first in range(0, rows, ROWS_A_WRITE):
        digits = chance.randbytes(16 * min(ROWS_A_WRITE, rows - first)).hex()
        for at in range(0, len(digits), 32):
            yield uuid(digits[at : at + 32])


def uuid(digits: str) -> str:
    """Return a line with the uuid of version 4 that these 32 digits make."""
    variant = "89ab"[int(digits[16], 16) % 4]
    middle = f"{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}"
    return f"{digits[:8]}-{middle}-{digits[20:]}\n"


def event_ids(ids: int) -> Rows:
    """Return the uuids of `md5(n::text)::uuid` in SQL, from 1 on."""

    def line(number: int) -> str:
        digits = hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}\n"

    return Rows(cache(f"event-ids-{ids}.txt", map(line, range(1, ids + 1))), ids)


def plans(rows: int, order: str) -> Rows:
    """Return execution plans with their ids: in `random` order, `ordered`, or a `subset`.

    The subset is the rows of one partition, in random order.
    """
    ids = texts.plan_ids(rows)
    if order == "subset":
        ids = [each for each in ids if each.startswith(texts.SUBSET)]
    elif order == "ordered":
        ids.sort()
    elif order != "random":
        raise ValueError(f"plans have no order {order!r}")
    return Rows(cache(f"plans-{rows}-{order}.txt", map(texts.plan, ids)), len(ids))


def pairs(rows: int, most: int) -> Rows:
    """Return rows of two random numbers from 1 to `most`."""
    chance = random.Random(1)

    def line(_: int) -> str:
        return f"{chance.randint(1, most)}\t{chance.randint(1, most)}\n"

    return Rows(cache(f"pairs-{rows}-{most}.txt", map(line, range(rows))), rows)


def changed_pairs(changes: int, most: int) -> Rows:
    """Return rows of two numbers and a 1, in no order; no two rows have the same numbers.

    The first numbers are 1 and up, and the second one is `b % most + 1` in SQL.
    """

    def line(number: int) -> str:
        b = number * SCATTER % changes + 1
        return f"{b}\t{b % most + 1}\t1\n"

    return Rows(cache(f"changed-pairs-{changes}-{most}.txt", map(line, range(changes))), changes)


def copytest(batch: int, transactions: int, most: int) -> Rows:
    """Return rows of `copytest` for the transactions: at most `most`, but enough for ten."""
    return blocks(max(batch * LEAST, min(batch * transactions, most)), batch)


def copytest_whole(rows: int) -> Rows:
    """Return rows of `copytest` for a single transaction."""
    return blocks(rows, rows)


def blocks(count: int, size: int) -> Rows:
    """Return rows of `copytest` in blocks of this size."""
    lines = (f"name {num}\t1\t{num // size}\t{num}\n" for num in range(count))
    file = cache(f"copytest-{count}-{size}.txt", lines)
    load = ("--format", "text", "--columns", "name,thread,block,num")
    return Rows(file, count, load=load, columns="name, thread, block, num")


def orders(rows: int) -> Rows:
    """Return orders of two years: wide rows of many types, like those of applications."""
    chance = random.Random(1)
    lines = (texts.order(number, rows, chance) for number in range(1, rows + 1))
    return Rows(cache(f"orders-{rows}.txt", lines), rows)


INPUTS = (
    accounts,
    changed_pairs,
    copytest,
    copytest_whole,
    event_ids,
    ordered_uuids,
    orders,
    pairs,
    plans,
    uuids,
)
BY_NAME = {each.__name__: each for each in INPUTS}


def given(
    name: str, parameters: Mapping[str, object], known: Mapping[str, Callable[..., Rows]] = BY_NAME
) -> Rows:
    """Return the rows of the function of this name, called with the parameters that it accepts."""
    if name not in known:
        raise ValueError(f"there is no input {name!r}; there are {', '.join(known)}")
    taken = signature(known[name]).parameters
    return known[name](**{each: parameters[each] for each in taken if each in parameters})


def cache(name: str, lines: Iterable[str]) -> Path:
    """Write these lines to the cache if it lacks a file of this name, and return the file."""
    return prepare(name, partial(write, lines=lines))


def prepare(name: str, make: Callable[[Path], None], place: Path | None = None) -> Path:
    """Create a file in the cache if it lacks one of this name, and return it."""
    file = (place or cache_folder()) / name
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(f".{os.getpid()}")
        try:
            make(unfinished)
            unfinished.rename(file)
        finally:
            unfinished.unlink(missing_ok=True)
    return file


def cache_folder() -> Path:
    """Return the folder of the cache."""
    named = os.environ.get("PGSLUICE_LAB_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "pgsluice-lab"


def write(file: Path, lines: Iterable[str]) -> None:
    with file.open("w", encoding="ascii", buffering=1 << 20) as out:
        out.writelines(lines)
