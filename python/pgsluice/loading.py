"""`load` and `aload`: load data into a table."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Unpack

from pgsluice.data import source_of
from pgsluice.logs import log_events, warn
from pgsluice.options import Options, signed, spec
from pgsluice.progress import Show, shown
from pgsluice.result import LoadResult
from pgsluice.running import PAUSE, begin, finish, note, result, tell


@signed(Options)
def load(
    data: Any,
    table: str,
    conninfo: str | None = None,
    *,
    progress: bool | Show | None = None,
    **options: Unpack[Options],
) -> LoadResult:
    """Load data into a table, each row straight into its leaf, and return the result.

    `data` is a path or pattern or a list of them; an object with Arrow data (of pyarrow, polars,
    pandas, DuckDB) or an iterable of such objects; a binary file; an iterable of dicts or tuples,
    such as a list, a generator, a `csv.DictReader` or a cursor; or a `relation`, which is a table
    of a server. `table` is written as in SQL. `conninfo` is a conninfo string or URL. By default,
    the PG* variables name the server, and without these the embedded server is used.

    `progress` is True to show the progress, or a function that is called with a `Progress` at
    intervals. The options are those of the command line: see `Options`.

    Notices, warnings and events go to the logger "pgsluice". If no handler takes its warnings, they
    are given as `LoadWarning`. Raises `Error` or one of its subclasses. If the data raises, that
    exception is its `__cause__`. An exception that ends the wait, such as KeyboardInterrupt or an
    exception of a callback, stops the load cleanly and is raised.
    """
    return load_for(None, data, table, conninfo, options, progress)


def load_for(
    keywords: Iterable[str] | None,
    data: Any,
    table: str,
    conninfo: str | None,
    options: Mapping[str, Any],
    progress: bool | Show | None = None,
) -> LoadResult:
    """Do what `load` does, for a caller with other keywords. Hints name only these."""
    given, source = spec("load", Options, options, conninfo, table), source_of(data)
    source.check(options)
    with shown(progress) as show:
        running = begin("load", given, source, keywords=keywords)
        loaded = LoadResult.from_summary(finish(running, show, source.feed))
    warn(loaded.warnings)
    return loaded


@signed(Options)
async def aload(
    data: Any,
    table: str,
    conninfo: str | None = None,
    *,
    progress: bool | Show | None = None,
    **options: Unpack[Options],
) -> LoadResult:
    """Do what `load` does, while other tasks continue.

    Cancelling the task stops the load cleanly and waits for its end. A note of the CancelledError
    gives the committed rows, and the `load_id` with which the rest can be loaded.
    """
    import asyncio

    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        # The loop may be closed when an abandoned load ends.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(ended.set)

    async def pause() -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(PAUSE):
                await ended.wait()

    given = spec("aload", Options, options, conninfo, table)
    source = await asyncio.to_thread(source_of, data, is_fed=False)
    source.check(options)
    with shown(progress) as show:
        running = begin("load", given, source, wake)
        try:
            while not running.wait(0):
                await pause()
                tell(running, show)
        except BaseException as reason:
            running.stop()
            # If it is cancelled again, it does not wait any longer.
            with suppress(asyncio.CancelledError):
                while not running.wait(0):
                    await pause()
                note(running, reason)
            raise
        finally:
            log_events(running)
    loaded = LoadResult.from_summary(result(running))
    warn(loaded.warnings)
    return loaded
