"""Data frames of pandas: columns of Python objects, before pyarrow gives each a single type.

pyarrow turns all dicts of a column into one struct, so that each gets the keys of all others. It
reads a datetime without a time zone as UTC if others have a zone. It drops the zone of a time,
the time of a datetime among dates, and nanoseconds. Here dicts become JSON, and such mixtures are
refused.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from pgsluice.arrays import is_of_numpy
from pgsluice.rows import document, placed
from pgsluice.values import plain, unwritable

# Types that pyarrow converts faithfully, in any mixture that it accepts.
_SAFE = {type(None), bool, int, float, str, bytes, Decimal, UUID}
# pandas' names of columns whose values are all of one such type.
_UNIFORM = {"string", "bytes", "integer", "floating", "boolean", "decimal", "empty"}


def with_documents(frame: Any) -> Any:
    """Return a frame whose columns pyarrow converts faithfully. It may be the same frame."""
    import pandas as pd  # type: ignore[import-untyped]

    if not isinstance(frame, pd.DataFrame):
        return frame
    for place, kind in enumerate(frame.dtypes):
        if str(kind) != "object":
            continue
        name, column = frame.columns[place], frame.iloc[:, place]
        if pd.api.types.infer_dtype(column) in _UNIFORM:
            continue
        if any(map(_has_dict, column)):
            texts = [document(number, name, value) for number, value in enumerate(column)]
            frame = frame.copy(deep=False)
            frame.isetitem(place, pd.Series(texts, index=frame.index, dtype=object))
        else:
            _check(name, column)
    return frame


def _has_dict(value: Any) -> bool:
    items = _items(value)
    return isinstance(value, Mapping) if items is None else any(map(_has_dict, items))


def _items(value: Any) -> Iterable[Any] | None:
    """Return the items of a list with items of any type, or None for other values."""
    if isinstance(value, (list, tuple)):
        return () if set(map(type, value)) <= _SAFE else value
    if is_of_numpy(value) and value.shape:
        return value if value.dtype.kind == "O" else ()
    return None


def _check(name: Any, column: Iterable[Any]) -> None:
    """Refuse values that pyarrow would change."""
    seen: set[str] = set()
    for number, value in enumerate(column):
        if type(value) not in _SAFE:
            try:
                _check_value(value, seen)
            except TypeError as error:
                raise placed(number, name, error) from None


def _check_value(value: Any, seen: set[str]) -> None:
    items = _items(value)
    if items is not None:
        for item in items:
            if type(item) not in _SAFE:
                _check_value(item, seen)
        return
    given = plain(value)
    if not isinstance(given, str) or not given.startswith("\0"):
        return
    seen.add(given[1])
    if getattr(value, "nanosecond", 0):
        raise unwritable(value, "pyarrow would drop its nanoseconds", "use pandas.to_datetime(...)")
    if isinstance(value, time) and value.tzinfo is not None:
        raise unwritable(value, "pyarrow would drop its time zone", "use str(...)")
    if isinstance(value, datetime) and {"s", "z"} <= seen:
        why = "some values of the column have a time zone, and others have none"
        instead = "use pandas.to_datetime(..., utc=True), or give all a time zone"
        raise unwritable(value, why, instead)
    if "d" in seen and seen & {"s", "z"}:
        why = "some values of the column are dates, and others have a time"
        raise unwritable(value, why, "use pandas.to_datetime(...)")
