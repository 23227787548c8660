"""Batches of a writer, all of one kind, and the ones that wait to be sent."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

from pgsluice._native import Input
from pgsluice.arrow import readable
from pgsluice.data import NAME
from pgsluice.errors import DataError
from pgsluice.relations import refuse_relation
from pgsluice.rows import Lines, lines_of, names_of, written

Kind = Literal["arrow", "dicts", "rows", "ndjson"]
_WORDS = {
    "arrow": "objects with Arrow data",
    "dicts": "lists of dicts",
    "rows": "lists of tuples",
    "ndjson": "lines of JSON objects",
}
# The result for an iterable without items.
_NOTHING = object()


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Rows as they were written: an object with data in memory, or text."""

    kind: Kind
    data: Any
    rows: int
    size: int
    """About its bytes."""
    given: Sequence[Any] | None = None
    """The rows as they were given, if they are kept and not `data` itself."""
    names: frozenset[str] = frozenset()
    """The names of the columns in it, if it has any."""

    @classmethod
    def from_data(cls, given: Any, keeps_rows: bool = False) -> "Batch":
        """Create a batch. Data that the caller may change later is copied."""
        if isinstance(given, cls):
            return given
        if hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__"):
            return cls._from_arrow(given)
        is_iterable = isinstance(given, Iterable) and not isinstance(given, Mapping)
        if is_iterable and not isinstance(given, (str, bytes, bytearray, memoryview)):
            rows = iter(given)
            first = next(rows, _NOTHING)
            lines = "rows" if first is _NOTHING else lines_of(first)
            if lines is not None:
                kept: list[Any] | None = [] if keeps_rows else None
                names: set[str] = set()
                all_rows: Iterable[Any] = () if first is _NOTHING else chain([first], rows)
                text = b"".join(written(_note_rows(all_rows, names, kept), lines))
                return cls._from_rows(text, lines, frozenset(names), kept)
        refuse_relation(
            "Writer.write", given, "Use pgsluice.load, which reads a relation as a whole."
        )
        raise TypeError(
            f"a batch cannot be of type {type(given).__name__}: it must be an object with Arrow"
            " data in memory, or an iterable of dicts or tuples"
        )

    @classmethod
    def _from_arrow(cls, given: Any) -> "Batch":
        rows = getattr(given, "num_rows", None)
        if rows is None and hasattr(given, "__len__"):
            rows = len(given)
        if rows is None:
            name = type(given).__name__
            raise TypeError(f"a batch of type {name} is not in memory: use pgsluice.load")
        if type(given).__module__.partition(".")[0] == "pandas":
            given = given.copy()
        return cls(kind="arrow", data=given, rows=rows, size=_size(given), names=_names(given))

    @classmethod
    def _from_rows(
        cls, text: bytes, lines: Lines, names: frozenset[str], given: Sequence[Any] | None
    ) -> "Batch":
        rows = text.count(b"\n")
        return cls(kind=lines, data=text, rows=rows, size=len(text), names=names, given=given)

    def row(self, number: int) -> Any:
        """Return a row as it was given; a slice, if possible, of an object with Arrow data."""
        if self.given is not None:
            return self.given[number]
        if hasattr(self.data, "iloc"):
            return self.data.iloc[number : number + 1]
        return self.data.slice(number, 1) if hasattr(self.data, "slice") else self.data

    def lines(self) -> list[bytes]:
        """Return the text of each row."""
        return [line + b"\n" for line in self.data.split(b"\n")[:-1]]


def _note_rows(rows: Iterable[Any], names: set[str], kept: list[Any] | None) -> Iterator[Any]:
    """Yield the rows, record the names in them, and keep a copy of each as it was given."""
    for row in rows:
        names.update(names_of(row))
        if kept is not None:
            kept.append(copy(row))
        yield row


def _names(given: Any) -> frozenset[str]:
    """Return the names of an object's columns, or an empty set if unknown."""
    schema = getattr(given, "schema", None)
    names: Any = getattr(schema, "names", None) or getattr(given, "columns", ())
    try:
        listed: Any = names() if callable(names) else names
        return frozenset(listed)
    except TypeError:
        return frozenset()


def _size(given: Any) -> int:
    """Return the approximate size of an object's data in bytes, or 0 if unknown."""
    if hasattr(given, "estimated_size"):
        return int(given.estimated_size())
    if hasattr(given, "memory_usage"):
        return int(given.memory_usage(index=False).sum())
    size = getattr(given, "nbytes", 0)
    return size if isinstance(size, int) else 0


@dataclass(frozen=True, kw_only=True)
class Extras:
    """Positions and rejected rows that are stored in the transaction of a batch."""

    position: str | None = None
    """The position after it, as JSON."""
    steps: Mapping[str, tuple[str | None, str]] = field(default_factory=dict)
    """The positions of participants before the batch and after it."""
    rejects: Sequence[Mapping[str, Any]] = ()
    """Rows for the reject table."""

    @classmethod
    def from_arguments(
        cls,
        position: Any,
        positions: Mapping[str, tuple[Any, Any]] | None,
        rejects: Sequence[Mapping[str, Any]],
    ) -> "Extras":
        """Create it from the arguments of `write`."""
        steps = {
            name: (None if before is None else json.dumps(before), json.dumps(after))
            for name, (before, after) in (positions or {}).items()
        }
        text = None if position is None else json.dumps(position)
        return cls(position=text, steps=steps, rejects=rejects)

    def __bool__(self) -> bool:
        return self.position is not None or bool(self.steps) or bool(self.rejects)


@dataclass(kw_only=True)
class Waiting:
    """Batches that wait to be sent, each with its positions and rejected rows."""

    entries: list[tuple[Batch, Extras]] = field(default_factory=list)
    rows: int = 0
    size: int = 0
    since: float = 0.0
    """When the first of them came, by the monotonic clock."""
    left_out: set[int] = field(default_factory=set)
    """The numbers of the rows that are not sent."""
    rejected: int = 0
    """The number of rejected rows, including rows that came as rejected."""
    steps: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    """The positions of participants before the first batch and after the last."""
    rejects: list[Mapping[str, Any]] = field(default_factory=list)
    """Rows for the reject table."""

    @property
    def position(self) -> str | None:
        """The position after the batches, or None."""
        positions = (extras.position for _, extras in reversed(self.entries))
        return next((position for position in positions if position is not None), None)

    def reaches(self, rows: int | None, size: int | None) -> bool:
        """Return whether there are so many rows or bytes; None is no limit."""
        return (rows is not None and self.rows >= rows) or (size is not None and self.size >= size)

    def add(self, batch: Batch, extras: Extras, now: float) -> None:
        """Add a batch. A batch without rows may have positions or rejected rows."""
        if not batch.rows and not extras:
            return
        for name, (before, _) in extras.steps.items():
            if name in self.steps and self.steps[name][1] != before:
                raise ValueError(
                    f"participant {name} is at position {self.steps[name][1]}, not at {before},"
                    " where the batch begins"
                )
        if not self:
            self.since = now
        for name, (before, after) in extras.steps.items():
            self.steps[name] = (self.steps.get(name, (before, ""))[0], after)
        self.rejects.extend(extras.rejects)
        self.rejected += len(extras.rejects)
        self.entries.append((batch, extras))
        self.rows += batch.rows
        self.size += batch.size

    @property
    def batches(self) -> list[Batch]:
        """The batches that have rows."""
        return [batch for batch, _ in self.entries if batch.rows]

    def split(self) -> tuple["Waiting", "Waiting"]:
        """Return the first batches with the same names, and the others."""
        names = self.batches[0].names if self.batches else frozenset()
        others = (
            place
            for place, (batch, _) in enumerate(self.entries)
            if batch.rows and batch.names != names
        )
        end = next(others, len(self.entries))
        parts = Waiting(), Waiting()
        for place, (batch, extras) in enumerate(self.entries):
            parts[place >= end].add(batch, extras, self.since)
        return parts

    def __bool__(self) -> bool:
        return (
            self.waiting > 0 or self.rejected > 0 or self.position is not None or bool(self.steps)
        )

    @property
    def waiting(self) -> int:
        """The number of rows to send."""
        return self.rows - len(self.left_out)

    def rejects_for(self, table: str | None) -> tuple[str, list[str], str] | None:
        """Return the rows for the reject table: its name, their columns, and the rows as JSON."""
        if table is None or not self.rejects:
            return None
        columns = list(dict.fromkeys(name for row in self.rejects for name in row))
        return table, columns, json.dumps(self.rejects)

    def given(self, kind: Kind) -> Input:
        """Return the rows to send as one input. All of them must be of this kind."""
        if kind == "arrow":
            data = [batch.data for batch in self.batches]
            return Input.tables(NAME, map(readable, data), sorted(self.left_out))
        return Input.text(NAME, b"".join(self._text()), kind)

    def _text(self) -> Iterator[bytes]:
        if not self.left_out:
            yield from (batch.data for batch in self.batches)
            return
        lines = (line for batch in self.batches for line in batch.lines())
        yield from (line for number, line in enumerate(lines) if number not in self.left_out)

    def name_row(self, error: DataError) -> None:
        """Add the number of the row to an error that has a position."""
        row = error.row
        is_text = bool(self.batches) and self.batches[0].kind != "arrow"
        if row is None and is_text and error.offset is not None:
            row = self._line_at(error.offset)
        if row is None:
            return
        # Convert numbers among the sent rows to numbers among all rows.
        for number in sorted(self.left_out):
            row += number <= row
        error.row = row
        error.batch, error.row_of_batch = self.place(row)

    def _line_at(self, offset: int) -> int | None:
        """Return the number of the row that begins at this byte of the sent text."""
        begin = 0
        lines = (line for batch in self.batches for line in batch.lines())
        sent = (line for number, line in enumerate(lines) if number not in self.left_out)
        for number, line in enumerate(sent):
            if begin == offset:
                return number
            begin += len(line)
        return None

    def place(self, row: int) -> tuple[int, int]:
        """Return the number of a row's batch, and the row's number in it."""
        for number, batch in enumerate(self.batches):
            if row < batch.rows:
                return number, row
            row -= batch.rows
        raise IndexError(row)


def check(kind: Kind | None, batch: Batch) -> Kind:
    """Refuse a batch whose kind differs from the earlier ones."""
    if kind is None or kind == batch.kind:
        return batch.kind
    raise TypeError(f"the Writer was given {_WORDS[kind]}, and cannot take {_WORDS[batch.kind]}")
