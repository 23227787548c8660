"""Python values as JSON that keeps their types, so that each column can convert or refuse them.

A value with a JSON type is written as such. Any other value is a string of NUL, a letter for its
type and its spelling. No string in PostgreSQL contains NUL. The column decides how to read it:
see the module `values` of crates/json.
"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from typing import Any
from uuid import UUID

from pgsluice import arrays

_ADDRESSES = (IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network)
_BYTES = ("B", "b", "c")


class UnwritableError(TypeError):
    """A value that no column can hold unchanged. Callers add its row and column."""


def tagged(letter: str, text: str) -> str:
    """Return a value as a string that includes its type."""
    return f"\0{letter}{text}"


def plain(value: Any) -> Any:
    """Return a value in its JSON form, or as a tagged string."""
    if exact := _EXACT.get(type(value)):
        return exact(value)
    for kind, convert in _KINDS:
        if isinstance(value, kind):
            return convert(value)
    if arrays.is_missing(value):
        return None
    if arrays.is_of_numpy(value):
        return arrays.plain(value)
    raise unwritable(value)


def unwritable(value: Any, why: str = "", instead: str = "") -> UnwritableError:
    """Return the error for a value that is not supported."""
    name = _name(value)
    why = why or "it has no known PostgreSQL type"
    instead = instead or _INSTEAD.get(
        name, "convert it where the rows are produced, for example to a str"
    )
    return UnwritableError(f"a value of type {name} cannot be loaded: {why}. Instead, {instead}")


_INSTEAD = {
    "set": "use sorted(...), which has an order",
    "frozenset": "use sorted(...), which has an order",
    "range": "use list(...)",
    "complex": "load .real and .imag",
    "pandas.Period": "use .to_timestamp() or str(...)",
    "pandas.Interval": "use str(...) or .left and .right",
    "pandas.Series": "use .tolist()",
}


def _name(value: Any) -> str:
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    return kind.__qualname__ if package == "builtins" else f"{package}.{kind.__qualname__}"


def _same(value: Any) -> Any:
    return value


def _text(value: str) -> str:
    text = str.__str__(value)
    if "\0" in text:
        raise UnwritableError(
            "a str has a zero byte, which text in PostgreSQL cannot contain. Instead, use"
            ' .replace("\\0", "") or load bytes into a bytea'
        )
    return text


def _float(value: float) -> Any:
    number = float(value)
    return number if math.isfinite(number) else tagged("f", _unbounded(number))


def _unbounded(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _decimal(value: Decimal) -> str:
    if value.is_snan():
        raise unwritable(value, "PostgreSQL has no signaling NaN", 'use Decimal("NaN") or None')
    return tagged("n", "NaN" if value.is_nan() else str(value))


def _bytes(value: bytes | bytearray | memoryview) -> str:
    if isinstance(value, memoryview) and value.format not in _BYTES:
        raise unwritable(value, f"its items are not bytes but {value.format!r}", "use .tolist()")
    return tagged("b", bytes(value).hex())


def _date(value: date) -> str:
    return tagged("d", value.isoformat())


def _datetime(value: datetime) -> Any:
    if value != value:  # NaT, which is a datetime.
        return None
    offset = value.utcoffset()
    if offset is None:
        return tagged("s", value.replace(tzinfo=None).isoformat())
    if offset.microseconds:
        value = value.astimezone(UTC)
    return tagged("z", value.isoformat())


def _time(value: time) -> str:
    offset = value.utcoffset()
    if offset is None and value.tzinfo is not None:
        why = f"the offset of {value.tzinfo} depends on the date"
        raise unwritable(value, why, "use a datetime, or .replace(tzinfo=None)")
    if offset and offset.microseconds:
        raise unwritable(value, "its offset has microseconds", "round the offset to seconds")
    return tagged("t" if offset is None else "T", value.isoformat())


def _timedelta(value: timedelta) -> Any:
    if value != value:
        return None
    if getattr(value, "nanoseconds", 0):
        why = "it has nanoseconds, which an interval cannot hold"
        raise unwritable(value, why, 'use .round("us")')
    return duration(value.days, value.seconds, value.microseconds)


def duration(days: int, seconds: int, microseconds: int) -> str:
    """Return a time span as a tagged string."""
    return tagged("i", f"{days} days {seconds} seconds {microseconds} microseconds")


def _enum(value: Enum) -> Any:
    return _text(value.name)


def _uuid(value: UUID) -> str:
    return tagged("u", str(value))


def _address(value: Any) -> str:
    return tagged("a", str(value))


def _list(value: list[Any] | tuple[Any, ...]) -> list[Any]:
    return [plain(each) for each in value]


def _dict(value: Mapping[Any, Any]) -> dict[str, Any]:
    members = {}
    for name, each in value.items():
        key = _key(name)
        if key in members:
            raise unwritable(value, f"it has the key {key!r} twice as JSON", "rename one")
        members[key] = plain(each)
    return members


def _key(key: Any) -> str:
    """Return a key as `json.dumps` writes it."""
    match key:
        case str():
            return _text(key)
        case None:
            return "null"
        case bool():
            return "true" if key else "false"
        case int():
            return int.__repr__(key)
        case float() if math.isfinite(key):
            return float.__repr__(key)
    raise unwritable(key, "the keys of a JSON object must be strings", "use str(key)")


# By exact type, which is the fastest lookup.
_EXACT: dict[type, Callable[[Any], Any]] = {
    type(None): _same,
    bool: _same,
    int: _same,
    str: _text,
    float: _float,
    list: _list,
    tuple: _list,
    dict: _dict,
    datetime: _datetime,
    date: _date,
    Decimal: _decimal,
    UUID: _uuid,
}
# Subclasses of these types. A datetime is a date, and a bool is an int.
_KINDS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, _text),
    (int, int),
    (float, _float),
    (Mapping, _dict),
    ((list, tuple), _list),
    ((bytes, bytearray, memoryview), _bytes),
    (datetime, _datetime),
    (date, _date),
    (time, _time),
    (timedelta, _timedelta),
    (Decimal, _decimal),
    (UUID, _uuid),
    (_ADDRESSES, _address),
    (Enum, _enum),
)
