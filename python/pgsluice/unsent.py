"""A warning at the end of the program about rows that were written and not sent."""

import atexit
import os
import warnings
from typing import Protocol
from weakref import WeakKeyDictionary


class HasRows(Protocol):
    """A writer, as far as this module knows it."""

    @property
    def rows_waiting(self) -> int: ...


# Open writers with the process that opened them: after a fork, the child does not have their rows.
_open: WeakKeyDictionary[HasRows, int] = WeakKeyDictionary()


def watch(writer: HasRows) -> None:
    """Warn at the end if this writer still has rows."""
    _open[writer] = os.getpid()


def forget(writer: HasRows) -> None:
    """Do not warn about a writer that is closed."""
    _open.pop(writer, None)


@atexit.register
def _warn() -> None:
    for writer, process in list(_open.items()):
        if (rows := writer.rows_waiting) and process == os.getpid():
            warnings.warn(
                f"{rows} rows were written but not sent: the Writer was not closed",
                RuntimeWarning,
                stacklevel=1,
            )
