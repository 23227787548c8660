"""Rows of Python values as text that says them exactly: dicts as NDJSON, sequences as CSV."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from itertools import islice
from typing import Any
from uuid import UUID

# Rows that are written together.
_TOGETHER = 1000
_AS_TEXT = (
    *(Decimal, UUID),
    *(IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network),
)


def ndjson(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Write each row as an object in a line."""
    return _together(json.dumps(_plain(row), ensure_ascii=False) for row in rows)


def csv(rows: Iterable[Sequence[Any]]) -> Iterator[bytes]:
    """Write each row as a line of CSV. What is not NULL is in quotes."""
    return _together(",".join(map(_field, row)) for row in rows)


def _together(lines: Iterator[str]) -> Iterator[bytes]:
    while some := list(islice(lines, _TOGETHER)):
        yield "".join(f"{line}\n" for line in some).encode()


def _field(value: Any) -> str:
    if value is None:
        return ""
    text = _text(value).replace('"', '""')
    return f'"{text}"'


def _text(value: Any) -> str:
    match _plain(value):
        case str() as text:
            return text
        case list() as values:
            return "{" + ",".join(map(_element, values)) + "}"
        case other:
            return json.dumps(other, ensure_ascii=False)


def _element(value: Any) -> str:
    """Write an element of an array as its literal has it."""
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return _text(value)
    return '"' + _text(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _plain(value: Any) -> Any:
    """Return a value as JSON has it, or as PostgreSQL reads it in a string."""
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            return value if math.isfinite(value) else _unbounded(value)
        case Mapping():
            return {str(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case bytes() | bytearray() | memoryview():
            return "\\x" + bytes(value).hex()
        case date() | time():
            return value.isoformat()
        case timedelta():
            return f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"
    if isinstance(value, _AS_TEXT):
        return str(value)
    if hasattr(value, "dtype") and hasattr(value, "item"):
        return _plain(value.item())
    raise TypeError(f"a value of type {type(value).__name__} cannot be written as text")


def _unbounded(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
