"""The progress of a load, for a callback or for people."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of a load."""

    rows_read: int
    rows_loaded: int
    """Rows that this run has committed."""
    rows_rejected: int
    rows_already_loaded: int
    """Rows that earlier runs of the load had committed, as far as they were read again."""
    bytes_read: int
    bytes_total: int | None
    """The bytes of all data, where that is known."""
    waiting_for: str | None
    """The reason why the load waits; None if it does not."""


Show = Callable[[Progress], object]

# Seconds between two lines if no bar can be drawn.
_LINE = 10.0


@contextmanager
def shown(progress: bool | Show | None) -> Iterator[Show | None]:
    """Yield the function to call with the progress at intervals, or None if it is not wanted."""
    if callable(progress):
        yield progress
    elif not progress:
        yield None
    elif not sys.stderr.isatty():
        yield _lines(sys.stderr)
    else:
        try:
            from rich.console import Console
            from rich.progress import Progress as Bar
        except ImportError:
            yield _lines(sys.stderr)
            return
        with Bar(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("loading", total=None)
            yield lambda now: bar.update(
                task,
                total=now.bytes_total,
                completed=now.bytes_read if now.bytes_total else now.rows_loaded,
                description=_text(now),
            )


def _lines(out: TextIO) -> Show:
    due = time.monotonic() + _LINE

    def show(now: Progress) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due += _LINE
            print(f"pgsluice: {_text(now)}", file=out)

    return show


def _text(now: Progress) -> str:
    return now.waiting_for or f"{now.rows_loaded:,} rows"
