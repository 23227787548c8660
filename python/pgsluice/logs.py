"""Events of the extension as records of `logging`, and the warnings of loads.

The extension queues its events. The thread that waits for a load or a flush takes them, so that
handlers never delay the connections.
"""

import logging
import sys
import warnings
from collections.abc import Iterable

from pgsluice._native import Command, Writer

LOGGER = logging.getLogger("pgsluice")
# Without it, `logging` would print warnings of programs that have not set up logging.
LOGGER.addHandler(logging.NullHandler())


class LoadWarning(UserWarning):
    """A warning of a load, such as that the same input was loaded before."""


def level() -> int:
    """Return the least level that the logger takes."""
    return min(LOGGER.getEffectiveLevel(), logging.CRITICAL)


def log_events(source: Command | Writer) -> None:
    """Log the events of a command or a writer since the last call."""
    for severity, text in source.events():
        LOGGER.log(severity, "%s", text)


def warn(texts: Iterable[str]) -> None:
    """Give the warnings of a finished load, unless a handler has them already."""
    if _is_handled():
        return
    for text in texts:
        warnings.warn(text, LoadWarning, stacklevel=_caller())


def _is_handled() -> bool:
    logger: logging.Logger | None = LOGGER
    while logger is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            return LOGGER.isEnabledFor(logging.WARNING)
        logger = logger.parent if logger.propagate else None
    return False


def _caller() -> int:
    """Return the stack level, as `warn` counts it, of the code that called this package."""
    found, frame = 0, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == "pgsluice":
        found, frame = found + 1, frame.f_back
    return found + 1
