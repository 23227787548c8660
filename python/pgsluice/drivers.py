"""The connections that `copy` and `acopy` accept: of psycopg (3), and of asyncpg."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Protocol

# The start of a COPY: its statement, and asyncpg's arguments for it, or None if it has none.
Begun = tuple[str, dict[str, Any] | None]


class Driver(Protocol):
    """The operations that `acopy` needs of an asynchronous connection."""

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """Return a transaction, unless the connection is in one or begins one itself."""
        ...

    async def conninfo(self) -> str:
        """Return a conninfo string for the connection's server, as far as it is known."""
        ...

    async def ask(self, question: str) -> Any:
        """Return the first value of the first row, if any."""
        ...

    async def copy(self, begun: Begun, pieces: AsyncIterator[bytes]) -> int:
        """Execute a COPY. Return the number of rows that the server has stored."""
        ...


def driver_of(connection: Any) -> Driver:
    """Return the driver for an asynchronous connection."""
    match _library(connection):
        case "psycopg" if hasattr(connection, "__aenter__") and _connects(connection):
            _refuse_pipeline(connection)
            return _Psycopg(connection)
        case "asyncpg" if _connects(connection):
            return _Asyncpg(connection)
    raise TypeError(
        "acopy() takes an asynchronous connection of psycopg 3 or asyncpg, not"
        f" {name_of(connection)}"
    )


def check(connection: Any) -> None:
    """Refuse anything but a synchronous psycopg connection that can copy."""
    library = _library(connection)
    if library == "asyncpg" or (library == "psycopg" and hasattr(connection, "__aenter__")):
        raise TypeError("the connection is asynchronous: use await pgsluice.acopy(...)")
    if library != "psycopg" or not _connects(connection):
        raise TypeError(f"copy() takes a connection of psycopg 3, not {name_of(connection)}")
    _refuse_pipeline(connection)


def _refuse_pipeline(connection: Any) -> None:
    """Refuse a psycopg connection in pipeline mode, as its own COPY does."""
    from psycopg import NotSupportedError

    if connection.pgconn.pipeline_status:
        raise NotSupportedError("copy cannot be used in pipeline mode")


def _connects(connection: Any) -> bool:
    """Return whether it is a connection, and not a cursor, a pool or anything else."""
    return hasattr(connection, "transaction") and hasattr(connection, "cursor")


def is_idle(connection: Any) -> bool:
    """Return whether a psycopg connection is outside of a transaction."""
    from psycopg.pq import TransactionStatus

    return bool(connection.info.transaction_status == TransactionStatus.IDLE)


def conninfo_of(connection: Any) -> str:
    """Return the conninfo string of a psycopg connection, with its password."""
    from psycopg.conninfo import make_conninfo

    info = connection.info
    secret = {"password": info.password} if info.password else {}
    return make_conninfo(info.dsn, **secret)


def conninfo_from(settings: Mapping[str, Any]) -> str:
    """Return a conninfo string of settings, without those that are None."""
    given = {key: str(value) for key, value in settings.items() if value is not None}
    quoted = {key: re.sub(r"(['\\])", r"\\\1", value) for key, value in given.items()}
    return " ".join(f"{key}='{value}'" for key, value in quoted.items())


class _Psycopg:
    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        own = is_idle(self.connection) and self.connection.autocommit
        return self.connection.transaction() if own else nullcontext()

    async def conninfo(self) -> str:
        return conninfo_of(self.connection)

    async def ask(self, question: str) -> Any:
        async with self.connection.cursor() as cursor:
            await cursor.execute(question)
            return first_of(await cursor.fetchone() if cursor.description else None)

    async def copy(self, begun: Begun, pieces: AsyncIterator[bytes]) -> int:
        async with self.connection.cursor() as cursor:
            async with cursor.copy(begun[0]) as writing:
                async for rows in pieces:
                    await writing.write(rows)
            return int(cursor.rowcount)


class _Asyncpg:
    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        own = not self.connection.is_in_transaction()
        return self.connection.transaction() if own else nullcontext()

    async def conninfo(self) -> str:
        # The PG* variables name the server.
        names = {"dbname": "pg_catalog.current_database()", "user": "SESSION_USER"}
        return conninfo_from({key: await self.ask(f"SELECT {it}") for key, it in names.items()})

    async def ask(self, question: str) -> Any:
        return await self.connection.fetchval(question)

    async def copy(self, begun: Begun, pieces: AsyncIterator[bytes]) -> int:
        _, options = begun
        if options is None:
            raise TypeError(
                "asyncpg cannot copy rows whose fields need COPY options of their own, such as rows"
                " without a column that has a default: name all columns in each row"
            )
        status = await self.connection.copy_to_table(source=pieces, **options)
        return int(status.rpartition(" ")[2])


def first_of(row: Any) -> Any:
    """Return the first value of a row, for any row type of the connection."""
    if row is None:
        return None
    return next(iter(row.values() if isinstance(row, dict) else row))


def _library(connection: Any) -> str:
    """Return the library to which a connection or its class belongs."""
    names = (each.__module__.partition(".")[0] for each in type(connection).__mro__)
    return next((name for name in names if name in ("psycopg", "asyncpg")), "")


def name_of(connection: Any) -> str:
    """Return the full name of a connection's type."""
    return f"{type(connection).__module__}.{type(connection).__qualname__}"
