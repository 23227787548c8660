"""`copy` and `acopy`: COPY on the caller's own connection, in its own transaction.

The rows are routed, gathered and encoded as in a load. Then the connection's COPY sends them to
the root, in turns from several leaves. The server routes each row itself, as usual.
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

# Seconds until a signal is noticed.
_PAUSE = 0.1
# Seconds that fed rows wait for room, while other rows may be ready to be sent.
_MOMENT = 0.01
# The hint for a relation, which copy() cannot read.
_INSTEAD = (
    "Use pgsluice.load, or for rows in the connection's own database and transaction execute"
    " INSERT INTO ... SELECT."
)


@dataclass(frozen=True, kw_only=True)
class CopyResult:
    """The number of copied rows, which are visible once the transaction is committed."""

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
    """Copy data into a table on a psycopg (3) connection, without a commit.

    `data` and `table` are the same as for `load`. A separate session reads the partition tree. It
    connects like `connection`, unless `conninfo` names another way to the same server. A
    connection in autocommit mode without a transaction copies all rows in one transaction.

    Raises `Error` for problems with the data, and psycopg's exceptions for rows that the server
    refuses. As after any failed COPY, the transaction must then be rolled back.
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

    name = _check_found(table, ask(table_name(table)))
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
    """Do what `copy` does on an asynchronous connection of psycopg (3) or asyncpg.

    asyncpg does not expose its login parameters. Without `conninfo`, only the database and the
    user are taken from the connection, and the PG* variables name the server.
    """
    import asyncio

    driver = driver_of(connection)
    check_names("acopy", table, conninfo)
    refuse_relation("acopy", data, _INSTEAD)
    async with driver.transaction():
        name = _check_found(table, await driver.ask(table_name(table)))
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
    """Return the next event: the start of a COPY, rows for it, or None at the end of either."""
    while (piece := relay.next(_pause(feed))) is False:
        pass
    return piece


def _pause(feed: Feed | None) -> float:
    """Feed the waiting rows, and return how long to wait for more."""
    return 0 if feed is not None and feed.go_on(_MOMENT) else _PAUSE


def _check_found(table: str, name: str | None) -> str:
    if name is None:
        raise no_such_table(table)
    return name


def _result(relay: Relay, stored: int) -> CopyResult:
    table, read = relay.so_far()
    return CopyResult(table=table, rows_read=read, rows_inserted=stored)
