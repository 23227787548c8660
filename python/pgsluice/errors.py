"""The kinds of errors: message, detail and hint are worded as PostgreSQL does it."""

import json
from typing import Any


class Error(Exception):
    """A failure. `str` of it has message, detail and hint.

    Its subclasses are the kinds of failures. Unknown attributes are None.
    """

    message: str
    """The error, on one line."""
    detail: str | None
    """Sentences that say more, one in each line."""
    hint: str | None
    """The next step to take."""
    sqlstate: str | None
    """PostgreSQL's five-character code."""
    source: str | None
    """The input of the row that is to blame: a path, or `<data>`."""
    row: int | None
    """The number of that row in its input, from 0, where rows are in batches; of a `Writer` among
    the rows that wait."""
    batch: int | None
    """The number of the `write` of a `Writer` that has that row, among those that wait, from 0."""
    row_of_batch: int | None
    """The number of that row in its `write`, from 0."""
    line: int | None
    """The line that the row begins at, from 1; of batches the row, from 1."""
    offset: int | None
    """The byte that the row begins at, from 0; of batches the row, from 0."""
    column: str | None
    """The column that the error is about."""
    load_id: str | None
    """The id by which a load is resumed, if it has rows in the table or may have."""
    rows_committed: int | None
    """Rows that this load has in the table, by this run and earlier ones; None if it sent none."""
    rows_in_doubt: int | None
    """Rows whose COMMIT the server did not answer, or which it has lost or may have lost since."""

    def __init__(self, text: str, failure: dict[str, Any]) -> None:
        super().__init__(text)
        error, place = failure["error"], failure["error"]["place"] or {}
        self.message = error["message"]
        self.detail = error["detail"]
        self.hint = error["hint"]
        self.sqlstate = error["sqlstate"]
        self.source = place.get("source")
        self.row = place.get("row")
        self.batch = self.row_of_batch = None
        self.line = place.get("line")
        self.offset = place.get("offset")
        self.column = error["column"]
        self.load_id = failure["load_id"]
        self.rows_committed = failure["committed"]
        self.rows_in_doubt = failure["in_doubt"]
        self._failure = failure

    def __reduce__(self) -> tuple[Any, ...]:
        return (error_of, (str(self), self._failure), self.__dict__)


class LoadError(Error):
    """A failure of any kind after which rows of the load may be in the table.

    `load_id`, `rows_committed` and `rows_in_doubt` describe these rows.
    """


class UsageError(Error, ValueError):
    """The options are invalid or contradictory."""


class InputError(Error):
    """The data cannot be read: a file does not exist, or a stream has raised."""


class DataError(Error):
    """A row is malformed, PostgreSQL refuses it, or the columns do not match."""


class ConnectError(Error):
    """The server is unreachable, refuses the login, or went away."""


class ServerError(Error):
    """The server refused something other than a row."""


class InternalError(Error):
    """The row counts of the load do not add up."""


class StoppedError(Error):
    """The load was stopped."""


_KINDS: dict[str, type[Error]] = {
    "usage": UsageError,
    "input": InputError,
    "data": DataError,
    "connection": ConnectError,
    "server": ServerError,
    "internal": InternalError,
    "interrupted": StoppedError,
}
# Subclasses of `LoadError` for each kind, with the name of the kind.
_OF_LOADS: dict[str, type[Error]] = {
    name: type(kind.__name__, (LoadError, kind), {"__doc__": kind.__doc__, "__module__": __name__})
    for name, kind in _KINDS.items()
}


def error_of(text: str, failure: dict[str, Any]) -> Error:
    """Return the exception for a failure in the form of `--json`, with the message `text`."""
    may_have_rows = bool(failure["committed"] or failure["in_doubt"])
    kinds = _OF_LOADS if may_have_rows else _KINDS
    return kinds[failure["error"]["kind"]](text, failure)


def raised(failure: BaseException) -> Error:
    """Return the exception for a failure of the extension module."""
    text, details = failure.args[1], json.loads(failure.args[0])
    return error_of(text, details)


def no_such_table(table: str, hint: str | None = None) -> Error:
    """Return the exception for a table that does not exist, or is not visible to other sessions."""
    message = f'relation "{table}" does not exist{" for other sessions" if hint else ""}'
    return python_error("server", message, hint, "42P01")


def usage_error(message: str, hint: str, detail: str | None = None) -> Error:
    """Return the exception for invalid arguments."""
    return python_error("usage", message, hint, detail=detail)


def python_error(
    kind: str,
    message: str,
    hint: str | None = None,
    sqlstate: str | None = None,
    detail: str | None = None,
) -> Error:
    """Return the exception for a failure found in Python, formatted as the extension does it."""
    error = {"kind": kind, "message": message, "detail": detail, "hint": hint}
    error |= {"sqlstate": sqlstate, "place": None, "column": None}
    failure = {"error": error, "load_id": None, "committed": None, "in_doubt": None}
    text = message + (f" (SQLSTATE {sqlstate})" if sqlstate else "")
    text += "".join(f"\n{name}:  {it}" for name, it in (("DETAIL", detail), ("HINT", hint)) if it)
    return error_of(text, failure)
