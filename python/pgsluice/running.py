"""Commands of the native module: start one, wait for it, and stop it if the wait ends early.

A command runs in its own threads and does not hold the interpreter lock, except to read from an
iterator or a file. So a signal, a cancelled task and a failing callback are the same case: an
exception ends the wait.
"""

import atexit
import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from pgsluice._native import Command
from pgsluice.data import Source
from pgsluice.errors import error_of
from pgsluice.feeding import Feed
from pgsluice.logs import level, log_events
from pgsluice.progress import Progress, Show

# Seconds until a signal is noticed, and between two calls of a callback.
PAUSE = 0.1
# Seconds that the interpreter waits at exit for stopped commands.
_LAST = 5.0

_running: WeakSet[Command] = WeakSet()


def begin(
    command: str,
    options: dict[str, Any],
    source: Source | None = None,
    ended: Callable[[], object] | None = None,
    keywords: Iterable[str] | None = None,
) -> Command:
    """Start a command with the data of a source. Hints name only the `keywords`."""
    if source is not None:
        options |= source.options()
    named = None if keywords is None else list(keywords)
    given = source.input if source else None
    running = Command(command, json.dumps(options), given, ended, named, level())
    _running.add(running)
    return running


def finish(running: Command, show: Show | None = None, feed: Feed | None = None) -> Any:
    """Wait for the end of a command, and return its `--json` object."""
    wait(running, show, feed)
    return result(running)


def wait(running: Command, show: Show | None = None, feed: Feed | None = None) -> None:
    """Wait for the end of a command, feeding it, and stop it if the wait ends early."""
    told, is_fed = time.monotonic(), feed is not None
    try:
        while not running.wait(0 if is_fed else PAUSE):
            is_fed = feed is not None and feed.go_on(PAUSE)
            if not is_fed or time.monotonic() - told >= PAUSE:
                told = time.monotonic()
                tell(running, show)
    except BaseException as reason:
        running.stop()
        if feed is not None:
            feed.end()
        # After a second Ctrl-C, do not wait any longer. The user sees only the first interrupt.
        with suppress(KeyboardInterrupt):
            while not running.wait(PAUSE):
                pass
            note(running, reason)
        log_events(running)
        raise
    if feed is not None:
        feed.end()
    log_events(running)


def tell(running: Command, show: Show | None) -> None:
    """Log the events of a command, and call `show`, if given, with its progress."""
    log_events(running)
    if show:
        show(Progress(**running.progress()))


def result(running: Command) -> Any:
    """Return the `--json` object of a finished command, or raise its error."""
    return json.loads(raw(running))


def raw(running: Command) -> Any:
    """Return the result of a finished command, or raise its error."""
    outcome, text, cause = running.outcome()
    if text is not None:
        raise error_of(text, json.loads(outcome)) from cause
    return outcome


def note(running: Command, reason: BaseException) -> None:
    """Add a note to the exception that stopped a command.

    It tells how many rows are committed, and how to load the rest.
    """
    outcome, text, _ = running.outcome()
    if text is not None:
        reason.add_note(f"pgsluice: {error_of(text, json.loads(outcome))}")


@atexit.register
def _stop_all() -> None:
    for running in list(_running):
        running.stop()
    for running in list(_running):
        running.wait(_LAST)
