"""Rows of Python values as lines of JSON: dicts as objects, sequences as arrays."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any, Literal

from pgsluice import arrays
from pgsluice.relations import Relation
from pgsluice.values import UnwritableError, plain

Lines = Literal["dicts", "rows"]

# Number of rows that are written at once.
_TOGETHER = 1000
_NOT_ROWS = (str, bytes, bytearray, memoryview)

# A tagged string in JSON.
_TAGGED = re.compile(r'"\\u0000(.)([^"]*)"')

_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def lines_of(row: Any) -> Lines | None:
    """Return the writer for rows like this one, or None if it is not a row."""
    if isinstance(row, Mapping) or _has_names(row):
        return "dicts"
    return "rows" if _is_sequence(row) else None


def written(rows: Iterable[Any], lines: Lines) -> Iterator[bytes]:
    """Yield each row as a line."""
    numbered = enumerate(rows)
    while some := list(islice(numbered, _TOGETHER)):
        yield b"".join(_line(number, row, lines) for number, row in some)


def names_of(row: Any) -> Iterable[str]:
    """Return the names in a row, or nothing if it has no names."""
    if isinstance(row, Mapping):
        return row.keys()
    if is_dataclass(row) and not isinstance(row, type):
        return [field.name for field in fields(row)]
    if _is_sequence(row) and not _has_names(row):
        return ()
    given: Any = row
    return arrays.names(row) or list(given.keys())


def document(number: int, column: Any, value: Any) -> str | None:
    """Return the JSON text of a value in a frame's column, or None for a missing value."""
    # pandas has NaN for a missing value.
    if isinstance(value, float) and math.isnan(value):
        return None
    try:
        given = plain(value)
        text = None if given is None else _TAGGED.sub(_in_json, _encode(given))
        (text or "").encode()
    except (UnwritableError, UnicodeEncodeError, RecursionError, ValueError) as error:
        raise placed(number, column, error) from None
    return text


def placed(number: int, column: Any, error: Exception) -> TypeError:
    """Return the error for a value, with its row and its column."""
    return TypeError(f"row {number}, column {column!r}: {_describe(error)}")


def _in_json(tagged: re.Match[str]) -> str:
    """Write a tagged string within JSON as a column of its type would print it."""
    letter, text = tagged.groups()
    if letter == "b":
        raise UnwritableError("JSON cannot represent bytes. Instead, decode them to a str")
    if letter in "nfg":
        if not text[-1].isdigit():
            raise UnwritableError(f"JSON has no {text}. Instead, use None or a str")
        return text
    return f'"{text}"'


def _line(number: int, row: Any, lines: Lines) -> bytes:
    if lines_of(row) != lines:
        other = "a row with names" if lines == "dicts" else "a row without names"
        raise TypeError(f"row {number} is of type {type(row).__name__}, but the first is {other}")
    try:
        values = _members(row) if lines == "dicts" else [plain(value) for value in row]
        return _encode(values).encode() + b"\n"
    except (UnwritableError, UnicodeEncodeError, RecursionError, ValueError) as error:
        raise _blamed(number, row, lines, error) from None


def _members(row: Any) -> dict[str, Any]:
    named = _named(row)
    for name in named:
        if not isinstance(name, str):
            raise UnwritableError(
                f"a key of type {type(name).__name__} is not the name of a column."
                " Instead, use a str"
            )
    return {str.__str__(name): plain(value) for name, value in named.items()}


def _blamed(number: int, row: Any, lines: Lines, error: Exception) -> TypeError:
    """Return the error for a row, with the column that caused it."""
    columns: Iterable[tuple[Any, Any]] = enumerate(row) if lines == "rows" else _named(row).items()
    for column, value in columns:
        try:
            _encode(plain(value)).encode()
        except (UnwritableError, UnicodeEncodeError, RecursionError, ValueError) as why:
            return placed(number, column, why)
    return TypeError(f"row {number}: {_describe(error)}")


def _describe(error: Exception) -> str:
    match error:
        case UnicodeEncodeError():
            return (
                "a str has an unpaired surrogate, which UTF-8 cannot represent."
                ' Instead, use .encode("utf-8", "replace").decode()'
            )
        case RecursionError():
            return "a value is nested too deeply, or contains itself"
    return str(error)


def _has_names(row: Any) -> bool:
    if is_dataclass(row):
        # A relation in a list would be loaded as a row with a conninfo, including its password.
        return not isinstance(row, type | Relation)
    return bool(arrays.names(row)) or (hasattr(row, "keys") and hasattr(row, "__getitem__"))


def _named(row: Any) -> Mapping[Any, Any]:
    if isinstance(row, Mapping):
        return row
    if is_dataclass(row):
        return {field.name: getattr(row, field.name) for field in fields(row)}
    names = arrays.names(row) or list(row.keys())
    if len(set(names)) < len(names):
        raise UnwritableError("the row has two values with one name. Instead, use different names")
    return {name: row[name] for name in names}


def _is_sequence(row: Any) -> bool:
    if arrays.is_of_numpy(row):
        return len(row.shape) > 0
    return isinstance(row, Sequence) and not isinstance(row, _NOT_ROWS)
