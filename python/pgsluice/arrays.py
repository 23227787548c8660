"""Values of numpy: scalars by their types, and arrays as lists."""

from typing import Any

# Days, microseconds, and parts of a microsecond, for each unit of a time span.
_DAYS = {"W": 7, "D": 1}
_MICROSECONDS = {"h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1000, "us": 1}
_PARTS = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}
_MONTHS = {"Y": 12, "M": 1}
_DAY = 86_400_000_000
# Conversion of a large number of years or months to days overflows.
_MOST = 10**9


def is_missing(value: Any) -> bool:
    """Return whether the value marks a missing value in pandas or masked arrays."""
    return type(value).__name__ in ("NAType", "NaTType", "MaskedConstant")


def is_of_numpy(value: Any) -> bool:
    """Return whether the value is a scalar or an array of numpy itself."""
    return type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "dtype")


def plain(value: Any) -> Any:
    """Return a scalar or an array as `values.plain` does."""
    if value.shape:
        return [_element(each) for each in value]
    return _scalar(value[()] if hasattr(value, "__array_finalize__") and value.ndim == 0 else value)


def names(value: Any) -> tuple[str, ...] | None:
    """Return the names of the fields of a record, or None for other values."""
    return value.dtype.names if is_of_numpy(value) and not value.shape else None


def _element(value: Any) -> Any:
    from pgsluice import values

    return values.plain(value)


def _scalar(value: Any) -> Any:
    from pgsluice import values

    if not is_of_numpy(value) or is_missing(value):
        return values.plain(value)
    match value.dtype.kind:
        case "b" | "i" | "u" | "O":
            return values.plain(value.item())
        case "S" | "U":
            return values.plain(value.item())
        case "f":
            return _float(value)
        case "M":
            return _datetime(value)
        case "m":
            return _timedelta(value)
        case "V" if value.dtype.names:
            return {name: values.plain(value[name]) for name in value.dtype.names}
    raise values.unwritable(value, "", "load .real and .imag" if value.dtype.kind == "c" else "")


def _float(value: Any) -> Any:
    from pgsluice import values

    wide = float(value)
    if value.dtype.itemsize > 8 and value != wide and value == value:
        why = "it has more digits than a double precision number"
        raise values.unwritable(value, why, "use float(...) or str(...)")
    if value.dtype.itemsize >= 8 or wide != wide or wide in (float("inf"), float("-inf")):
        return values.plain(wide)
    import numpy as np

    return values.tagged("g", str(np.float32(value)))


def _datetime(value: Any) -> Any:
    import numpy as np

    from pgsluice import values

    if np.isnat(value):
        return None
    unit, _ = np.datetime_data(value.dtype)
    if unit in ("Y", "M") and abs(int(value.astype("int64"))) > _MOST:
        raise values.unwritable(value, "it is out of range for a date", "use None or a str")
    if unit in ("Y", "M", "W", "D"):
        return values.tagged("d", _with_era(str(np.datetime_as_string(value.astype("<M8[D]")))))
    if unit in ("h", "m"):
        value = value.astype("<M8[s]")
    return values.tagged("s", _with_era(str(np.datetime_as_string(value))))


def _with_era(text: str) -> str:
    """Write a year before year 1 as PostgreSQL does: numpy has a year 0."""
    year, rest = text[1:].split("-", 1) if text.startswith("-") else text.split("-", 1)
    number = -int(year) if text.startswith("-") else int(year)
    return text if number > 0 else f"{1 - number:04}-{rest} BC"


def _timedelta(value: Any) -> Any:
    import numpy as np

    from pgsluice import values

    if np.isnat(value):
        return None
    unit, step = np.datetime_data(value.dtype)
    count = int(value.astype("int64")) * step
    if unit in _MONTHS:
        return values.tagged("i", f"{count * _MONTHS[unit]} mons")
    if unit in _PARTS:
        microseconds, rest = divmod(count, _PARTS[unit])
        if rest:
            why = "it is finer than a microsecond, which an interval cannot hold"
            raise values.unwritable(value, why, "round it in the code that produces the rows")
    elif unit in _MICROSECONDS or unit in _DAYS:
        microseconds = count * (_MICROSECONDS.get(unit) or _DAYS[unit] * _DAY)
    else:
        raise values.unwritable(value, "it has no unit", 'use numpy.timedelta64(count, "s")')
    days, rest = divmod(microseconds, _DAY)
    return values.duration(days, rest // 1_000_000, rest % 1_000_000)
