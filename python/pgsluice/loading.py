"""`load` and `aload`: what is handed over goes into a table."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Unpack

from pgsluice.data import source_of
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
    """Load data into a table, each row straight into its leaf, and return what became of it.

    `data` is a path or pattern or a list of them; an object with Arrow data (of pyarrow, polars,
    pandas, DuckDB) or an iterable of such; a binary file; an iterable of dicts or of tuples, as a
    list, a generator, a `csv.DictReader` or a cursor; or a `relation`, a table of a server.
    `table` is written as in SQL. `conninfo` is a conninfo string or URL; without it the PG*
    variables say where the server is, and without these it is the embedded one.

    `progress` is True to show it, or is called with a `Progress` now and then. The options are
    those of the command line: see `Options`.

    Raises `Error`, by its kinds. Data that raises is its `__cause__`. What ends the wait,
    as KeyboardInterrupt or a callback that raises, stops the load in order and is raised.
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
    """Do what `load` does, for a caller with its own keywords: hints name no others."""
    given, source = spec("load", Options, options, conninfo, table), source_of(data)
    source.check(options)
    with shown(progress) as show:
        running = begin("load", given, source, keywords=keywords)
        return LoadResult.of(finish(running, show, source.feed))


@signed(Options)
async def aload(
    data: Any,
    table: str,
    conninfo: str | None = None,
    *,
    progress: bool | Show | None = None,
    **options: Unpack[Options],
) -> LoadResult:
    """Do what `load` does, while other tasks go on.

    A task that is cancelled stops the load in order, and waits for its end. A note of the
    CancelledError says what is in, and the `load_id` by which the rest is loaded.
    """
    import asyncio

    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        # The loop may be closed when a load ends that was given up.
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
            # Cancelled again, it does not wait any longer.
            with suppress(asyncio.CancelledError):
                while not running.wait(0):
                    await pause()
                note(running, reason)
            raise
    return LoadResult.of(result(running))
