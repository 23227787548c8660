"""The options of the commands: those of the command line, by their names with underscores.

A string is read as on the command line: names are lower case unless in double quotes. Names in a
list stand as they are.
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
    """Where the server is, beside `conninfo`."""

    host: str | None
    port: int | str | None
    username: str | None
    wait: Time | None


class _Reading(ConnectionOptions, total=False):
    """How files are written."""

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
    """Rows that are there already."""

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
    """What can be said of a load. The manual's page on the command line explains each."""

    # Partitions.
    create_partitions: bool
    step: str | None
    max_new_partitions: int | None
    # Safety.
    atomic: bool
    exchange: bool | Literal["require", "replace"] | None
    swap_patience: int | None
    reject_file: str | PathLike[str] | None
    max_rejects: int | str | None
    lock_timeout: Time | None
    max_lag: str | timedelta | None
    # The ledger.
    load_id: str | None
    once: bool
    end_other: bool
    ledger: str | None
    no_ledger: bool


class CopyOptions(_Reading, total=False):
    """What can be said of rows by the caller's connection, and how others reach its server."""

    memory: int | str | None
    wire: Literal["binary", "text"] | None
    no_native: bool


class PlaceOptions(ConnectionOptions, _Changes, total=False):
    """Where a loader is known, and what it does to rows that are there already."""

    load_id: str | None
    ledger: str | None
    no_ledger: bool


class LoaderOptions(PlaceOptions, total=False):
    """What can be said of a loader."""

    columns: Names | None
    map: Mapping[str, str] | None
    ignore_extra: bool
    round: bool
    wire: Literal["binary", "text"] | None


class PlanOptions(_Speed, total=False):
    """What can be said of a plan."""

    full: bool
    exchange: bool | Literal["require", "replace"]
    atomic: bool
    step: str | None


class LeafOptions(ConnectionOptions, total=False):
    """What can be said of rows whose leaves are looked for."""

    map: Mapping[str, str] | None
    ignore_extra: bool
    round: bool
    no_self_test: bool


class VerifyOptions(_Reading, _Changes, total=False):
    """What can be said of a comparison."""

    subset: bool
    replaced: bool
    reject_file: str | PathLike[str] | None


class TreeOptions(ConnectionOptions, total=False):
    """What can be said of a tree."""

    depth: int | None


class LedgerOptions(ConnectionOptions, total=False):
    """Which ledger."""

    ledger: str | None


ALL = (Options, PlanOptions, VerifyOptions, TreeOptions, LedgerOptions)
# The keyword of each option.
KEYWORDS = {name.replace("_", "-"): name for each in ALL for name in each.__annotations__}
KEYWORDS |= {"table": "table", "dbname": "conninfo"}
_TIMES = {"lock_timeout", "wait"}


def check_names(function: str, table: Any, conninfo: Any) -> None:
    """Refuse a table or a conninfo that is something else, as when data comes behind the table."""
    for name, value in (("table", table), ("conninfo", conninfo)):
        if not isinstance(value, str | None):
            raise TypeError(f"{function}() takes {name} as a str, not {type(value).__qualname__}")


def arguments(
    command: str,
    known: Any,
    options: Mapping[str, Any],
    conninfo: str | None,
    table: str | None = None,
    function: str | None = None,
) -> list[str]:
    """Write the options of a command as the command line has them; `known` has their names.

    `function` is what was called, where that has another name.
    """
    called = function or command
    check_names(called, table, conninfo)
    # Nobody is there to type a password.
    args = [*command.split("_"), "--no-password"]
    if table is not None:
        args.append(f"--table={table}")
    if conninfo is not None:
        args.append(f"--dbname={conninfo}")
    for name, value in options.items():
        if name not in known.__annotations__:
            near = get_close_matches(name, known.__annotations__, n=1)
            meant = f". Did you mean '{near[0]}'?" if near else ""
            raise TypeError(f"{called}() got an unexpected keyword argument '{name}'{meant}")
        if known.__annotations__[name] is bool and not isinstance(value, bool | None):
            raise TypeError(f"{called}() takes {name} as True or False, not {value!r}")
        args += _option(name, value)
    return args


def signed(options: Any) -> Callable[[Function], Function]:
    """Have `help` show the options of a function one by one."""

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
        raise TypeError(f"the name of a column must be a str, not {type(name).__name__}")
    return '"' + name.replace('"', '""') + '"'
