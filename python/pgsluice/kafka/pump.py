"""The main loop of a consumer.

    poll -> lines               each poll, with the positions after it
    writer -> commit            when there are enough rows, or when the first has waited long enough

1. A thread commits a flush while the next messages are polled. Only one flush runs at a time.
2. Positions come from the ledger and change in the transaction of the rows. Kafka's own offsets
   are committed afterwards, for people who watch the lag.
3. Before each flush the ids of the topics are checked, because the waiting rows may belong to a
   topic that was deleted and created again.
4. A revoked partition is flushed first. If another consumer has already opened it, the ledger
   refuses the flush, and the waiting rows are dropped.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pgsluice.errors import DataError, Error, python_error
from pgsluice.kafka.client import KafkaError, KafkaException, TopicPartition
from pgsluice.kafka.cluster import Cluster, consumer_of
from pgsluice.kafka.messages import Unfit, liner, place, reject_row
from pgsluice.kafka.owned import Owned
from pgsluice.kafka.result import KafkaResult
from pgsluice.kafka.settings import Settings
from pgsluice.kafka.waiting import Waiting
from pgsluice.result import Receipt, RowCounts
from pgsluice.writer import Writer

# Seconds until a signal is noticed, between checks of the topics while there are no messages, and
# until a superseded consumer must have learned that it lost its partitions.
_PAUSE = 0.25
_LOOK = 5.0
_LEARN = 15.0

# Maximum number of messages of one poll. It limits the number of large messages that wait.
_TOGETHER = 2_000

# The SQLSTATE for a participant that another writer has opened.
_OVERTAKEN = "55006"


@dataclass(frozen=True)
class Flush:
    """A running flush."""

    receipt: Future[Receipt]
    messages: int
    offsets: list[Any]
    """The positions after its messages, in the client's form."""


class Pump:
    """A consumer with its writer."""

    def __init__(self, settings: Settings, cluster: Cluster, stopped: threading.Event) -> None:
        self._settings, self._cluster, self._stopped = settings, cluster, stopped
        self._line = liner(settings.columns)
        self._writer = Writer(
            settings.table,
            settings.conninfo,
            flush_rows=None,
            flush_bytes=None,
            flush_seconds=None,
            on_reject=self._reject,
            reject_table=settings.reject_table,
            shared=True,
            **settings.options,
        )
        self._consumer: Any = consumer_of(cluster, settings)
        self._owned = Owned(settings, cluster, self._consumer, self._writer)
        self._failure: BaseException | None = None
        self._overtaken: tuple[float, Error] | None = None
        self._must_take = False
        self._waiting = Waiting()
        self._thread = ThreadPoolExecutor(1, "pgsluice-flush")
        self._under_way: Flush | None = None
        self._looked = time.monotonic()
        self._done = self._flushes = 0
        self._counts = dict.fromkeys(RowCounts.__annotations__, 0)

    def interrupt(self) -> None:
        """Stop the rows that are being sent."""
        self._writer.stop()

    def run(self) -> KafkaResult:
        """Read until the program is stopped."""
        with self._writer:
            try:
                self._consumer.subscribe(
                    list(self._settings.topics),
                    on_assign=self._caught(self._assign),
                    on_revoke=self._caught(self._revoke),
                    on_lost=self._caught(self._lose),
                )
                while not self._stopped.is_set() and not self._is_at_end():
                    self._step()
                self._flush()
            finally:
                # This ends when the running flush ends.
                self._thread.shutdown()
                self._under_way = None
                # The next run reads messages that were not flushed again.
                self._discard()
                self._consumer.close()
        return KafkaResult(
            messages=self._done, counts=RowCounts(**self._counts), flushes=self._flushes
        )

    def _step(self) -> None:
        """Poll once, and flush if it is due."""
        wait = _PAUSE
        if self._waiting.since is not None:
            due = self._waiting.since + self._settings.flush_seconds
            wait = min(_PAUSE, max(0.0, due - time.monotonic()))
        room = max(1, min(_TOGETHER, self._settings.flush_rows - len(self._waiting.lines)))
        messages = self._poll(room, wait)
        self._cluster.check()
        if self._under_way is not None and self._under_way.receipt.done():
            self._settle()
        self._check_overtaken()
        if self._overtaken is not None:
            # These messages are read again, if the consumer still owns their partitions.
            return
        if self._must_take:
            self._take()
        self._add(messages)
        self._owned.seek()
        now = time.monotonic()
        waiting = self._waiting
        is_due = waiting.since is not None and (
            waiting.messages >= self._settings.flush_rows
            or waiting.size >= self._settings.flush_bytes
            or now - waiting.since >= self._settings.flush_seconds
        )
        if is_due:
            self._begin_flush()
        elif now - self._looked >= _LOOK and self._owned:
            self._is_same()

    def _poll(self, room: int, wait: float) -> list[Any]:
        """Return messages, after the rebalance callbacks have run."""
        try:
            messages: list[Any] = self._consumer.consume(room, wait)
        except KafkaException as failure:
            self._cluster.raise_forbidden(failure.args[0])
            raise python_error("input", f"the Kafka client has failed: {failure}") from None
        if self._failure is not None:
            failed, self._failure = self._failure, None
            raise failed
        return messages

    def _add(self, messages: list[Any]) -> None:
        """Add messages to the waiting ones, with the positions after them."""
        for message in messages:
            if (error := message.error()) is not None:
                self._heed(error, message)
                continue
            it = self._owned.get((message.topic(), message.partition()))
            offset: int = message.offset()
            # The client may still have messages that it read before it was moved to another offset.
            if it is None or it.start is not None or (it.position or 0) > offset:
                continue
            waiting = self._waiting
            waiting.move(it, offset, len(message))
            if message.value() is None and self._settings.tombstones == "skip":
                continue
            try:
                waiting.lines.append(self._line(message))
                waiting.given.append(message)
            except Unfit as unfit:
                waiting.rejects.append(self._unfit(message, unfit.sqlstate, str(unfit)))

    def _heed(self, error: Any, message: Any) -> None:
        """Handle an error that the client reports about a partition, or about itself."""
        place = message.topic(), message.partition()
        it = self._owned.get(place)
        if error.code() == KafkaError._PARTITION_EOF:
            if it is not None and it.start is None:
                it.at_end = True
        elif error.code() == KafkaError._AUTO_OFFSET_RESET and it is not None:
            self._is_same()
            self._flush()
            # Otherwise the topic was created again, and is read from its beginning.
            if self._owned.get(place) is it:
                self._owned.begin(it)
        else:
            # Other errors are temporary: the client retries by itself.
            self._cluster.raise_forbidden(error)

    def _flush(self) -> None:
        """Commit the waiting rows, unless their topic is gone. Return when that is done."""
        self._begin_flush()
        self._settle()

    def _begin_flush(self) -> None:
        """Start to commit the waiting rows, unless their topic is gone."""
        is_same = self._waiting.since is not None and self._is_same()
        self._settle()
        waiting = self._waiting
        # A refused flush has dropped the waiting rows.
        if not is_same or waiting.since is None:
            return
        waiting.give(self._writer)
        self._waiting = Waiting()
        offsets = [it.at(it.position) for it in self._owned if it.position is not None]
        receipt = self._thread.submit(self._writer.flush)
        self._under_way = Flush(receipt, waiting.messages, offsets)

    def _settle(self) -> None:
        """Wait for the running flush, and count its rows."""
        flush, self._under_way = self._under_way, None
        if flush is None:
            return
        try:
            receipt = flush.receipt.result()
        except Error as error:
            if error.sqlstate != _OVERTAKEN:
                raise
            self._discard()
            self._overtaken = (time.monotonic(), error)
            return
        for name in self._counts:
            self._counts[name] += getattr(receipt.counts, name)
        self._done += flush.messages
        self._flushes += 1
        self._writer.report_lag(self._cluster.lag(self._consumer, flush.offsets))
        if flush.offsets:
            # Kafka's offsets are informational only.
            with suppress(KafkaException):
                self._consumer.commit(offsets=flush.offsets, asynchronous=True)

    def _discard(self) -> None:
        """Drop the waiting rows. The present owner of their partitions reads them again."""
        self._settle()
        self._writer.discard()
        self._waiting = Waiting()

    def _is_same(self) -> bool:
        """Return whether the topics of the waiting messages are unchanged.

        If not, start with the new ones.
        """
        self._looked = time.monotonic()
        topics = self._cluster.topics(self._owned.topics())
        if topics is None:
            return False
        renewed = self._owned.renew(topics)
        if renewed:
            self._settings.on_notice(
                f"topic {', '.join(renewed)} was deleted and created again: reading the new one"
            )
            self._discard()
            self._take()
        return not renewed

    def _take(self) -> None:
        """Read the positions again. No rows may wait."""
        self._must_take = False
        self._owned.take()

    def _check_overtaken(self) -> None:
        """Raise the error of a refused flush, unless another consumer now owns the partition."""
        if self._overtaken is None:
            return
        since, error = self._overtaken
        if time.monotonic() - since < _LEARN:
            return
        taken = next((it for it in self._owned if it.participant in error.message), None)
        what = f"partition {taken.label}" if taken else "a partition"
        load_id = self._settings.options["load_id"]
        raise python_error(
            "server",
            f"another consumer has taken over {what} of load {load_id}",
            "Have all consumers of a load_id use one group, or use another load_id.",
            sqlstate=_OVERTAKEN,
            detail="Nothing this consumer had in flight was committed.",
        )

    def _is_at_end(self) -> bool:
        """Return whether all messages were read, if that ends the run."""
        return (
            self._settings.until_end
            and bool(self._owned)
            and all(it.at_end or not it.topic_id for it in self._owned)
        )

    def _reject(self, message: Any, error: DataError) -> dict[str, Any]:
        return self._unfit(message, error.sqlstate, error.message)

    def _unfit(self, message: Any, sqlstate: str | None, reason: str) -> dict[str, Any]:
        """Return the row of the reject table for a message, or raise its error."""
        if self._settings.reject_table is not None:
            return reject_row(message, sqlstate, reason)
        raise python_error(
            "data",
            f"{reason}, at {place(message)}",
            "Store such messages in a table: reject_table=TABLE (--reject-table TABLE).",
            sqlstate=sqlstate,
        )

    def _caught(
        self, call: Callable[[list[tuple[str, int]]], None]
    ) -> Callable[[Any, list[Any]], None]:
        """Return a client callback whose exceptions are raised by the loop."""

        def callback(_: Any, partitions: list[Any]) -> None:
            try:
                # The rebalance explains a flush that is refused before it.
                self._settle()
                self._overtaken = None
                call([(it.topic, it.partition) for it in partitions])
            except BaseException as failure:
                self._failure = self._failure or failure

        return callback

    def _assign(self, places: list[tuple[str, int]]) -> None:
        self._flush()
        topics = self._cluster.topics(tuple(sorted({topic for topic, _ in places})))
        if topics is None:
            return
        self._owned.add(places, topics)
        self._take()
        starts = []
        for each in places:
            it = self._owned.get(each)
            if it is not None and it.start is not None:
                starts.append(it.at(it.start))
                # Messages of a topic that is not known yet do not count.
                it.start = None if it.topic_id else it.start
        self._consumer.incremental_assign(starts)

    def _revoke(self, places: list[tuple[str, int]]) -> None:
        try:
            if self._failure is None:
                self._flush()
        finally:
            self._let_go(places)
            self._consumer.incremental_unassign([TopicPartition(*each) for each in places])

    def _lose(self, places: list[tuple[str, int]]) -> None:
        self._discard()
        self._let_go(places)
        self._consumer.incremental_unassign([TopicPartition(*each) for each in places])

    def _let_go(self, places: list[tuple[str, int]]) -> None:
        """Drop partitions.

        The others are opened again, because their waiting rows may be dropped.
        """
        self._owned.drop(places)
        self._discard()
        self._must_take = bool(self._owned)
