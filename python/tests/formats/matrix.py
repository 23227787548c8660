"""A matrix of types: each line has a type of a file, types of PostgreSQL, and the values.

Columns are named after their target types: `"7 numeric(10,2)" numeric(10,2)`.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from .place import OnServer

# Writes a file with ids, and columns by name, each with a type of the writer and values.
Write = Callable[[Path, Sequence[int], dict[str, "Line"]], None]


class Line(NamedTuple):
    """A type of the writer, and the target types of PostgreSQL, as `smallint|text`.

    `read` has the values as COPY writes them, if their spelling differs.
    """

    type: Any
    postgres: str
    values: Sequence
    read: Sequence | None = None

    def as_long_as(self, count: int) -> "Line":
        """Return the line with `count` values, by repetition."""

        def long(values: Sequence) -> list:
            return [*islice(cycle(values), count)]

        read = self.values if self.read is None else self.read
        return self._replace(values=long(self.values), read=long(read))

    def is_infinite(self) -> bool:
        """Whether a value is an infinite number."""
        read = self.values if self.read is None else self.read
        return any("inf" in str(value).lower() for value in read)


class Matrix(OnServer):
    """Tests that load files with a column for each line and type of PostgreSQL."""

    def server_knows(self, postgres: str, line: Line) -> bool:
        """Whether the server has the type and its values."""
        is_new = "multirange" in postgres or (postgres == "numeric" and line.is_infinite())
        return not is_new or self.connection.info.server_version >= 140000

    def assert_lines(
        self,
        lines: Iterable[Line],
        write: Write,
        name: str,
        options: Sequence[str] = (),
        least: int = 1,
    ) -> None:
        """Load all lines in one file with at least `least` rows.

        Files of fewer columns identify the cause of a failure.
        """
        all_columns = [
            line._replace(postgres=one)
            for line in lines
            for one in line.postgres.split("|")
            if self.server_knows(one, line)
        ]

        def wrong(columns: list[Line]) -> dict[str, str]:
            try:
                self.assert_columns(columns, write, name, options, least)
            except AssertionError as error:
                if len(columns) == 1:
                    return {f"{columns[0].type} onto {columns[0].postgres}": str(error)}
                half = len(columns) // 2
                found = wrong(columns[:half]) | wrong(columns[half:])
                return found or {"only together": str(error)}
            return {}

        for what, why in wrong(all_columns).items():
            with self.subTest(what, file=name, options=options):
                self.fail(why)

    def assert_columns(
        self, columns: list[Line], write: Write, name: str, options: Sequence[str], least: int
    ) -> None:
        """Load a file with these columns, and compare with COPY of the same values."""
        most = max(least, *(len(column.values) for column in columns))
        named = {
            f"{n} {column.postgres}": column.as_long_as(most) for n, column in enumerate(columns)
        }
        self.make(**{name: column.postgres for name, column in named.items()})
        ids = range(1, most + 1)
        write(self.folder / name, ids, named)
        rows = zip(ids, *[column.read for column in named.values()], strict=True)
        self.assert_loaded(rows, name, options=options)
