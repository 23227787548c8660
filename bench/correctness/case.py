"""An input, the table that it is loaded into, and the rows that should be stored."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import pyarrow

Form = Literal["csv", "text", "ndjson", "parquet"]
Data = bytes | pyarrow.Table
# The number of times that the rows of an input are repeated: pgsluice leaves a few rows to the
# server.
TIMES = 1000
ENDINGS = {"csv": "csv", "text": "txt", "ndjson": "ndjson", "parquet": "parquet"}


@dataclass(frozen=True)
class Case:
    """One input for all tools."""

    name: str
    title: str
    table: tuple[str, ...]
    """Statements that create the table `t` with its partitions."""
    form: Form
    data: Callable[[], Data]
    fields: tuple[str, ...]
    """The columns of the input."""
    shown: tuple[str, ...] = ()
    """SQL of each value that is compared; the fields if it is empty. The first one is the key."""
    expected: str | None = None
    """A statement that stores the expected rows; if it is None, COPY of the same file does."""
    is_refused: bool = False
    """Whether no row should be stored."""
    encoding: str = "utf-8"
    times: int = TIMES
    """The number of times that its rows are repeated."""
    atomic: bool = False
    """Whether tools with an option for it load all rows or none."""
    runs: Literal["once", "twice", "killed"] = "once"
    """The way in which the tool is run: twice, or again after it was killed."""

    @property
    def values(self) -> tuple[str, ...]:
        return self.shown or self.fields

    def repeated(self) -> Data:
        """Return the input with its rows repeated."""
        data = self.data()
        if isinstance(data, pyarrow.Table):
            return pyarrow.concat_tables([data] * self.times)
        header, end, rows = data.partition(b"\n") if self.form == "csv" else (b"", b"", data)
        return header + end + rows * self.times

    @property
    def file(self) -> str:
        """Return the name of the file."""
        return f"rows.{ENDINGS[self.form]}"


def hashed(columns: str, key: str = "id", leaves: int = 3) -> tuple[str, ...]:
    """Return statements that create a table with hash partitions."""
    root = f"CREATE TABLE t ({columns}) PARTITION BY HASH ({key})"
    parts = (
        f"CREATE TABLE t_{leaf} PARTITION OF t FOR VALUES WITH (MODULUS {leaves}, REMAINDER {leaf})"
        for leaf in range(leaves)
    )
    return root, *parts


def ranged(columns: str, key: str = "id", *bounds: int) -> tuple[str, ...]:
    """Return statements that create a table with a range partition between every two bounds."""
    root = f"CREATE TABLE t ({columns}) PARTITION BY RANGE ({key})"
    parts = (
        f"CREATE TABLE t_{low} PARTITION OF t FOR VALUES FROM ({low}) TO ({high})"
        for low, high in pairwise(bounds)
    )
    return root, *parts


def lines(*rows: str, end: str = "\n", encoding: str = "utf-8") -> Callable[[], bytes]:
    """Return the maker of a file of these lines."""
    return lambda: "".join(row + end for row in rows).encode(encoding)
