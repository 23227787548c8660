"""The loop of a consumer.

    poll -> lines -> writer     each poll, with the positions behind it
    flush -> commit             when there are enough rows, or when the first has waited long enough

1. Positions come from the ledger and are moved in the transaction of the rows. Kafka's own offsets
   are committed afterwards, for people who watch the lag.
2. Before each flush the ids of the topics are asked for: what waits may be of a topic that was
   deleted and created again.
3. A partition that is revoked is flushed first. If another consumer has opened it already, the
   ledger refuses the flush, and what waits is dropped.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pgsluice.errors import DataError, Error, of_python
from pgsluice.kafka.client import KafkaError, KafkaException, TopicPartition
from pgsluice.kafka.cluster import Cluster, consumer_of
from pgsluice.kafka.messages import Unfit, batch_of, liner, place, reject_row
from pgsluice.kafka.owned import Owned, Partition
from pgsluice.kafka.result import KafkaResult
from pgsluice.kafka.settings import Settings
from pgsluice.result import RowCounts
from pgsluice.writer import Writer

# Seconds after which a signal is seen, the topics are looked at while nothing comes, and a consumer
# that was overtaken must have heard that it is no owner any more.
_PAUSE = 0.25
_LOOK = 5.0
_LEARN = 15.0

# Messages that one poll returns at most: of large messages few wait for the flush.
_TOGETHER = 2_000

# The SQLSTATE of a participant that another writer has opened.
_OVERTAKEN = "55006"


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
        self._rows = self._size = self._messages = 0
        self._since: float | None = None
        self._looked = time.monotonic()
        self._done = self._flushes = 0
        self._counts = dict.fromkeys(RowCounts.__annotations__, 0)

    def interrupt(self) -> None:
        """End what is being sent."""
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
                # Messages that were not flushed are read again by the next run.
                self._discard()
                self._consumer.close()
        return KafkaResult(
            messages=self._done, counts=RowCounts(**self._counts), flushes=self._flushes
        )

    def _step(self) -> None:
        """Poll once, and flush if that is due."""
        wait = _PAUSE
        if self._since is not None:
            due = self._since + self._settings.flush_seconds
            wait = min(_PAUSE, max(0.0, due - time.monotonic()))
        room = max(1, min(_TOGETHER, self._settings.flush_rows - self._rows))
        messages = self._polled(room, wait)
        self._cluster.check()
        self._check_overtaken()
        if self._overtaken is not None:
            # They are read again, if the partitions are still its own.
            return
        if self._must_take:
            self._take()
        self._add(messages)
        self._owned.seek()
        now = time.monotonic()
        is_due = self._since is not None and (
            self._messages >= self._settings.flush_rows
            or self._size >= self._settings.flush_bytes
            or now - self._since >= self._settings.flush_seconds
        )
        if is_due:
            self._flush()
        elif now - self._looked >= _LOOK and self._owned:
            self._is_same()

    def _polled(self, room: int, wait: float) -> list[Any]:
        """Return messages, after the callbacks of a rebalance have run."""
        try:
            messages: list[Any] = self._consumer.consume(room, wait)
        except KafkaException as failure:
            self._cluster.raise_forbidden(failure.args[0])
            raise of_python("input", f"the Kafka client has failed: {failure}") from None
        if self._failure is not None:
            failed, self._failure = self._failure, None
            raise failed
        return messages

    def _add(self, messages: list[Any]) -> None:
        """Hand messages to the writer, with the positions behind them."""
        lines: list[bytes] = []
        given: list[Any] = []
        rejects: list[dict[str, Any]] = []
        before: dict[str, int | None] = {}
        moved: dict[str, Partition] = {}
        for message in messages:
            if (error := message.error()) is not None:
                self._heed(error, message)
                continue
            it = self._owned.get((message.topic(), message.partition()))
            offset: int = message.offset()
            # A client may still have messages that it read before it was to go on elsewhere.
            if it is None or it.start is not None or (it.position or 0) > offset:
                continue
            before.setdefault(it.participant, it.position)
            moved[it.participant] = it
            it.position, it.at_end = offset + 1, False
            self._size += len(message)
            if message.value() is None and self._settings.tombstones == "skip":
                continue
            try:
                lines.append(self._line(message))
                given.append(message)
            except Unfit as unfit:
                rejects.append(self._unfit(message, unfit.sqlstate, str(unfit)))
        if moved:
            self._messages += len(given) + len(rejects)
            self._rows += len(given)
            positions = {name: (before[name], it.position) for name, it in moved.items()}
            self._writer.write(batch_of(lines, given), positions=positions, rejects=rejects)
            if self._since is None:
                self._since = time.monotonic()

    def _heed(self, error: Any, message: Any) -> None:
        """Heed what the client says of a partition, or of itself."""
        it = self._owned.get((message.topic(), message.partition()))
        if error.code() == KafkaError._PARTITION_EOF:
            if it is not None and it.start is None:
                it.at_end = True
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            if it is not None and self._is_same():
                self._flush()
                self._owned.lost(it)
        else:
            # Others pass: the client tries again by itself.
            self._cluster.raise_forbidden(error)

    def _flush(self) -> None:
        """Commit what waits, unless it is of a topic that is gone."""
        if self._since is None or not self._is_same():
            return
        try:
            receipt = self._writer.flush()
        except Error as error:
            if error.sqlstate != _OVERTAKEN:
                raise
            self._discard()
            self._overtaken = (time.monotonic(), error)
            return
        for name in self._counts:
            self._counts[name] += getattr(receipt.counts, name)
        self._done += self._messages
        self._flushes += 1
        self._forget_waiting()
        offsets = [it.at(it.position) for it in self._owned if it.position is not None]
        if offsets:
            # They are for people only.
            with suppress(KafkaException):
                self._consumer.commit(offsets=offsets, asynchronous=True)

    def _discard(self) -> None:
        """Drop what waits; it is read again, by whoever owns its partitions then."""
        self._writer.discard()
        self._forget_waiting()

    def _forget_waiting(self) -> None:
        self._rows = self._size = self._messages = 0
        self._since = None

    def _is_same(self) -> bool:
        """Whether the topics are those whose messages wait; if not, begin with the new ones."""
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
        """Read the positions again; nothing waits."""
        self._must_take = False
        self._owned.take()

    def _check_overtaken(self) -> None:
        """Raise the error of a flush that was refused, unless the partition is another's now."""
        if self._overtaken is None:
            return
        since, error = self._overtaken
        if time.monotonic() - since < _LEARN:
            return
        taken = next((it for it in self._owned if it.participant in error.message), None)
        what = f"partition {taken.label}" if taken else "a partition"
        load_id = self._settings.options["load_id"]
        raise of_python(
            "server",
            f"another consumer has taken over {what} of load {load_id}",
            "Have all consumers of a load_id use one group, or use another load_id.",
            sqlstate=_OVERTAKEN,
            detail="Nothing this consumer had in flight was committed.",
        )

    def _is_at_end(self) -> bool:
        """Whether all messages were read, if that is to end the run."""
        return (
            self._settings.until_end and bool(self._owned) and all(it.at_end for it in self._owned)
        )

    def _reject(self, message: Any, error: DataError) -> dict[str, Any]:
        return self._unfit(message, error.sqlstate, error.message)

    def _unfit(self, message: Any, sqlstate: str | None, reason: str) -> dict[str, Any]:
        """Return the row of the reject table for a message, or raise its error."""
        if self._settings.reject_table is not None:
            return reject_row(message, sqlstate, reason)
        raise of_python(
            "data",
            f"{reason}, at {place(message)}",
            "Store such messages in a table: reject_table=TABLE (--reject-table TABLE).",
            sqlstate=sqlstate,
        )

    def _caught(
        self, call: Callable[[list[tuple[str, int]]], None]
    ) -> Callable[[Any, list[Any]], None]:
        """Return a callback of the client, whose exception is raised by the loop."""

        def callback(_: Any, partitions: list[Any]) -> None:
            self._overtaken = None
            try:
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
                it.start = None
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
        """Drop partitions. The others are opened again, as what waited of them may be dropped."""
        self._owned.drop(places)
        self._discard()
        self._must_take = bool(self._owned)
