"""`Writer`: rows from a long-running program, a few at a time.

Written rows wait until there are enough of them, or until they have waited long enough. Then all
of them are sent in one transaction. One thread talks to the server. The locks here decide which
rows are sent together, and which caller waits.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any, Literal, Self, Unpack
from weakref import ReferenceType, ref

from pgsluice import unsent
from pgsluice._native import RunningOrder
from pgsluice.batches import Batch, Extras, Kind, Waiting, check
from pgsluice.errors import DataError, Error
from pgsluice.options import PlaceOptions, WriterOptions, spec
from pgsluice.result import Receipt, RowCounts
from pgsluice.session import Outcome, Session


class Writer:
    """Writes rows into a table, a few at a time.

    `table`, `conninfo` and the options are the same as for `load`. Written rows are flushed when
    there are `flush_rows` rows or `flush_bytes` bytes, or `flush_seconds` after the first of
    them. None disables a limit. Each flush is one transaction.

    `durability` is "commit" if each flush waits until its rows are durable, or "flush" if only
    `flush` and `close` wait for that. In the second case, a crash of the server may undo commits
    since the last `flush`, together with their position. Then the next call raises `ConnectError`
    with `rows_in_doubt`, unless no row can have been lost.

    With a `load_id`, `write` accepts positions, which are stored in the transaction of the rows.
    `position` is the last one: a program that continues from there writes each row once. If
    several writers share a name, only the last one opened may write, and the others fail. A
    writer must be reopened with the same `on_conflict` and related options, and under the same
    session settings.

    `on_reject` is called with each row that the server refuses, as it was given, and the error.
    Then the other rows of the flush are sent without it, in one transaction. If it raises,
    nothing is sent. Without `on_reject`, a refused row keeps all others from being sent, and the
    error has its number.

    With `shared`, several writers of one `load_id` work side by side. Each opens its own
    participants with `positions`, such as the partitions of a topic, and `write` advances these.

    If `on_reject` returns rows, as mappings by column, they are stored in `reject_table` in the
    transaction of the flush.

    `on_conflict` and its options are the same as for `load`. If several rows of a flush have the
    same key, one of them counts.

    Several threads may use a writer. Raises `Error` or one of its subclasses.
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
        self._limits = (flush_rows, flush_bytes)
        given = spec("Writer", WriterOptions, options, conninfo, table)
        self._reading = json.dumps(given)
        place = {name: given[name] for name in _OF_PLACE & given.keys()}
        self._pid = os.getpid()
        # The first lock is held while rows are added or taken, the second while rows are sent.
        self._filling, self._sending = threading.RLock(), threading.RLock()
        self._kind: Kind | None = None
        self._waiting = Waiting()
        # Rows that could not be sent. They are sent again before all others, separately.
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
        unsent.watch(self)
        if flush_seconds is not None:
            threading.Thread(
                target=_flush_in_time, args=(ref(self), flush_seconds), daemon=True
            ).start()

    @property
    def position(self) -> Any:
        """The position of the last committed rows, or None.

        After an error that reports lost rows, the ledger is read again. Continue from this
        position.
        """
        position = self._session.position
        return None if position is None else json.loads(position)

    @property
    def rows_waiting(self) -> int:
        """The number of rows that were written and are not known to be committed."""
        with self._filling:
            return self._waiting.waiting + (self._returned.waiting if self._returned else 0)

    def positions(self, participants: Iterable[str]) -> dict[str, Any]:
        """Open these participants, and close all others. Return the position of each, or None.

        If several writers open a participant, the last one owns it. From then on, no flush of
        another writer for this participant is committed. No rows may be waiting: call `flush` or
        `discard` first.
        """
        names = sorted(set(participants))
        with self._sending, self._filling:
            self._check_open()
            if self.rows_waiting:
                raise ValueError("rows wait for participants: flush or discard them first")
            self._failure = None
            outcome = self._session.wait(lambda: self._writer.participants(names))
        given = (None if text is None else json.loads(text) for text in outcome[5])
        return dict(zip(names, given, strict=True))

    def write(
        self,
        batch: Any,
        *,
        position: Any = None,
        positions: Mapping[str, tuple[Any, Any]] | None = None,
        rejects: Sequence[Mapping[str, Any]] = (),
    ) -> Receipt | None:
        """Add rows. Return a receipt if enough rows waited to be sent.

        `batch` is an object with Arrow data in memory, or an iterable of dicts or of tuples, and
        all batches must be of the same kind. An iterator is read to its end first. The names of a
        batch are mapped to columns. A batch with other columns than the previous one may need its
        own transaction. `position` is any JSON value. `positions` has, for each participant, the
        position before the batch and the position after it. `rejects` are rows for the reject
        table.

        If sending fails, the rows stay. They are sent again with the next rows, unless `discard`
        drops them. An error about one of them has its `row`, a number among the waiting rows, and
        its `batch` and `row_of_batch`.
        """
        taken = Batch.from_data(batch, self._on_reject is not None)
        extras = Extras.from_arguments(position, positions, rejects)
        with self._filling:
            self._check()
            is_placed = extras.position is not None or bool(extras.steps)
            if is_placed and self.load_id is None:
                raise ValueError("a position is stored under the writer's load_id: set load_id")
            if rejects and self._reject_table is None:
                raise ValueError("rejected rows are stored in the reject table: set reject_table")
            self._kind = check(self._kind, taken) if taken.rows else self._kind
            self._waiting.add(taken, extras, time.monotonic())
            self._has_position = self._has_position or is_placed
            is_enough = self._waiting.reaches(*self._limits)
        return self._send_if(lambda: self._waiting.reaches(*self._limits)) if is_enough else None

    def flush(self) -> Receipt:
        """Send the waiting rows. Return when they are committed and durable."""
        with self._filling:
            self._check()
        receipt = self._send_if(lambda: True)
        self._make_durable()
        return receipt

    def discard(self, *, bad_only: bool = False) -> int:
        """Drop the waiting rows, for example after an error about them. Return their number.

        With `bad_only`, the rows of the failed flush are tried, and only those that the server
        refuses are dropped. The others keep waiting.
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
        """Send the waiting rows, and close the writer. It stays open if that fails."""
        if self._is_closed:
            return
        with self._filling:
            self._check()
        self._send_if(lambda: True)
        self._make_durable()
        self._end(has_failed=False)

    def stop(self) -> None:
        """Stop the rows that are being sent cleanly. Their `write` or `flush` then raises."""
        self._writer.stop()

    def report_lag(self, messages: int) -> None:
        """Show in the metrics how many messages of a stream are not committed yet."""
        self._writer.report_lag(max(0, messages))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None
    ) -> None:
        # Do not send rows of a program that has failed.
        try:
            if kind is None:
                self.close()
        finally:
            if not self._is_closed and os.getpid() == self._pid:
                try:
                    self._end(has_failed=True)
                except Error as lost:
                    if lost.rows_in_doubt and isinstance(error, BaseException):
                        error.add_note(str(lost))

    def _end(self, *, has_failed: bool) -> None:
        with self._filling:
            self._is_closed = True
        unsent.forget(self)
        with self._sending:
            self._session.wait(lambda: self._writer.close(has_failed), failed=self._go_back)

    def _make_durable(self) -> None:
        if self._is_lazy:
            with self._sending:
                self._session.wait(self._writer.flush, failed=self._go_back)

    def _go_back(self, earlier: int, _in_doubt: int) -> None:
        """Drop the waiting rows after rows of earlier calls were lost, if positions record this.

        The program continues from the position, and so it writes these rows again.
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

    def _send_if(self, is_due: Callable[[], bool]) -> Receipt:
        """Send the waiting rows, if that is still due when all earlier rows are sent."""
        rows, counts, method = 0, dict.fromkeys(RowCounts.__annotations__, 0), None
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
        """Return the rows for one transaction, and the rows that keep waiting.

        A column that some rows lack gets its default, or keeps its value in updated rows. So
        batches with other columns are sent separately. Dicts that are inserted may lack any
        column.
        """
        if self._kind in ("dicts", "ndjson") and not self._is_update:
            return self._waiting, Waiting()
        return self._waiting.split()

    def _send(self, going: Waiting) -> Outcome:
        """Send rows, without the rejected ones."""
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
        """Let the server check rows, and roll them back."""
        kind, reading = self._kind or "rows", self._reading
        self._session.wait(lambda: self._writer.check(reading, going.given(kind)), going=going)

    def _send_whole(self, going: Waiting) -> Outcome:
        kind = self._kind or "rows"

        def sent() -> None:
            self._returned = None

        def failed(earlier: int, in_doubt: int) -> None:
            # It is unknown whether they are committed, and sending them again might duplicate them.
            if in_doubt > earlier and self.load_id is None:
                self._returned = None
            self._go_back(earlier, in_doubt)

        def begin() -> RunningOrder:
            rest = going.given(kind)
            steps = [(name, *step) for name, step in going.steps.items()] or None
            rejects = going.rejects_for(self._reject_table)
            return self._writer.write(
                self._reading, rest, going.position, going.rejected, steps, rejects
            )

        return self._session.wait(begin, sent, failed, going)


_OF_PLACE = {"table", "conninfo", *PlaceOptions.__annotations__}


def _flush_in_time(writer: "ReferenceType[Writer]", seconds: float) -> None:
    """Send rows that have waited long enough, as long as the writer exists."""
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
