"""`load` and `aload`: begin a load, wait for it, and stop it if the wait ends before it does.

The load runs in threads of its own and does not hold the interpreter, except to ask an iterator
or a file for more. So a signal, a task that is cancelled and a callback that raises are all one
case: the wait ends by an exception.
"""

import asyncio
import atexit
import inspect
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Unpack
from weakref import WeakSet

from pgsluice._native import Load
from pgsluice.data import source_of
from pgsluice.errors import error_of
from pgsluice.options import Options, arguments
from pgsluice.postgres import name_programs
from pgsluice.progress import Progress, Show, shown
from pgsluice.result import LoadResult

# Seconds after which a signal is seen, and between two calls of a callback.
_PAUSE = 0.1
# Seconds that the interpreter waits at its end for loads that were stopped.
_LAST = 5.0

_running: WeakSet[Load] = WeakSet()


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
        running = _begin(data, table, conninfo, options)
        try:
            while not running.wait(_PAUSE):
                _show(running, show)
        except BaseException as reason:
            running.stop()
            while not running.wait(_PAUSE):
                pass
            _note(running, reason)
            raise
    return _result(running)


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
            async with asyncio.timeout(_PAUSE):
                await ended.wait()

    with shown(progress) as show:
        running = _begin(data, table, conninfo, options, wake)
        try:
            while not running.wait(0):
                await pause()
                _show(running, show)
        except BaseException as reason:
            running.stop()
            while not running.wait(0):
                await pause()
            _note(running, reason)
            raise
    return _result(running)


def _begin(
    data: Any,
    table: str,
    conninfo: str | None,
    options: Options,
    ended: Callable[[], object] | None = None,
) -> Load:
    args = arguments(table, conninfo, options)
    source = source_of(data)
    if source.format:
        if options.get("format"):
            raise TypeError("format is for files, and data is rows")
        args.append(f"--format={source.format}")
    name_programs()
    running = Load([*args, "--", *source.names], source.input, ended)
    _running.add(running)
    return running


def _show(running: Load, show: Show | None) -> None:
    if show:
        show(Progress(**running.progress()))


def _result(running: Load) -> LoadResult:
    outcome, text, cause = running.outcome()
    if text is not None:
        raise error_of(text, json.loads(outcome)) from cause
    return LoadResult.of(json.loads(outcome))


def _note(running: Load, reason: BaseException) -> None:
    """Say beside the reason why a load was stopped what is in, and how the rest is loaded."""
    outcome, text, _ = running.outcome()
    if text is not None:
        reason.add_note(f"pgsluice: {error_of(text, json.loads(outcome))}")


@atexit.register
def _stop_all() -> None:
    for running in list(_running):
        running.stop()
    for running in list(_running):
        running.wait(_LAST)


def _signed(function: Callable[..., Any]) -> None:
    """Have `help` show the options one by one."""
    signature = inspect.signature(function)
    parameters = [each for each in signature.parameters.values() if each.kind != each.VAR_KEYWORD]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters += [
        inspect.Parameter(name, keyword, default=None, annotation=annotation)
        for name, annotation in Options.__annotations__.items()
    ]
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]


_signed(load)
_signed(aload)
