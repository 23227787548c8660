"""`relation`: a table of a server that `load`, `plan` and `verify` read as data."""

from dataclasses import dataclass, field
from typing import Any

from pgsluice.errors import usage_error


@dataclass(frozen=True, repr=False)
class Relation:
    """A table, view, materialized view or foreign table that is read as data."""

    name: str
    """The name as in SQL: `events`, `public.events`, `"Events"`."""
    conninfo: str | None = None
    """The server to read from; None for the server and database of the target."""
    where: str | None = field(default=None, kw_only=True)
    """The SQL condition that a row must meet to be read."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise _wrong_type("name", self.name)
        for name, value in (("conninfo", self.conninfo), ("where", self.where)):
            if not isinstance(value, str | None):
                raise _wrong_type(name, value)

    def __repr__(self) -> str:
        """Return the call without conninfo, which may contain a password."""
        conninfo = "" if self.conninfo is None else ", conninfo=..."
        where = "" if self.where is None else f", where={self.where!r}"
        return f"Relation({self.name!r}{conninfo}{where})"


def relation(name: str, conninfo: str | None = None, *, where: str | None = None) -> Relation:
    """Return a table or view of a server, as data for `load`, `plan` and `verify`.

    `name` is written as in SQL. `conninfo` is a conninfo string or URL. By default, the relation
    is in the database of the target. `where` is an SQL condition: only rows for which it is true
    are read. Names in it must be qualified, except for columns and objects in `pg_catalog`.

    Nothing is read or checked before the relation is used.
    """
    return Relation(name, conninfo, where=where)


def options_of(given: Relation) -> dict[str, str]:
    """Return the command-line options that name a relation."""
    options = {"from_table": given.name, "from": given.conninfo, "where": given.where}
    return {name: value for name, value in options.items() if value is not None}


def refuse_relation(function: str, data: Any, hint: str) -> None:
    """Refuse a relation as the data of a function that cannot read it."""
    if isinstance(data, Relation):
        raise usage_error(f"{function}() cannot take a relation", hint)


def _wrong_type(name: str, value: Any) -> TypeError:
    return TypeError(f"relation() takes {name} as a str, not {type(value).__qualname__}")
