"""The partitions of a consumer, and their positions in the ledger."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pgsluice.errors import python_error
from pgsluice.kafka.client import KafkaException, TopicPartition
from pgsluice.kafka.cluster import Cluster, Topic
from pgsluice.kafka.settings import Settings
from pgsluice.writer import Writer

Place = tuple[str, int]

# Seconds until brokers know that a topic was created again, and between two checks.
_LATE = 5.0
_PAUSE = 0.25


@dataclass
class Partition:
    """A partition that this consumer reads."""

    topic: str
    number: int
    topic_id: str
    """Empty if a broker does not know the topic, though the group has assigned it."""
    participant: str
    """The name of its position in the ledger."""
    position: int | None = None
    """The offset after its last message that is committed or waits; None if there is none."""
    start: int | None = None
    """The offset at which the client is to go on reading, if it is not there yet."""
    at_end: bool = False
    is_renewed: bool = False
    """Whether its topic was created again while this consumer read: all of its messages are new."""

    @property
    def label(self) -> str:
        return f"{self.topic}/{self.number}"

    def at(self, offset: int) -> Any:
        """Return an offset of the partition in the client's form."""
        return TopicPartition(self.topic, self.number, offset)


class Owned:
    """The partitions of one consumer. A consumer that takes a partition over fences the others."""

    def __init__(self, settings: Settings, cluster: Cluster, consumer: Any, writer: Writer) -> None:
        self._settings, self._cluster = settings, cluster
        self._consumer, self._writer = consumer, writer
        self._partitions: dict[Place, Partition] = {}

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._partitions.values())

    def __bool__(self) -> bool:
        return bool(self._partitions)

    def get(self, place: Place) -> Partition | None:
        return self._partitions.get(place)

    def topics(self) -> tuple[str, ...]:
        return tuple(sorted({it.topic for it in self}))

    def add(self, places: list[Place], topics: dict[str, Topic]) -> None:
        """Add assigned partitions; `take` reads their positions."""
        for topic, number in places:
            topic_id = topics[topic].id if topic in topics else ""
            self._partitions[topic, number] = self._named(topic, number, topic_id)

    def drop(self, places: list[Place]) -> None:
        """Drop revoked partitions."""
        for place in places:
            self._partitions.pop(place, None)

    def renew(self, topics: dict[str, Topic]) -> list[str]:
        """Replace partitions of topics that were created again. Return the topics."""
        renewed = [it for it in self if it.topic in topics and topics[it.topic].id != it.topic_id]
        for it in renewed:
            named = self._named(it.topic, it.number, topics[it.topic].id)
            named.is_renewed = bool(it.topic_id)
            self._partitions[it.topic, it.number] = named
        return sorted({it.topic for it in renewed})

    def _named(self, topic: str, number: int, topic_id: str) -> Partition:
        name = f"{topic}/{number} {topic_id} {self._cluster.id}"
        return Partition(topic, number, topic_id, name, start=0)

    def take(self) -> None:
        """Open all partitions in the ledger, and continue from the recorded positions.

        The writer must not have waiting rows. A partition whose topic is not known yet is left
        unchanged until a later check of the topics renews it.
        """
        known = [it for it in self if it.topic_id]
        found = self._writer.positions(it.participant for it in known)
        for it in known:
            position: int | None = found[it.participant]
            if position != it.position or it.start is not None or position is None:
                it.position = position
                self.begin(it)

    def begin(self, it: Partition) -> None:
        """Find the offset from which a partition is to be read, and check that it still exists.

        This is also needed when the client reports that it cannot read on: it has stopped by then.
        """
        it.start, it.at_end = it.position or 0, False
        reach = self._cluster.reach(self._consumer, it.topic, it.number)
        if reach is None:
            # A broker that does not know the partition yet learns of it before its first message.
            return
        first, end = reach
        if it.position is None:
            it.start = first
            if self._settings.start == "latest":
                # Messages before the consumer started were not asked for.
                it.start = first if it.is_renewed else end
                self._move(it, it.start)
        elif it.position < first:
            self._lose(it, first)
        elif it.position > end and not self._is_gone(it):
            raise python_error(
                "input",
                f"the position {it.position} of {it.label} is behind its last message: the"
                f" partition ends at offset {end}",
                "Use another load_id to read the topic from its beginning.",
                detail="The cluster has lost messages that were read before.",
            )

    def _is_gone(self, it: Partition) -> bool:
        """Return whether the topic was deleted or created again, which brokers may learn late.

        The next check of the topics starts with the new one.
        """
        until = time.monotonic() + _LATE
        while time.monotonic() < until:
            topics = self._cluster.topics((it.topic,))
            if topics is None or it.topic not in topics or topics[it.topic].id != it.topic_id:
                return True
            time.sleep(_PAUSE)
        return False

    def _lose(self, it: Partition, first: int) -> None:
        """Raise the error for messages that were removed before they were read, or skip them."""
        position = it.position or 0
        gone = f"{first - position} messages of {it.label} are lost: offsets {position} to"
        if not self._settings.skip_lost:
            raise python_error(
                "input",
                f"{gone} {first - 1} were removed before they were read",
                "Continue with the first message that is there: skip_lost=True (--skip-lost).",
                detail="The topic keeps its messages for less time than this consumer was away."
                " Compaction and transactions leave gaps, so the number is the most.",
            )
        self._settings.on_notice(f"{gone} {first - 1} are skipped")
        self._move(it, first)
        it.start = first

    def _move(self, it: Partition, to: int) -> None:
        """Store a position that is not the end of a message."""
        self._writer.write([], positions={it.participant: (it.position, to)})
        self._writer.flush()
        it.position = to

    def seek(self) -> None:
        """Make the client continue at the positions of the partitions.

        Its own `seek` is refused for a partition that it has stopped reading after an error.
        """
        for it in self:
            if it.start is not None and it.topic_id:
                place = [it.at(it.start)]
                # A refused partition is tried again.
                with suppress(KafkaException):
                    self._consumer.incremental_unassign(place)
                with suppress(KafkaException):
                    self._consumer.incremental_assign(place)
                    it.start = None
