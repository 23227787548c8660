"""`copy` and `acopy`: rows by COPY through the caller's own connection, in its own transaction.

The rows are routed, gathered and encoded as a load does; then the connection's COPY sends them into
the root, those of several leaves in turns. The server routes each row by itself, as ever.
"""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Unpack

from pgsluice._native import Failure, Relay, table_name
from pgsluice.data import Source, source_of
from pgsluice.drivers import check, conninfo_of, driver_of, first_of, is_idle
from pgsluice.errors import no_such_table, raised
from pgsluice.feeding import Feed
from pgsluice.options import CopyOptions, check_names, signed, spec
from pgsluice.relations import refuse_relation

# Seconds after which a signal is seen.
_PAUSE = 0.1
# Seconds that rows which are fed wait for room, while others may be there to be sent.
_MOMENT = 0.01
# The hint for a relation, which copy() cannot read.
_INSTEAD = (
    "Use pgsluice.load, or for rows in the connection's own database and transaction execute"
    " INSERT INTO ... SELECT."
)


@dataclass(frozen=True, kw_only=True)
class CopyResult:
    """Rows that were copied, and are in the table once the transaction is committed."""

    table: str
    rows_read: int
    rows_inserted: int
    """Rows that the server has stored: all, unless a trigger drops some."""


@signed(CopyOptions)
def copy(
    connection: Any,
    data: Any,
    table: str,
    conninfo: str | None = None,
    **options: Unpack[CopyOptions],
) -> CopyResult:
    """Copy data into a table by a psycopg (3) connection; nothing is committed.

    `data` and `table` are as `load` has them. The tree is read by a session of its own, to where
    `connection` is, unless `conninfo` says how else that server is reached. A connection in
    autocommit mode that is in no transaction copies all rows in one.

    Raises `Error` for what is wrong with the data, and what psycopg raises for what the server
    refuses. As after a COPY that fails, the transaction can then only be rolled back.
    """
    check(connection)
    check_names("copy", table, conninfo)
    refuse_relation("copy", data, _INSTEAD)
    if is_idle(connection) and connection.autocommit:
        with connection.transaction():
            return _copy(connection, data, table, conninfo, options)
    return _copy(connection, data, table, conninfo, options)


def _copy(
    connection: Any, data: Any, table: str, conninfo: str | None, options: CopyOptions
) -> CopyResult:
    def ask(question: str) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(question)
            return first_of(cursor.fetchone() if cursor.description else None)

    name = _found(table, ask(table_name(table)))
    source = source_of(data)
    with _relay(source, name, conninfo or conninfo_of(connection), options) as relay:
        while not relay.is_ready(_pause(source.feed)):
            pass
        relay.check([ask(question) for question in relay.questions()][-1])
        stored = 0
        while (begun := _next(relay, source.feed)) is not None:
            with connection.cursor() as cursor:
                with cursor.copy(begun[0]) as writing:
                    for rows in iter(lambda: _next(relay, source.feed), None):
                        writing.write(rows)
                stored += cursor.rowcount
        return _result(relay, stored)


@signed(CopyOptions)
async def acopy(
    connection: Any,
    data: Any,
    table: str,
    conninfo: str | None = None,
    **options: Unpack[CopyOptions],
) -> CopyResult:
    """Do what `copy` does by an asynchronous connection of psycopg (3), or by one of asyncpg.

    asyncpg does not say how it has logged in: without `conninfo` it is known by database and user,
    and the PG* variables say where that is.
    """
    import asyncio

    driver = driver_of(connection)
    check_names("acopy", table, conninfo)
    refuse_relation("acopy", data, _INSTEAD)
    async with driver.transaction():
        name = _found(table, await driver.ask(table_name(table)))
        conninfo = conninfo or await driver.conninfo()
        source = await asyncio.to_thread(source_of, data, is_fed=False)
        with _relay(source, name, conninfo, options) as relay:
            while not await asyncio.to_thread(relay.is_ready, _PAUSE):
                pass
            answers = [await driver.ask(question) for question in relay.questions()]
            relay.check(answers[-1])
            stored = 0
            while (begun := await asyncio.to_thread(_next, relay)) is not None:
                stored += await driver.copy(begun, _pieces(relay))
            return _result(relay, stored)


async def _pieces(relay: Relay) -> AsyncIterator[bytes]:
    import asyncio

    while (rows := await asyncio.to_thread(_next, relay)) is not None:
        yield rows


@contextmanager
def _relay(
    source: Source, table: str, conninfo: str | None, options: CopyOptions
) -> Iterator[Relay]:
    source.check(options)
    given = spec("copy", CopyOptions, options, conninfo, table) | source.options()
    relay = Relay(json.dumps(given), source.input)
    try:
        yield relay
    except Failure as failure:
        error = raised(failure)
        if error.sqlstate == "42P01":
            error = no_such_table(
                table,
                "If this transaction created the table, commit it first. If conninfo names another"
                " database, set conninfo to the database of the connection.",
            )
        raise error from failure.args[2]
    finally:
        relay.stop()
        if source.feed is not None:
            source.feed.end()


def _next(relay: Relay, feed: Feed | None = None) -> Any:
    """Return what comes next: a COPY that begins, rows for it, or None at the end of either."""
    while (piece := relay.next(_pause(feed))) is False:
        pass
    return piece


def _pause(feed: Feed | None) -> float:
    """Feed the rows that wait for more, and return how long to wait for others then."""
    return 0 if feed is not None and feed.go_on(_MOMENT) else _PAUSE


def _found(table: str, name: str | None) -> str:
    if name is None:
        raise no_such_table(table)
    return name


def _result(relay: Relay, stored: int) -> CopyResult:
    table, read = relay.so_far()
    return CopyResult(table=table, rows_read=read, rows_inserted=stored)
