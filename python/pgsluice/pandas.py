"""`method`: COPY for pandas' `DataFrame.to_sql`, in the transaction of SQLAlchemy.

The module imports neither pandas nor SQLAlchemy: pandas passes the table and the connection.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from pgsluice.copying import copy
from pgsluice.drivers import check, name_of
from pgsluice.errors import usage_error


def method(table: Any, conn: Any, keys: Sequence[str], data_iter: Iterable[Any]) -> int:
    """Copy rows into the table of `to_sql`, and return how many rows the server has stored.

    pandas calls it once for each chunk: `frame.to_sql("orders", engine, if_exists="append",
    index=False, method=pgsluice.pandas.method)`. It commits nothing. After an error it rolls back
    the transaction, or the innermost SAVEPOINT, because pandas would commit the earlier chunks.

    Raises `UsageError` unless SQLAlchemy uses psycopg 3. Other errors are those of
    `pgsluice.copy`, which refuses a table that the same transaction has created.
    """
    try:
        connection = _driver_connection(conn)
        name = ".".join(_quote(part) for part in (table.schema, table.name) if part)
        return copy(connection, data_iter, name, columns=list(keys)).rows_inserted
    except BaseException:
        _roll_back(conn)
        raise


def _roll_back(conn: Any) -> None:
    """Roll back the innermost transaction or savepoint of an SQLAlchemy connection."""
    if not hasattr(conn, "get_nested_transaction"):
        return
    # A lost connection has nothing to roll back.
    with suppress(Exception):
        if begun := conn.get_nested_transaction() or conn.get_transaction():
            begun.rollback()


def _driver_connection(conn: Any) -> Any:
    """Return the psycopg connection of an SQLAlchemy connection."""
    pooled = getattr(conn, "connection", None)
    connection = getattr(pooled, "driver_connection", None)
    if connection is None:
        raise usage_error(
            "to_sql has no connection of SQLAlchemy",
            'Call it with an engine: sqlalchemy.create_engine("postgresql+psycopg://")',
            f"pandas calls the method with {name_of(conn)}.",
        )
    try:
        check(connection)
    except TypeError:
        name = conn.dialect.name
        hint = "Leave out method=pgsluice.pandas.method: it loads into PostgreSQL only."
        if name == "postgresql":
            hint = (
                "Install psycopg and name it in the URL:"
                ' sqlalchemy.create_engine(engine.url.set(drivername="postgresql+psycopg"))'
            )
        raise usage_error(
            "pgsluice.pandas.method needs a connection of psycopg 3",
            hint,
            f"The engine connects by {name}+{conn.dialect.driver}.",
        ) from None
    return connection


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
