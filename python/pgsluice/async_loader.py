"""`AsyncLoader`: a `Loader` for asyncio. Its waits are those of threads, one at a time.

`import pgsluice` takes most of its time for asyncio, so that is imported where it is needed.
"""

from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, Unpack

from pgsluice.errors import DataError
from pgsluice.loader import Loader, Receipt
from pgsluice.options import LoaderOptions

# Seconds after which what is to stop is asked again to.
_PAUSE = 0.1

T = TypeVar("T")


class AsyncLoader:
    """Does what `Loader` does, while other tasks go on.

    It opens with `async with`, and calls `on_reject` in a thread of its own. A task that is
    cancelled while its rows are sent stops that in order, and waits for its end.
    """

    def __init__(
        self,
        table: str,
        conninfo: str | None = None,
        *,
        flush_rows: int | None = 10_000,
        flush_bytes: int | None = 8 << 20,
        flush_seconds: float | timedelta | None = 1.0,
        durability: Literal["commit", "flush"] = "commit",
        on_reject: Callable[[Any, DataError], object] | None = None,
        **options: Unpack[LoaderOptions],
    ) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._open = lambda: Loader(
            table,
            conninfo,
            flush_rows=flush_rows,
            flush_bytes=flush_bytes,
            flush_seconds=flush_seconds,
            durability=durability,
            on_reject=on_reject,
            **options,
        )
        self._loader: Loader | None = None
        self._is_over = False
        self._thread = ThreadPoolExecutor(1, "pgsluice")

    @property
    def load_id(self) -> str | None:
        """The name by which the ledger knows the loader, if it does."""
        return self._opened().load_id

    @property
    def position(self) -> Any:
        """The position of the last rows that are in; None if there is none."""
        return self._opened().position

    @property
    def rows_waiting(self) -> int:
        """Rows that were written and are not known to be in."""
        return self._opened().rows_waiting

    async def write(self, batch: Any, *, position: Any = None) -> Receipt | None:
        """Add rows; return what was sent, if there was enough of it."""
        loader = self._opened()
        return await self._run(lambda: loader.write(batch, position=position))

    async def flush(self) -> Receipt:
        """Send what waits, and return when it is in the table, and durable."""
        return await self._run(self._opened().flush)

    async def discard(self, *, bad_only: bool = False) -> int:
        """Drop the rows that wait, or those that the server refuses; return how many they were."""
        loader = self._opened()
        return await self._run(lambda: loader.discard(bad_only=bad_only))

    async def close(self) -> None:
        """Send what waits, and close the loader. It stays open if that fails."""
        await self._run(self._opened().close)

    async def __aenter__(self) -> Self:
        self._loader = await self._run(self._open)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None
    ) -> None:
        loader = self._opened()
        try:
            await self._run(lambda: loader.__exit__(kind, error, traceback))
        finally:
            self._is_over = True
            self._thread.shutdown(wait=False)

    def _opened(self) -> Loader:
        if self._loader is None:
            raise ValueError("the loader is not open: use async with pgsluice.AsyncLoader(...)")
        return self._loader

    async def _run(self, work: Callable[[], T]) -> T:
        import asyncio

        if self._is_over:
            raise ValueError("the loader is closed")
        future = self._thread.submit(work)
        running = asyncio.wrap_future(future)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            while not future.cancel() and not future.done():
                if self._loader is not None:
                    self._loader.stop()
                await asyncio.wait([running], timeout=_PAUSE)
            await asyncio.wait([running])
            if not running.cancelled():
                # It is told by the loader, whose rows stay.
                running.exception()
            raise
