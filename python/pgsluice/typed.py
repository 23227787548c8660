"""JSON objects as dataclasses with the same field names."""

from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Kind = TypeVar("Kind")


def typed(kind: type[Kind], value: dict[str, Any]) -> Kind:
    """Return an object as this dataclass, and nested objects as theirs. A list becomes a tuple."""
    hints = _hints(kind)  # type: ignore[arg-type]
    return kind(**{name: _typed(hints[name], each) for name, each in value.items()})


def _typed(kind: Any, value: Any) -> Any:
    if is_dataclass(kind):
        return typed(kind, value)  # type: ignore[arg-type]
    if get_origin(kind) is tuple:
        items = get_args(kind)
        if items[1:] == (...,):
            items = items[:1] * len(value)
        return tuple(map(_typed, items, value))
    if get_origin(kind) is UnionType:
        return None if value is None else _typed(get_args(kind)[0], value)
    return value


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
