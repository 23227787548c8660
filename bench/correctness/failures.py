"""Loads of a larger file that fail, or that are run again."""

from collections.abc import Callable

from bench.correctness.case import Case, ranged

# About 20 MB: pgsluice loads a file of more than 8 MiB in several transactions.
ROWS = 200_000
NOTE = "x" * 90
TABLE = ranged("id bigint, note text", "id", 1, ROWS // 2, ROWS + 1)


def many(*, is_bad: bool = False) -> Callable[[], bytes]:
    """Return the maker of many rows. If `is_bad`, no partition accepts the last one."""

    def made() -> bytes:
        last = 0 if is_bad else ROWS
        rows = (f"{each},{NOTE}\n" for each in (*range(1, ROWS), last))
        return ("id,note\n" + "".join(rows)).encode()

    return made


CASES = [
    Case(
        "last",
        f"{ROWS:,} rows, and no partition takes the last one, to be refused",
        TABLE,
        "csv",
        many(is_bad=True),
        ("id", "note"),
        is_refused=True,
        times=1,
    ),
    Case(
        "atomic",
        "The same rows, pgsluice with `--atomic`, to be refused",
        TABLE,
        "csv",
        many(is_bad=True),
        ("id", "note"),
        is_refused=True,
        times=1,
        atomic=True,
    ),
    Case(
        "killed",
        f"{ROWS:,} rows, killed before the end and run again",
        TABLE,
        "csv",
        many(),
        ("id", "note"),
        times=1,
        runs="killed",
    ),
    Case(
        "again",
        "A finished load that is run again because its result was lost; no unique key",
        ranged("id bigint, note text", "id", 0, 100, 200),
        "csv",
        lambda: b"id,note\n1,a\n101,b\n2,c\n",
        ("id", "note"),
        runs="twice",
    ),
]
