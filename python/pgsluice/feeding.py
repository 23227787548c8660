"""Rows that come one after the other: the thread that waits for a load asks for them.

So a generator runs where it was made, as cursors of some databases have to. A load takes the pieces
in a thread of its own.
"""

import queue
from collections.abc import Iterator

# Pieces that may wait for the load.
_WAITING = 4


class Feed:
    """Pieces that one thread gets from an iterator, and another one takes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._ready: queue.Queue[bytes | Exception | None] = queue.Queue(_WAITING)
        self._next: bytes | Exception | None = None
        self._has_next = False
        self._is_over = False

    def __iter__(self) -> Iterator[bytes]:
        """Take the pieces, as the load does."""
        while (piece := self._ready.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def go_on(self, seconds: float) -> bool:
        """Get the next piece, and wait for room for it, but not longer; return whether more come.

        What ends the wait for a piece, as KeyboardInterrupt, is raised; an error is handed over.
        """
        if self._is_over:
            return False
        if not self._has_next:
            try:
                self._next = next(self._pieces, None)
            except Exception as error:
                self._next = error
            self._has_next = True
        try:
            self._ready.put(self._next, timeout=seconds)
        except queue.Full:
            return True
        self._has_next = False
        self._is_over = not isinstance(self._next, bytes)
        return not self._is_over

    def end(self) -> None:
        """Let go of the thread that takes pieces: for it the rows do not end, but break off."""
        self._is_over = True
        while True:
            try:
                self._ready.put_nowait(InterruptedError("the rows ended early"))
            except queue.Full:
                self._ready.get_nowait()
            else:
                return
