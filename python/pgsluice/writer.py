"""`Writer`: rows that come a few at a time, from a program that runs long.

What was written waits until there is enough of it, or until it has waited long enough; then all of
it goes in one transaction. One thread speaks to the server. The locks here decide which rows go
together, and who waits.
"""

import atexit
import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any, Literal, Self, Unpack
from weakref import ReferenceType, WeakSet, ref

from pgsluice._native import Doing
from pgsluice.batches import Along, Batch, Kind, Waiting, check
from pgsluice.errors import DataError, Error
from pgsluice.options import PlaceOptions, WriterOptions, spec
from pgsluice.result import Receipt, RowCounts
from pgsluice.session import Outcome, Session

_open: "WeakSet[Writer]" = WeakSet()


class Writer:
    """Writes rows into a table, a few at a time.

    `table`, `conninfo` and the options are as `load` has them. What was written goes when it has
    `flush_rows` rows or `flush_bytes` bytes, or `flush_seconds` after the first of it came; None is
    for never. Each time it is one transaction.

    `durability` is "commit" if rows are to be durable when they are sent, or "flush" if only
    `flush` and `close` are to wait for that: a crash of the server may then undo commits since the
    last `flush`, and their position with them. The next call raises `ConnectError` with
    `rows_in_doubt`, unless it is proven that no row is lost.

    With a `load_id`, `write` takes positions, which are stored in the rows' own transaction.
    `position` is the last one: a program that goes on from there writes each row once. Of several
    writers of one name the last one that was opened works, and the others fail. A writer is opened
    again with the same `on_conflict` and its options, and under the same session settings.

    `on_reject` is called with each row that the server refuses, as it was given, and the error.
    Then the other rows of the flush are sent without it, in one transaction. If it raises, nothing
    is sent. Without it a row that is refused keeps all others from being sent, and the error has
    its number.

    With `shared` several writers of one `load_id` work side by side. Each opens participants of its
    own by `positions`, such as the partitions of a topic, and `write` moves these.

    Rows that `on_reject` returns, mappings by column, are stored in `reject_table` in the
    transaction of the flush.

    `on_conflict` and its options are those of `load`. Of several rows of a key one counts in each
    flush.

    Several threads may use it. Raises `Error`, by its kinds.
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
        if durability not in ("commit", "flush"):
            raise ValueError(f'durability must be "commit" or "flush", not {durability!r}')
        if isinstance(flush_seconds, timedelta):
            flush_seconds = flush_seconds.total_seconds()
        self._is_lazy = durability == "flush"
        self._on_reject, self._reject_table = on_reject, reject_table
        self._is_update = options.get("on_conflict") == "update"
        self._limits = (flush_rows, flush_bytes, flush_seconds)
        given = spec("Writer", WriterOptions, options, conninfo, table)
        self._reading = json.dumps(given)
        place = {name: given[name] for name in _OF_PLACE & given.keys()}
        self._pid = os.getpid()
        # The one is held while rows are added or taken; the other while rows are sent.
        self._filling, self._sending = threading.RLock(), threading.RLock()
        self._kind: Kind | None = None
        self._waiting = Waiting()
        # What could not be sent; it goes again before all others, by itself.
        self._returned: Waiting | None = None
        self._failure: BaseException | None = None
        self._is_closed = False
        self._has_position = False
        self._session = Session()
        self._writer = self._session.writer
        opening = json.dumps(place)
        outcome = self._session.wait(lambda: self._writer.open(opening, self._is_lazy, shared))
        self.load_id: str | None = outcome[0]
        """The name by which the ledger knows the writer, if it does."""
        _open.add(self)
        if flush_seconds is not None:
            threading.Thread(
                target=_flush_in_time, args=(ref(self), flush_seconds), daemon=True
            ).start()

    @property
    def position(self) -> Any:
        """The position of the last rows that are in; None if there is none.

        After an error that rows are lost, the ledger is read again. Go on from here.
        """
        position = self._session.position
        return None if position is None else json.loads(position)

    @property
    def rows_waiting(self) -> int:
        """Rows that were written and are not known to be in."""
        with self._filling:
            return self._waiting.waiting + (self._returned.waiting if self._returned else 0)

    def positions(self, participants: Iterable[str]) -> dict[str, Any]:
        """Open these participants, and no others; return the position of each, or None.

        Of several writers that open a participant the last one moves it: nothing that another one
        has under way for it is committed from then on. Rows must not wait: `flush` or `discard`
        them before.
        """
        names = sorted(set(participants))
        with self._sending, self._filling:
            self._check_open()
            if self.rows_waiting:
                raise ValueError("rows wait for participants: flush or discard them first")
            self._failure = None
            outcome = self._session.wait(lambda: self._writer.participants(names))
        given = (None if said is None else json.loads(said) for said in outcome[5])
        return dict(zip(names, given, strict=True))

    def write(
        self,
        batch: Any,
        *,
        position: Any = None,
        positions: Mapping[str, tuple[Any, Any]] | None = None,
        rejects: Sequence[Mapping[str, Any]] = (),
    ) -> Receipt | None:
        """Add rows; return what was sent, if there was enough of it.

        `batch` is an object with Arrow data in memory, or an iterable of dicts or of tuples: each
        time of the same kind. An iterator is taken to its end first. The names of a batch lead to
        columns; one with other columns than the batch before it may need its own transaction.
        `position` is any value that JSON has. `positions` has, by participant, the position before
        the batch and the one behind it. `rejects` are rows for the reject table.

        If sending fails, the rows stay. They go again with the next, unless `discard` drops them.
        An error about one of them has its `row`, a number among the rows that wait, and the
        `batch` and `row_of_batch`.
        """
        taken = Batch.of(batch, self._on_reject is not None)
        along = Along.of(position, positions, rejects)
        with self._filling:
            self._check()
            is_placed = along.position is not None or bool(along.steps)
            if is_placed and self.load_id is None:
                raise ValueError("a position is stored under the writer's load_id: set load_id")
            if rejects and self._reject_table is None:
                raise ValueError("rejected rows are stored in the reject table: set reject_table")
            self._kind = check(self._kind, taken) if taken.rows else self._kind
            self._waiting.add(taken, along, time.monotonic())
            self._has_position = self._has_position or is_placed
            is_enough = self._is_enough()
        return self._send_if(self._is_enough) if is_enough else None

    def flush(self) -> Receipt:
        """Send what waits, and return when it is in the table, and durable."""
        with self._filling:
            self._check()
        receipt = self._send_if(lambda: True)
        self._make_durable()
        return receipt

    def discard(self, *, bad_only: bool = False) -> int:
        """Drop the rows that wait, as behind an error of theirs; return how many they were.

        With `bad_only` those of the flush that has failed are tried, and the rows that the server
        refuses are dropped. The others wait on.
        """
        if bad_only:
            return self._discard_bad()
        with self._sending, self._filling:
            dropped = self.rows_waiting
            self._waiting, self._returned, self._failure = Waiting(), None, None
            if not self._is_closed:
                self._session.wait(self._writer.give_up)
        return dropped

    def _discard_bad(self) -> int:
        dropped = 0
        with self._sending:
            with self._filling:
                self._check_open()
                self._failure = None
            while (going := self._returned) is not None:
                try:
                    self._try(going)
                    break
                except DataError as error:
                    if error.row is None:
                        raise
                    with self._filling:
                        going.left_out.add(error.row)
                    dropped += 1
            if going is not None and not going:
                self._returned = None
        return dropped

    def close(self) -> None:
        """Send what waits, and close the writer. It stays open if that fails."""
        if self._is_closed:
            return
        with self._filling:
            self._check()
        self._send_if(lambda: True)
        self._make_durable()
        self._end()

    def stop(self) -> None:
        """Ask what is being sent to end in order: its `write` or `flush` then raises."""
        self._writer.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None
    ) -> None:
        # Rows of a program that has failed are not sent behind its back.
        try:
            if kind is None:
                self.close()
        finally:
            if not self._is_closed and os.getpid() == self._pid:
                try:
                    self._end()
                except Error as lost:
                    if lost.rows_in_doubt and isinstance(error, BaseException):
                        error.add_note(str(lost))

    def _end(self) -> None:
        with self._filling:
            self._is_closed = True
        _open.discard(self)
        with self._sending:
            self._session.wait(self._writer.close, failed=self._go_back)

    def _make_durable(self) -> None:
        if self._is_lazy:
            with self._sending:
                self._session.wait(self._writer.flush, failed=self._go_back)

    def _go_back(self, earlier: int, _in_doubt: int) -> None:
        """Drop what waits behind rows of earlier calls that were lost, where positions say it.

        The program goes on from the position, and so it writes these rows again.
        """
        with self._filling:
            if earlier and (self._has_position or self._session.position is not None):
                self._waiting, self._returned = Waiting(), None

    def _check(self) -> None:
        self._check_open()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _check_open(self) -> None:
        if os.getpid() != self._pid:
            raise RuntimeError("the Writer belongs to another process: open one after the fork")
        if self._is_closed:
            raise ValueError("the Writer is closed")

    def _is_enough(self) -> bool:
        rows, size, _ = self._limits
        return (rows is not None and self._waiting.rows >= rows) or (
            size is not None and self._waiting.size >= size
        )

    def _send_if(self, is_due: Callable[[], bool]) -> Receipt:
        """Send what waits, if that is due when all before it is sent."""
        rows, counts, method = 0, dict.fromkeys(_COUNTED, 0), None
        with self._sending:
            while True:
                with self._filling:
                    if self._returned is None:
                        if not (self._waiting and is_due()):
                            return Receipt(
                                rows=rows,
                                rows_inserted=counts["inserted"],
                                counts=RowCounts(**counts),
                                position=self.position,
                                method=method,
                            )
                        self._returned, self._waiting = self._due()
                    going = self._returned
                _, _, more, sent, method, _ = self._send(going)
                rows += more
                for name, of_it in sent:
                    counts[name] += of_it

    def _due(self) -> tuple[Waiting, Waiting]:
        """Return what goes in one transaction, and what waits on.

        A column that some rows lack is their default, or stays as it is in rows that are updated:
        so batches with other columns go by themselves. Dicts that are inserted may lack any.
        """
        if self._kind in ("dicts", "ndjson") and not self._is_update:
            return self._waiting, Waiting()
        return self._waiting.split()

    def _send(self, going: Waiting) -> Outcome:
        """Send rows, without those that are rejected."""
        while True:
            try:
                return self._send_whole(going)
            except DataError as error:
                if self._on_reject is None or error.batch is None or error.row is None:
                    raise
                row = going.batches[error.batch].row(error.row_of_batch or 0)
                kept = self._on_reject(row, error)
                with self._filling:
                    going.left_out.add(error.row)
                    going.rejected += 1
                    if self._reject_table is not None and isinstance(kept, Mapping):
                        going.rejects.append(kept)

    def _try(self, going: Waiting) -> None:
        """Have the server take rows, and roll them back."""
        kind, reading = self._kind or "rows", self._reading
        self._session.wait(lambda: self._writer.check(reading, going.given(kind)), going=going)

    def _send_whole(self, going: Waiting) -> Outcome:
        kind = self._kind or "rows"

        def sent() -> None:
            self._returned = None

        def failed(earlier: int, in_doubt: int) -> None:
            # Nobody can say whether they are in: to send them again might double them.
            if in_doubt > earlier and self.load_id is None:
                self._returned = None
            self._go_back(earlier, in_doubt)

        def begin() -> Doing:
            rest = going.given(kind)
            steps = [(name, *step) for name, step in going.steps.items()] or None
            rejects = going.of_rejects(self._reject_table)
            return self._writer.write(
                self._reading, rest, going.position, going.rejected, steps, rejects
            )

        return self._session.wait(begin, sent, failed, going)


@atexit.register
def _warn() -> None:
    for writer in list(_open):
        if (rows := writer.rows_waiting) and writer._pid == os.getpid():
            warnings.warn(
                f"{rows} rows were written but not sent: the Writer was not closed",
                RuntimeWarning,
                stacklevel=1,
            )


_OF_PLACE = {"table", "conninfo", *PlaceOptions.__annotations__}
_COUNTED = RowCounts.__annotations__


def _flush_in_time(writer: "ReferenceType[Writer]", seconds: float) -> None:
    """Send what has waited long enough, as long as the writer is there."""
    pause = min(seconds / 4, 0.25)
    while (here := writer()) is not None and not here._is_closed:
        due = time.monotonic() - seconds

        def is_due(here: Writer = here, due: float = due) -> bool:
            return here._waiting.since <= due

        with here._filling:
            is_waiting = bool(here._waiting) and is_due() and here._returned is None
        if is_waiting:
            try:
                here._send_if(is_due)
            except BaseException as failure:
                here._failure = failure
        del here, is_due
        time.sleep(max(pause, 0.001))
