"""What is written into a loader: batches of one kind, and what of them waits to be sent."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

from pgsluice._native import Input
from pgsluice.data import NAME
from pgsluice.handed import readable
from pgsluice.rows import Lines, lines_of, written

Kind = Literal["arrow", "dicts", "rows"]
_WORDS = {"arrow": "objects with Arrow data", "dicts": "lists of dicts", "rows": "lists of tuples"}
# What an iterable without items gives.
_NOTHING = object()


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Rows as they were written: an object whose data is in memory, or text."""

    kind: Kind
    data: Any
    rows: int
    size: int
    """About its bytes."""

    @classmethod
    def of(cls, given: Any) -> "Batch":
        """Take what was given. What the caller may change afterwards is copied."""
        if hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__"):
            return cls._of_arrow(given)
        is_iterable = isinstance(given, Iterable) and not isinstance(given, Mapping)
        if is_iterable and not isinstance(given, (str, bytes, bytearray, memoryview)):
            rows = iter(given)
            first = next(rows, _NOTHING)
            lines = "rows" if first is _NOTHING else lines_of(first)
            if lines is not None:
                all_rows = () if first is _NOTHING else chain([first], rows)
                return cls._of_rows(b"".join(written(all_rows, lines)), lines)
        raise TypeError(
            f"a batch cannot be of type {type(given).__name__}: it is an object with Arrow data in"
            " memory, or an iterable of dicts or of tuples"
        )

    @classmethod
    def _of_arrow(cls, given: Any) -> "Batch":
        rows = getattr(given, "num_rows", None)
        if rows is None and hasattr(given, "__len__"):
            rows = len(given)
        if rows is None:
            name = type(given).__name__
            raise TypeError(f"a batch of type {name} is not in memory: pgsluice.load takes it")
        if type(given).__module__.partition(".")[0] == "pandas":
            given = given.copy()
        return cls(kind="arrow", data=given, rows=rows, size=_size(given))

    @classmethod
    def _of_rows(cls, text: bytes, lines: Lines) -> "Batch":
        return cls(kind=lines, data=text, rows=text.count(b"\n"), size=len(text))


def _size(given: Any) -> int:
    """Return about the bytes of an object's data; 0 if it does not say."""
    if hasattr(given, "estimated_size"):
        return int(given.estimated_size())
    if hasattr(given, "memory_usage"):
        return int(given.memory_usage(index=False).sum())
    size = getattr(given, "nbytes", 0)
    return size if isinstance(size, int) else 0


@dataclass(kw_only=True)
class Waiting:
    """Batches that wait to be sent together, and the position behind them."""

    batches: list[Batch] = field(default_factory=list)
    position: str | None = None
    rows: int = 0
    size: int = 0
    since: float = 0.0
    """When the first of them came, by the monotonic clock."""

    def add(self, batch: Batch, position: str | None, now: float) -> None:
        """Add a batch. One without rows may have a position."""
        if not self:
            self.since = now
        if batch.rows:
            self.batches.append(batch)
        self.rows += batch.rows
        self.size += batch.size
        self.position = self.position if position is None else position

    def __bool__(self) -> bool:
        return bool(self.batches) or self.position is not None

    def given(self, kind: Kind) -> Input:
        """Return them as one input; they are all of this kind."""
        data = [batch.data for batch in self.batches]
        if kind == "arrow":
            return Input.tables(NAME, map(readable, data))
        return Input.text(NAME, b"".join(data), kind)


def check(kind: Kind | None, batch: Batch) -> Kind:
    """Refuse a batch of another kind than those before it."""
    if kind is None or kind == batch.kind:
        return batch.kind
    raise TypeError(f"the loader has {_WORDS[kind]}, and cannot take {_WORDS[batch.kind]}")
