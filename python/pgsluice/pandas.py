"""`method`: rows of pandas' `DataFrame.to_sql` by COPY, in the transaction of SQLAlchemy.

It imports neither pandas nor SQLAlchemy: pandas calls it with the table and the connection.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from pgsluice.copying import copy
from pgsluice.drivers import check, name_of
from pgsluice.errors import usage_error

# Whether the caller's transaction has made or altered the table. Other sessions wait for its lock.
_IS_LOCKED = (
    "SELECT EXISTS (SELECT FROM pg_catalog.pg_locks WHERE pid = pg_catalog.pg_backend_pid()"
    " AND locktype = 'relation' AND mode = 'AccessExclusiveLock'"
    " AND relation = pg_catalog.to_regclass(%s))"
)


def method(table: Any, conn: Any, keys: Sequence[str], data_iter: Iterable[Any]) -> int:
    """Copy rows into the table of `to_sql`, and return how many rows the server has stored.

    pandas calls it once for each chunk: `frame.to_sql("orders", engine, if_exists="append",
    index=False, method=pgsluice.pandas.method)`. Nothing is committed: SQLAlchemy does it, or
    rolls back.

    Raises `UsageError` unless SQLAlchemy connects by psycopg 3, and if the transaction has made the
    table. Other errors are those of `pgsluice.copy`.
    """
    connection = _driver_connection(conn)
    name = ".".join(_quoted(part) for part in (table.schema, table.name) if part)
    with connection.cursor() as cursor:
        if cursor.execute(_IS_LOCKED, [name]).fetchone()[0]:
            raise usage_error(
                f"table {name} was made or altered in this transaction",
                f"Make it by a call of its own: frame.head(0).to_sql({table.name!r}, ...)."
                ' Then: frame.to_sql(..., if_exists="append", method=pgsluice.pandas.method)',
                "The partitions are read by another session, which does not see the table yet.",
            )
    return copy(connection, data_iter, name, columns=list(keys)).rows_inserted


def _driver_connection(conn: Any) -> Any:
    """Return the connection of psycopg behind one of SQLAlchemy."""
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


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
