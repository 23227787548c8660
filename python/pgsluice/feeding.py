"""Feeding rows to a load: the thread that waits for the load reads them from the iterator.

So a generator runs in the thread that made it, which the cursors of some databases require. The
load takes the pieces in a separate thread.
"""

import queue
from collections.abc import Iterator

# Maximum number of pieces that wait for the load.
_WAITING = 4


class Feed:
    """Pieces that one thread reads from an iterator, and another thread takes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._ready: queue.Queue[bytes | Exception | None] = queue.Queue(_WAITING)
        self._next: bytes | Exception | None = None
        self._has_next = False
        self._is_over = False

    def __iter__(self) -> Iterator[bytes]:
        """Yield the pieces to the load."""
        while (piece := self._ready.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def go_on(self, seconds: float) -> bool:
        """Get the next piece, and wait at most `seconds` for room. Return whether more follow.

        An exception that ends the wait for a piece, such as KeyboardInterrupt, is raised here. An
        error of the iterator goes to the load.
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
        """Release the thread that takes pieces. For it, the rows are cut off instead of ending."""
        self._is_over = True
        while True:
            try:
                self._ready.put_nowait(InterruptedError("the rows ended early"))
            except queue.Full:
                self._ready.get_nowait()
            else:
                return
