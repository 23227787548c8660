"""`AsyncWriter`: a `Writer` for asyncio. It waits in threads, one at a time.

asyncio takes most of the time of `import pgsluice`, so functions import it where they need it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, Unpack

from pgsluice.errors import DataError
from pgsluice.options import WriterOptions
from pgsluice.result import Receipt
from pgsluice.writer import Writer

# Seconds between requests to stop.
_PAUSE = 0.1

T = TypeVar("T")


class AsyncWriter:
    """A `Writer` for asyncio, which lets other tasks continue.

    Open it with `async with`. It calls `on_reject` in a separate thread. If a task is cancelled
    while its rows are sent, the writer stops the flush cleanly and waits for its end.
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
        reject_table: str | None = None,
        shared: bool = False,
        **options: Unpack[WriterOptions],
    ) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._open = lambda: Writer(
            table,
            conninfo,
            flush_rows=flush_rows,
            flush_bytes=flush_bytes,
            flush_seconds=flush_seconds,
            durability=durability,
            on_reject=on_reject,
            reject_table=reject_table,
            shared=shared,
            **options,
        )
        self._writer: Writer | None = None
        self._is_over = False
        self._thread = ThreadPoolExecutor(1, "pgsluice")

    @property
    def load_id(self) -> str | None:
        """The name of the writer in the ledger, or None if it has no load id."""
        return self._opened().load_id

    @property
    def position(self) -> Any:
        """The position of the last committed rows, or None."""
        return self._opened().position

    @property
    def rows_waiting(self) -> int:
        """The number of rows that were written and are not known to be committed."""
        return self._opened().rows_waiting

    async def positions(self, participants: Iterable[str]) -> dict[str, Any]:
        """Open these participants, and close all others. Return the position of each, or None."""
        writer = self._opened()
        return await self._run(lambda: writer.positions(participants))

    async def write(
        self,
        batch: Any,
        *,
        position: Any = None,
        positions: Mapping[str, tuple[Any, Any]] | None = None,
        rejects: Sequence[Mapping[str, Any]] = (),
    ) -> Receipt | None:
        """Add rows. Return a receipt if enough rows waited to be sent."""
        writer = self._opened()
        return await self._run(
            lambda: writer.write(batch, position=position, positions=positions, rejects=rejects)
        )

    async def flush(self) -> Receipt:
        """Send the waiting rows. Return when they are committed and durable."""
        return await self._run(self._opened().flush)

    async def discard(self, *, bad_only: bool = False) -> int:
        """Drop the waiting rows, or only the bad ones. Return their number."""
        writer = self._opened()
        return await self._run(lambda: writer.discard(bad_only=bad_only))

    def report_lag(self, messages: int) -> None:
        """Show in the metrics how many messages of a stream are not committed yet."""
        self._opened().report_lag(messages)

    async def close(self) -> None:
        """Send the waiting rows, and close the writer. It stays open if that fails."""
        await self._run(self._opened().close)

    async def __aenter__(self) -> Self:
        self._writer = await self._run(self._open)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None
    ) -> None:
        writer = self._opened()
        try:
            await self._run(lambda: writer.__exit__(kind, error, traceback))
        finally:
            self._is_over = True
            self._thread.shutdown(wait=False)

    def _opened(self) -> Writer:
        if self._writer is None:
            raise ValueError("the Writer is not open: use async with pgsluice.AsyncWriter(...)")
        return self._writer

    async def _run(self, work: Callable[[], T]) -> T:
        import asyncio

        if self._is_over:
            raise ValueError("the Writer is closed")
        future = self._thread.submit(work)
        running = asyncio.wrap_future(future)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            while not future.cancel() and not future.done():
                if self._writer is not None:
                    self._writer.stop()
                await asyncio.wait([running], timeout=_PAUSE)
            await asyncio.wait([running])
            if not running.cancelled():
                # The writer reports the error, and keeps the rows.
                running.exception()
            raise
