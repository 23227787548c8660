"""The cluster: its id, the ids of its topics, and the offsets of their partitions.

Messages carry neither id. A topic that is deleted and created again has the same name but new
offsets, so a position belongs to both ids.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pgsluice.errors import Error, python_error, usage_error
from pgsluice.kafka.client import (
    AdminClient,
    Consumer,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from pgsluice.kafka.settings import Settings

# Seconds to wait for one answer, and between reports about the wait.
ANSWER = 5.0
_REPORT = 10.0

# Properties of consumers that the administration client does not accept.
_OF_CONSUMERS = (
    "group.id",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.partition.eof",
    "auto.offset.reset",
    "isolation.level",
    "partition.assignment.strategy",
)
_UNKNOWN = (
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)
# The offsets of a partition that does not exist.
_GONE = (-1, -1)
_REFUSED = (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED)
_FORBIDDEN = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)

# The client logs here what it would otherwise write to stderr.
logger = logging.getLogger("pgsluice.kafka")
logger.addHandler(logging.NullHandler())
logger.propagate = False


@dataclass(frozen=True)
class Topic:
    """The present state of a topic."""

    id: str
    partitions: int


class Cluster:
    """The cluster of a consumer. Each query waits for an answer as long as necessary."""

    def __init__(self, settings: Settings, stopped: threading.Event) -> None:
        self._settings, self._stopped = settings, stopped
        self._refusal: Error | None = None
        self._reason = ""
        config = {
            name: value for name, value in settings.client.items() if name not in _OF_CONSUMERS
        }
        self._admin = _make(lambda: AdminClient(self.client_config(config), logger=logger))
        self.id = ""
        """The id of the cluster, once it has answered."""

    def client_config(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the configuration of a client whose errors are recorded here."""
        users: Callable[[Any], object] | None = config.get("error_cb")

        def note(error: Any) -> None:
            if error.code() in _REFUSED:
                self._refusal = self._refused(error)
            self._reason = error.str()
            if users is not None:
                users(error)

        return {"log_level": 3, **config, "error_cb": note}

    def check(self) -> None:
        """Raise the error of a login that was refused meanwhile."""
        self._admin.poll(0)
        if self._refusal is not None:
            raise self._refusal

    def connect(self) -> bool:
        """Wait for the cluster. Return False if the program was stopped before it answered."""
        answer = self._ask(lambda: self._admin.describe_cluster(request_timeout=ANSWER).result())
        if answer is not None:
            self.id = answer.cluster_id
        return answer is not None

    def topics(self, names: tuple[str, ...]) -> dict[str, Topic] | None:
        """Return the topics that exist, or None if the program was stopped."""
        if not names:
            return {}
        found: dict[str, Topic] | None = self._ask(lambda: self._try_topics(names))
        return found

    def reach(self, consumer: Any, topic: str, partition: int) -> tuple[int, int] | None:
        """Return the first offset of a partition, and the offset after its last message.

        Return None if the partition no longer exists, or if the program was stopped.
        """
        place = TopicPartition(topic, partition)

        def ask() -> tuple[int, int] | None:
            try:
                found: tuple[int, int] | None = consumer.get_watermark_offsets(
                    place, timeout=ANSWER, cached=False
                )
            except KafkaException as failure:
                if failure.args[0].code() not in _UNKNOWN:
                    raise
                return _GONE
            return found

        reach: tuple[int, int] | None = self._ask(ask)
        return None if reach == _GONE else reach

    def lag(self, consumer: Any, offsets: Sequence[Any]) -> int:
        """Return the number of messages from these offsets on, as far as the client knows."""
        lag = 0
        for each in offsets:
            # The client knows nothing of a topic that was deleted.
            with suppress(KafkaException):
                end = consumer.get_watermark_offsets(each, cached=True)
                lag += max(0, end[1] - each.offset) if end is not None else 0
        return lag

    def raise_forbidden(self, error: Any) -> None:
        """Raise an error that is not temporary."""
        if error.code() in _REFUSED:
            raise self._refused(error)
        if error.code() in _FORBIDDEN:
            raise python_error(
                "input",
                f"Kafka at {self._settings.place} refuses access: {error.str()}",
                "Allow the user to read the topics and the group, and to describe the topics.",
            )
        if error.fatal():
            raise python_error("input", f"the Kafka client has failed: {error.str()}")

    def _try_topics(self, names: tuple[str, ...]) -> dict[str, Topic]:
        found: dict[str, Topic] = {}
        asked = self._admin.describe_topics(TopicCollection(list(names)), request_timeout=ANSWER)
        for name, future in asked.items():
            try:
                described = future.result()
            except KafkaException as failure:
                if failure.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise
                continue
            found[name] = Topic(str(described.topic_id), len(described.partitions))
        return found

    def _ask(self, ask: Callable[[], Any]) -> Any:
        """Repeat a query until there is an answer, and report the wait at intervals."""
        reported = time.monotonic() - _REPORT + ANSWER
        while True:
            began = time.monotonic()
            try:
                if (answer := ask()) is not None:
                    return answer
                reason = "no answer in time"
            except KafkaException as failure:
                error: Any = failure.args[0]
                self.raise_forbidden(error)
                reason = error.str()
            self.check()
            if self._stopped.is_set():
                return None
            if time.monotonic() - reported >= _REPORT:
                reported = time.monotonic()
                reason = self._reason or reason
                self._settings.on_notice(f"waiting for Kafka at {self._settings.place}: {reason}")
            self._stopped.wait(max(0.0, 1 - (time.monotonic() - began)))

    def _refused(self, error: Any) -> Error:
        return python_error(
            "input",
            f"Kafka at {self._settings.place} refuses the login: {error.str()}",
            "Check security.protocol and the sasl and ssl settings in config.",
        )


def _make(make: Callable[[], Any]) -> Any:
    """Return a client. A refused configuration is a usage error."""
    try:
        return make()
    except KafkaException as failure:
        raise usage_error(
            f"the Kafka client refuses config: {failure.args[0].str()}",
            "Correct the property.",
        ) from None


def consumer_of(cluster: Cluster, settings: Settings) -> Any:
    """Return a consumer without a subscription."""
    config = cluster.client_config(settings.client)
    consumer: Any = _make(lambda: Consumer(config, logger=logger))
    return consumer
