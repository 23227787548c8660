"""The data of a call as an input: files, relations, Arrow data, bytes, or rows."""

import atexit
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import TextIOBase
from itertools import chain
from os import PathLike, fspath
from typing import Any, NamedTuple

from pgsluice._native import Input, leave
from pgsluice.arrow import readable
from pgsluice.feeding import Feed
from pgsluice.objects import Objects, credential_of
from pgsluice.relations import Relation, options_of
from pgsluice.rows import Lines, lines_of, written

# The name of data without a name.
NAME = "<data>"
# Bytes of an open file that are read at once.
_PIECE = 1 << 20
# Seconds that a program waits at exit for threads that read data.
_LAST = 1.0
# Attributes of objects with data in memory: pyarrow and arro3, polars, and pandas.
_SIZES = ("nbytes", "estimated_size", "memory_usage")

# The first registered function runs last, when nothing else needs data.
atexit.register(leave, _LAST)


class Source(NamedTuple):
    """File names, or an input or relation instead of them."""

    names: Sequence[str] = ()
    input: Input | None = None
    is_rows: bool = False
    feed: Feed | None = None
    """The feed that the waiting thread must supply with rows, if any."""
    relation: Relation | None = None

    def options(self) -> dict[str, Any]:
        """Return the command's options that name its data."""
        return {"files": self.names} if self.relation is None else options_of(self.relation)

    def check(self, given: Mapping[str, Any]) -> None:
        """Refuse options that are for other data."""
        if self.is_rows and given.get("format"):
            raise TypeError("format applies to files, but data is rows")


def source_of(data: Any, *, is_fed: bool = True) -> Source:
    """Determine the kind of data. The first item of an iterator is consumed.

    If `is_fed`, the waiting thread feeds the load with the rows of an iterator. Otherwise a
    thread of the load reads them.
    """
    if _is_name(data):
        return _from_names([data])
    if isinstance(data, Relation):
        return Source(relation=data)
    if isinstance(data, Objects):
        return _from_input(Input.objects(list(data.addresses), partial(credential_of, data)))
    if isinstance(data, TextIOBase):
        raise TypeError("data is a file opened in text mode: open it in mode 'rb'")
    if hasattr(data, "read"):
        name = getattr(data, "name", NAME)
        pieces = iter(partial(data.read, _PIECE), b"")
        return _from_input(Input.reader(name if isinstance(name, str) else NAME, pieces))
    if isinstance(data, Iterator):
        return _from_items(data, is_fed)
    if _is_arrow(data):
        return _from_arrow([data])
    if isinstance(data, Sequence) and not isinstance(data, (bytes, bytearray, memoryview)):
        return _from_sequence(data)
    if hasattr(data, "__iter__") and not isinstance(data, (Mapping, bytes, bytearray, memoryview)):
        return _from_items(iter(data), is_fed)
    raise TypeError(
        f"data cannot be of type {type(data).__name__}: it must be a path, a relation, an object"
        " with Arrow data or an iterable of such objects, a binary file, or an iterable of dicts or"
        " tuples"
    )


def source_from_batch(data: Any) -> Source:
    """Return a source for an object with Arrow data, which is read completely."""
    if not _is_arrow(data):
        raise TypeError(f"an object of type {type(data).__name__} has no Arrow data")
    return _from_input(Input.table(NAME, map(readable, [data])))


def is_used_up(data: Any) -> bool:
    """Return whether reading consumes the data, as for an iterator or an open file."""
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes, bytearray, memoryview)):
        return any(isinstance(item, Iterator) for item in data)
    return hasattr(data, "read") or isinstance(data, Iterator)


def _from_sequence(data: Sequence[Any]) -> Source:
    if not data:
        return _from_arrow([])
    first = type(data[0]).__name__
    for is_such, source in _KINDS:
        if not is_such(data[0]):
            continue
        if other := next((type(item).__name__ for item in data if not is_such(item)), None):
            raise TypeError(f"data has an item of type {other}, but the first is of type {first}")
        return source(data)
    raise TypeError(f"data cannot be a list of items of type {first}")


def _from_names(names: Sequence[Any]) -> Source:
    return Source([fspath(name) for name in names])


def _from_arrow(objects: Sequence[Any]) -> Source:
    if all(any(hasattr(type(each), size) for size in _SIZES) for each in objects):
        return _from_input(Input.table(NAME, map(readable, objects)))
    return _from_stream(iter(objects))


def _from_stream(objects: Iterator[Any]) -> Source:
    return _from_input(Input.stream(NAME, map(readable, objects)))


def _from_items(items: Iterator[Any], is_fed: bool) -> Source:
    """Return a source for the items of an iterator. The first item determines their kind."""
    try:
        first = next(items)
    except StopIteration:
        return _from_stream(iter(()))
    except Exception as error:
        # The error ends the load, like any later one.
        return _from_stream(_raising(error))
    items = chain([first], items)
    lines = None if _is_arrow(first) else lines_of(first)
    return (
        _from_stream(items) if lines is None else _from_rows(written(items, lines), lines, is_fed)
    )


def _raising(error: Exception) -> Iterator[Any]:
    raise error
    yield


def _from_rows(pieces: Iterator[bytes], lines: Lines, is_fed: bool = False) -> Source:
    feed = Feed(pieces) if is_fed else None
    given = Input.reader(NAME, iter(feed) if feed else pieces, lines)
    return _from_input(given)._replace(is_rows=True, feed=feed)


def _from_dicts(rows: Sequence[Any]) -> Source:
    return _from_rows(written(rows, "dicts"), "dicts")


def _from_tuples(rows: Sequence[Any]) -> Source:
    return _from_rows(written(rows, "rows"), "rows")


def _from_input(given: Input) -> Source:
    return Source(input=given)


def _is_name(item: Any) -> bool:
    return isinstance(item, (str, PathLike))


def _is_arrow(item: Any) -> bool:
    return hasattr(item, "__arrow_c_stream__") or hasattr(item, "__arrow_c_array__")


def _is_dict(item: Any) -> bool:
    return lines_of(item) == "dicts"


def _is_row(item: Any) -> bool:
    return lines_of(item) == "rows"


# The possible kinds of a list's items, with the corresponding inputs.
_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Sequence[Any]], Source]], ...] = (
    (_is_name, _from_names),
    (_is_arrow, _from_arrow),
    (_is_dict, _from_dicts),
    (_is_row, _from_tuples),
)
