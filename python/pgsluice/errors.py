"""The errors of a load, by their kinds: message, detail and hint as PostgreSQL words them."""

import json
from typing import Any


class Error(Exception):
    """What pgsluice raises."""


class LoadError(Error):
    """A load that has failed, or what looks at one. `str` of it has all: what, where, what next.

    What is not known is None.
    """

    message: str
    """What went wrong, on one line."""
    detail: str | None
    """Sentences that say more, one in each line."""
    hint: str | None
    """The next step to take."""
    sqlstate: str | None
    """PostgreSQL's five-character code."""
    source: str | None
    """The input of the row that is to blame: a path, or `<data>`."""
    row: int | None
    """The number of that row in its input, from 0, where rows are in batches; of a `Loader` among
    the rows that wait."""
    batch: int | None
    """The number of the `write` of a `Loader` that has that row, among those that wait, from 0."""
    row_of_batch: int | None
    """The number of that row in its `write`, from 0."""
    line: int | None
    """The line that the row begins at, from 1; of batches the row, from 1."""
    offset: int | None
    """The byte that the row begins at, from 0; of batches the row, from 0."""
    column: str | None
    """The column that the error is about."""
    load_id: str | None
    """The id by which the load is resumed, if rows are in or may be."""
    rows_committed: int | None
    """Rows that are in the table, by this run and those before it; None if nothing was sent."""
    rows_in_doubt: int | None
    """Rows whose COMMIT the server did not answer, or that it has lost or may have lost since."""

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

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (type(self), str(self), self.__dict__))


class UsageError(LoadError, ValueError):
    """The options make no sense."""


class InputError(LoadError):
    """The data cannot be read: a file that is not there, or a stream that has raised."""


class DataError(LoadError):
    """A row is malformed, or PostgreSQL refuses it; or columns do not fit."""


class ConnectError(LoadError):
    """The server cannot be reached, refuses the login, or went away."""


class ServerError(LoadError):
    """The server refused something that is no row."""


class InternalError(LoadError):
    """The load's own figures contradict one another."""


class StoppedError(LoadError):
    """The load was stopped."""


KINDS: dict[str, type[LoadError]] = {
    "usage": UsageError,
    "input": InputError,
    "data": DataError,
    "connection": ConnectError,
    "server": ServerError,
    "internal": InternalError,
    "interrupted": StoppedError,
}


def error_of(text: str, failure: dict[str, Any]) -> LoadError:
    """Return the exception for a failure as `--json` has it, whose words are `text`."""
    return KINDS[failure["error"]["kind"]](text, failure)


def raised(failure: BaseException) -> LoadError:
    """Return the exception for a failure of the extension module."""
    text, said = failure.args[1], json.loads(failure.args[0])
    return error_of(text, said)


def no_such_table(table: str, hint: str | None = None) -> LoadError:
    """Return the exception for a table that is not there, or not for other sessions."""
    message = f'relation "{table}" does not exist{" for other sessions" if hint else ""}'
    error = {"kind": "server", "message": message, "detail": None, "hint": hint}
    error |= {"sqlstate": "42P01", "place": None, "column": None}
    failure = {"error": error, "load_id": None, "committed": None, "in_doubt": None}
    text = f"{message} (SQLSTATE 42P01)" + (f"\nHINT:  {hint}" if hint else "")
    return ServerError(text, failure)


def _restored(kind: type[LoadError], text: str, fields: dict[str, Any]) -> LoadError:
    error = kind.__new__(kind, text)
    error.args = (text,)
    error.__dict__.update(fields)
    return error
