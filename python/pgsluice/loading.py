"""`load` and `aload`: what is handed over goes into a table."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Unpack

from pgsluice._native import Command
from pgsluice.data import source_of
from pgsluice.options import Options, arguments, signed
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
    pandas, DuckDB) or an iterable of such; a binary file; or a list of dicts or of tuples.
    `table` is written as in SQL. `conninfo` is a conninfo string or URL; without it the PG*
    variables say where the server is, and without these it is the embedded one.

    `progress` is True to show it, or is called with a `Progress` now and then. The options are
    those of the command line: see `Options`.

    Raises `LoadError`, by its kinds. Data that raises is its `__cause__`. What ends the wait,
    as KeyboardInterrupt or a callback that raises, stops the load in order and is raised.
    """
    with shown(progress) as show:
        return LoadResult.of(finish(_begin(data, table, conninfo, options), show))


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

    A task that is cancelled stops the load in order, and waits for its end.
    """
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        # The loop may be closed when a load ends that was given up.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(ended.set)

    async def pause() -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(PAUSE):
                await ended.wait()

    with shown(progress) as show:
        running = _begin(data, table, conninfo, options, wake)
        try:
            while not running.wait(0):
                await pause()
                tell(running, show)
        except BaseException as reason:
            running.stop()
            while not running.wait(0):
                await pause()
            note(running, reason)
            raise
    return LoadResult.of(result(running))


def _begin(
    data: Any,
    table: str,
    conninfo: str | None,
    options: Options,
    ended: Callable[[], object] | None = None,
) -> Command:
    args = arguments("load", Options, options, conninfo, table)
    source = source_of(data)
    return begin([*args, *source.options(options)], source, ended)
