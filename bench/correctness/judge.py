"""The verdict on a tool: the rows that it stored, compared with the expected rows."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["right", "wrong", "refused", "partly", "n/a"]
Value = str | None
Row = tuple[Value, ...]
"""The leaf, the key, and the other values, as the server spells them."""

# The most differences that a note names.
NAMED = 3
# The most characters of a value in a note.
LONGEST = 44


@dataclass(frozen=True)
class Stored:
    """The rows and the error of a tool."""

    rows: list[Row]
    failed: bool
    output: str = ""
    """Its error."""


def judge(
    names: tuple[str, ...], stored: Stored, expected: list[Row] | None
) -> tuple[Verdict, str]:
    """Return the verdict, and a note on unexpected or different rows.

    `names` are the names of the key and of the other values. `expected` is None if the input should
    be rejected.
    """
    if expected is not None and Counter(stored.rows) == Counter(expected):
        return "right", ""
    if stored.failed:
        if not stored.rows:
            return "refused", ""
        return "partly", f"an error, and {amount(stored.rows)} in the table"
    if expected is None:
        return "wrong", f"no error, and {amount(stored.rows)} in the table"
    return "wrong", difference(names, stored.rows, expected)


def amount(rows: list[Row]) -> str:
    return f"{len(rows):,} row{'' if len(rows) == 1 else 's'}"


def difference(names: tuple[str, ...], rows: list[Row], expected: list[Row]) -> str:
    """Describe how rows differ from the expected ones."""
    if len(rows) != len(expected):
        return f"{amount(rows)} in the table, not {len(expected):,}"
    by_key, wanted = keyed(rows), keyed(expected)
    if by_key.keys() != wanted.keys():
        found, lost = (by_key.keys() - wanted.keys()), (wanted.keys() - by_key.keys())
        return f"{names[0]} {listed(found)}, not {listed(lost)}"
    keys = sorted(wanted, key=lambda key: (len(key or ""), key or ""))
    pairs = [pair for key in keys for pair in differing(by_key[key], wanted[key])]
    found = [f"{shown(ours)}, not {shown(theirs)}" for ours, theirs in dict.fromkeys(pairs)]
    if not found:
        return "some rows are missing, and others are repeated"
    more = f"; {len(found) - NAMED} more" if len(found) > NAMED else ""
    return "; ".join(found[:NAMED]) + more


def differing(row: Row, wanted: Row) -> list[tuple[Value, Value]]:
    """Return the values that differ. The leaf is one of them if nothing else does."""
    pairs = [
        (ours, theirs) for ours, theirs in zip(row[1:], wanted[1:], strict=True) if ours != theirs
    ]
    return pairs or ([(row[0], wanted[0])] if row[0] != wanted[0] else [])


def keyed(rows: list[Row]) -> dict[Value, Row]:
    """Return one row of each key."""
    return {row[1]: row for row in rows}


def listed(keys: set[Value]) -> str:
    return ", ".join(sorted(map(shown, keys))[:NAMED]) or "nothing else"


def shown(value: Value) -> str:
    """Return a value for people, in Markdown."""
    if value is None:
        return "NULL"
    if not value:
        return "an empty string"
    cut = value if len(value) <= LONGEST else value[:LONGEST] + "..."
    return f"`{cut!r}`" if not cut.isprintable() else f"`{cut}`"
