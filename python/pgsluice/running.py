"""Commands of the native module: begin one, wait for it, stop it if the wait ends before it.

A command runs in threads of its own and does not hold the interpreter, except to ask an iterator
or a file for more. So a signal, a task that is cancelled and a callback that raises are all one
case: the wait ends by an exception.
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
from pgsluice.progress import Progress, Show

# Seconds after which a signal is seen, and between two calls of a callback.
PAUSE = 0.1
# Seconds that the interpreter waits at its end for commands that were stopped.
_LAST = 5.0

_running: WeakSet[Command] = WeakSet()


def begin(
    command: str,
    options: dict[str, Any],
    source: Source | None = None,
    ended: Callable[[], object] | None = None,
    keywords: Iterable[str] | None = None,
) -> Command:
    """Begin a command with the data of a source. Hints name only those of the `keywords`."""
    if source is not None:
        options |= source.options()
    named = None if keywords is None else list(keywords)
    running = Command(command, json.dumps(options), source.input if source else None, ended, named)
    _running.add(running)
    return running


def finish(running: Command, show: Show | None = None, feed: Feed | None = None) -> Any:
    """Wait for the end of a command, and return the object that `--json` has."""
    wait(running, show, feed)
    return result(running)


def wait(running: Command, show: Show | None = None, feed: Feed | None = None) -> None:
    """Wait for the end of a command, and stop it if the wait ends before. Feed it meanwhile."""
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
        # Who presses Ctrl-C again does not wait any longer, and sees the first interrupt alone.
        with suppress(KeyboardInterrupt):
            while not running.wait(PAUSE):
                pass
            note(running, reason)
        raise
    if feed is not None:
        feed.end()


def tell(running: Command, show: Show | None) -> None:
    """Say how far a command is, to who wants to know."""
    if show:
        show(Progress(**running.progress()))


def result(running: Command) -> Any:
    """Return the object that `--json` has for a command that is over, or raise its error."""
    return json.loads(raw(running))


def raw(running: Command) -> Any:
    """Return the outcome of a command that is over, or raise its error."""
    outcome, text, cause = running.outcome()
    if text is not None:
        raise error_of(text, json.loads(outcome)) from cause
    return outcome


def note(running: Command, reason: BaseException) -> None:
    """Say beside the reason why a command was stopped what is in, and how the rest is loaded."""
    outcome, text, _ = running.outcome()
    if text is not None:
        reason.add_note(f"pgsluice: {error_of(text, json.loads(outcome))}")


@atexit.register
def _stop_all() -> None:
    for running in list(_running):
        running.stop()
    for running in list(_running):
        running.wait(_LAST)
