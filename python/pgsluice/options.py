"""The options of a load: those of the command line, by their names with underscores.

A string is read as on the command line: names are lower case unless in double quotes. Names in a
list stand as they are.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches
from os import PathLike, fspath
from typing import Any, Literal, TypedDict

Names = str | Sequence[str]
Time = float | str | timedelta


class CopyOptions(TypedDict, total=False):
    """What can be said of data, however it is sent. The manual's command line explains each."""

    # How files are written.
    format: Literal["csv", "text", "ndjson", "parquet", "arrow"] | None
    header: bool | int | Literal["map", "match"] | None
    map: Mapping[str, str] | None
    ignore_extra: bool
    encoding: str | None
    delimiter: str | None
    null: str | None
    default: str | None
    quote: str | None
    escape: str | None
    force_null: Names | None
    force_not_null: Names | None
    columns: Names | None
    # Speed.
    memory: int | str | None
    wire: Literal["binary", "text"] | None
    no_native: bool


class PlaceOptions(TypedDict, total=False):
    """Where a loader is known, and the connection, beside `conninfo`."""

    load_id: str | None
    ledger: str | None
    no_ledger: bool
    host: str | None
    port: int | str | None
    username: str | None
    wait: Time | None


class LoaderOptions(PlaceOptions, total=False):
    """What can be said of a loader."""

    columns: Names | None
    map: Mapping[str, str] | None
    ignore_extra: bool
    wire: Literal["binary", "text"] | None


class Options(CopyOptions, PlaceOptions, total=False):
    """What can be said of a load, besides."""

    # Rows that are there already.
    on_conflict: Literal["error", "skip", "update", "delete"] | None
    key: Names | None
    update: Names | None
    no_insert: bool
    newer: str | None
    delete_when: str | None
    duplicates: Literal["first", "last", "error"] | None
    # Partitions.
    create_partitions: bool
    step: str | None
    max_new_partitions: int | None
    # Safety.
    atomic: bool
    exchange: bool | Literal["require"]
    swap_patience: int | None
    reject_file: str | PathLike[str] | None
    max_rejects: int | str | None
    lock_timeout: Time | None
    max_lag: str | timedelta | None
    # The ledger.
    once: bool
    end_other: bool
    # Speed.
    jobs: int | None
    no_self_test: bool


# The keyword of each option.
KEYWORDS = {name.replace("_", "-"): name for name in Options.__optional_keys__}
KEYWORDS |= {"table": "table", "dbname": "conninfo"}
_TIMES = {"lock_timeout", "wait"}


def arguments(
    table: str, conninfo: str | None, options: Mapping[str, Any], known: Any = Options
) -> list[str]:
    """Write options as the command line has them; they must be among those that are `known`."""
    # Nobody is there to type a password.
    args = ["--no-password", f"--table={table}"]
    if conninfo is not None:
        args.append(f"--dbname={conninfo}")
    for name, value in options.items():
        if name not in known.__optional_keys__:
            meant = _meant(name, known.__optional_keys__)
            raise TypeError(f"got an unexpected keyword argument '{name}'{meant}")
        args += _option(name, value)
    return args


def _option(name: str, value: Any) -> list[str]:
    option = "--" + name.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [option]
    if isinstance(value, Mapping):
        return [f"{option}={key}={_quoted(column)}" for key, column in value.items()]
    return [f"{option}={_spelled(name, value)}"]


def _spelled(name: str, value: Any) -> str:
    match value:
        case str():
            return value
        case PathLike():
            return str(fspath(value))
        case timedelta():
            return f"{value // timedelta(milliseconds=1)}ms"
        case float() if name in _TIMES:
            return f"{round(value * 1000)}ms"
        case int() | float():
            return str(value)
        case Sequence():
            return ",".join(_quoted(column) for column in value)
    raise TypeError(f"{name} cannot be of type {type(value).__name__}")


def _quoted(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the name of a column is no {type(name).__name__}")
    return '"' + name.replace('"', '""') + '"'


def _meant(name: str, known: frozenset[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f". Did you mean '{near[0]}'?" if near else ""
