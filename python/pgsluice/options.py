"""The options of the commands: the names are those of the command line, with underscores.

A string is parsed as on the command line: names are lower case unless in double quotes. Names in
a list are taken literally.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches
from os import PathLike, fspath
from typing import Any, Literal, TypedDict, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
Names = str | Sequence[str]
Time = float | str | timedelta


class ConnectionOptions(TypedDict, total=False):
    """The location of the server, in addition to `conninfo`."""

    host: str | None
    port: int | str | None
    username: str | None
    wait: Time | None


class _Reading(ConnectionOptions, total=False):
    """The format of files."""

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
    round: bool


class _Changes(TypedDict, total=False):
    """The handling of existing rows."""

    on_conflict: Literal["error", "skip", "update", "delete"] | None
    key: Names | None
    update: Names | None
    no_insert: bool
    newer: str | None
    delete_when: str | None
    duplicates: Literal["first", "last", "error"] | None


class _Speed(_Reading, _Changes, total=False):
    jobs: int | None
    memory: int | str | None
    wire: Literal["binary", "text"] | None
    no_native: bool
    no_self_test: bool


class Options(_Speed, total=False):
    """The options of `load`. The manual's command-line page explains each."""

    # Partitions.
    create_partitions: bool
    step: str | None
    max_new_partitions: int | None
    # Safety.
    atomic: bool
    exchange: bool | Literal["require", "replace"] | None
    swap_patience: int | None
    reject_file: str | PathLike[str] | None
    reject_table: str | None
    max_rejects: int | str | None
    lock_timeout: Time | None
    max_lag: str | timedelta | None
    # The ledger.
    load_id: str | None
    participant: str | None
    participants: int | None
    once: bool
    end_other: bool
    ledger: str | None
    no_ledger: bool
    # Reports.
    metrics: str | PathLike[str] | None


class CopyOptions(_Reading, total=False):
    """The options of `copy` and `acopy`, including those for other sessions on the server."""

    memory: int | str | None
    wire: Literal["binary", "text"] | None
    no_native: bool


class PlaceOptions(ConnectionOptions, _Changes, total=False):
    """The ledger of a writer, its handling of existing rows, and its metrics."""

    load_id: str | None
    ledger: str | None
    no_ledger: bool
    metrics: str | PathLike[str] | None


class WriterOptions(PlaceOptions, total=False):
    """The options of a writer."""

    columns: Names | None
    map: Mapping[str, str] | None
    ignore_extra: bool
    round: bool
    wire: Literal["binary", "text"] | None


class SparkOptions(ConnectionOptions, _Changes, total=False):
    """The options of a Spark write, in addition to `table` and `conninfo`."""

    ignore_extra: bool
    round: bool
    memory: int | str | None
    wire: Literal["binary", "text"] | None
    no_native: bool
    no_self_test: bool
    reject_table: str | None
    max_rejects: int | str | None
    lock_timeout: Time | None
    max_lag: str | timedelta | None
    load_id: str | None
    participants: int | None
    end_other: bool
    ledger: str | None


class PlanOptions(_Speed, total=False):
    """The options of `plan`."""

    full: bool
    exchange: bool | Literal["require", "replace"]
    atomic: bool
    step: str | None


class LeafOptions(ConnectionOptions, total=False):
    """The options of `leaf`."""

    map: Mapping[str, str] | None
    ignore_extra: bool
    round: bool
    no_self_test: bool


class VerifyOptions(_Reading, _Changes, total=False):
    """The options of `verify`."""

    subset: bool
    replaced: bool
    reject_file: str | PathLike[str] | None
    reject_table: str | None


class TreeOptions(ConnectionOptions, total=False):
    """The options of `tree`."""

    depth: int | None


class LedgerOptions(ConnectionOptions, total=False):
    """The options that name a ledger."""

    ledger: str | None


class FinishOptions(LedgerOptions, total=False):
    """The conditions under which a load is marked as finished."""

    participants: int | None
    rows_hash: str | None


_TIMES = {"lock_timeout", "wait"}


def check_names(function: str, table: Any, conninfo: Any) -> None:
    """Refuse a table or conninfo of the wrong type, as when the arguments are swapped."""
    for name, value in (("table", table), ("conninfo", conninfo)):
        if not isinstance(value, str | None):
            raise TypeError(f"{function}() takes {name} as a str, not {type(value).__qualname__}")


def spec(
    function: str,
    known: Any,
    options: Mapping[str, Any],
    conninfo: str | None,
    table: str | None = None,
) -> dict[str, Any]:
    """Check the options of a function, and return them in their JSON form.

    `known` has their names.
    """
    check_names(function, table, conninfo)
    given = {"table": table, "conninfo": conninfo}
    for name, value in options.items():
        if name not in known.__annotations__:
            near = get_close_matches(name, known.__annotations__, n=1)
            meant = f". Did you mean '{near[0]}'?" if near else ""
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'{meant}")
        if known.__annotations__[name] is bool and not isinstance(value, bool | None):
            raise TypeError(f"{function}() takes {name} as True or False, not {value!r}")
        if value is not False:
            given[name] = _plain(name, value)
    return {name: value for name, value in given.items() if value is not None}


def signed(options: Any) -> Callable[[Function], Function]:
    """Make `help` show the options of a function one by one."""

    def sign(function: Function) -> Function:
        signature = inspect.signature(function)
        parameters = [it for it in signature.parameters.values() if it.kind != it.VAR_KEYWORD]
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters += [
            inspect.Parameter(
                name, keyword, default=False if annotation is bool else None, annotation=annotation
            )
            for name, annotation in options.__annotations__.items()
        ]
        signature = signature.replace(parameters=parameters)
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return sign


def _plain(name: str, value: Any) -> Any:
    """Return a value in its JSON form."""
    match value:
        case None | bool() | str() | int():
            return value
        case PathLike():
            return str(fspath(value))
        case timedelta():
            return f"{value // timedelta(milliseconds=1)}ms"
        case float():
            return f"{round(value * 1000)}ms" if name in _TIMES else value
        case Mapping():
            return [(str(key), _column(column)) for key, column in value.items()]
        case Sequence():
            return [_column(column) for column in value]
    raise TypeError(f"{name} cannot be of type {type(value).__name__}")


def _column(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the name of a column must be a str, not {type(name).__name__}")
    return name
