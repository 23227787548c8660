"""Topics and tables for the tests of Kafka: one broker and one server for each module."""

import json
import subprocess
import sys
import threading
import time
import unittest
from collections.abc import Callable, Iterable
from typing import Any

import pgsluice
from formats.place import OnServer, server
from loads.place import Limited

from .kafka_broker import Broker

try:
    from confluent_kafka import Producer, TopicPartition
    from confluent_kafka.admin import AdminClient, NewTopic
except ModuleNotFoundError as missing:
    raise unittest.SkipTest("needs confluent-kafka: make cluster") from missing

TABLE = """
    DROP TABLE IF EXISTS events, rejects;
    CREATE TABLE events (id bigint, body text) PARTITION BY HASH (id);
    CREATE TABLE events_0 PARTITION OF events FOR VALUES WITH (MODULUS 2, REMAINDER 0);
    CREATE TABLE events_1 PARTITION OF events FOR VALUES WITH (MODULUS 2, REMAINDER 1);
    CREATE TABLE rejects (topic text, partition int, "offset" bigint, key bytea, value bytea,
                          sqlstate text, message text, at timestamptz DEFAULT now())
"""
# A group that notices killed members quickly.
SOON = {"session.timeout.ms": 3000, "heartbeat.interval.ms": 500}


class Topics:
    """A topic of a broker, with methods to write into it."""

    broker: Broker
    topic: str

    def use(self, broker: Broker) -> None:
        """Choose a new topic of a broker."""
        self.broker = broker
        self.admin = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})
        self.topic = f"t-{time.time_ns()}"

    def make_topic(self, partitions: int = 1, **config: str) -> None:
        """Create the topic of the test, and wait until the broker knows it."""
        new = NewTopic(
            self.topic,
            num_partitions=partitions,
            replication_factor=1,
            config={name.replace("_", "."): value for name, value in config.items()},
        )
        for future in self.admin.create_topics([new]).values():
            future.result()
        wait_until(lambda: self.topic in self.admin.list_topics(timeout=5).topics)

    def delete_topic(self) -> None:
        for future in self.admin.delete_topics([self.topic]).values():
            future.result()
        wait_until(lambda: self.topic not in self.admin.list_topics(timeout=5).topics)

    def producer(self, **config: Any) -> Producer:
        return Producer(
            {"bootstrap.servers": self.broker.address, "linger.ms": 5, "log_level": 0, **config}
        )

    def produce(self, values: Iterable[Any], partition: int | None = None, key: Any = None) -> None:
        """Produce values, bytes unchanged and others as JSON, and wait for the broker."""
        producer = self.producer()
        place = {} if partition is None else {"partition": partition}
        for value in values:
            given = value if isinstance(value, bytes | None) else json.dumps(value)
            while True:
                try:
                    producer.produce(self.topic, given, key=key, **place)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(60) == 0

    def options(self, **options: Any) -> dict[str, Any]:
        return {
            "group": self.topic,
            "bootstrap_servers": self.broker.address,
            "config": SOON,
            "flush_seconds": 0.1,
            "on_notice": lambda _: None,
            **options,
        }

    def remove_before(self, offset: int, partition: int = 0) -> None:
        """Remove the first messages of a partition, like retention."""
        place = TopicPartition(self.topic, partition, offset)
        for future in self.admin.delete_records([place]).values():
            future.result()


class OnKafka(Topics, Limited, OnServer):
    """Tests with a broker, topics and the table `events`."""

    limit = 240

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.broker = Broker()
        cls.addClassCleanup(cls.broker.remove)
        cls.broker.start()

    def setUp(self):
        super().setUp()
        self.connection.execute(TABLE)
        self.connection.execute("DROP SCHEMA IF EXISTS pgsluice CASCADE")
        self.use(self.broker)

    def consume(self, **options: Any) -> "pgsluice.kafka.KafkaResult":
        """Read to the end of the topic."""
        from pgsluice.kafka import run

        return run(self.topic, "events", server(), **self.options(until_end=True, **options))

    def fail_to_consume(self, **options: Any) -> pgsluice.Error:
        with self.assertRaises(pgsluice.Error) as caught:
            self.consume(**options)
        return caught.exception

    def in_background(self, **options: Any) -> "Background":
        started = Background(self.topic, server(), self.options(**options))
        self.addCleanup(started.stop)
        return started

    def start_process(self, *args: str) -> subprocess.Popen[str]:
        """Start `python -m pgsluice.kafka`, which is killed when the test ends."""
        soon = self.broker.folder / "soon.properties"
        soon.write_text("".join(f"{name}={value}\n" for name, value in SOON.items()))
        command = [sys.executable, "-m", "pgsluice.kafka", self.topic, "--table=events"]
        command += [f"--conninfo={server()}", f"--group={self.topic}", f"--config-file={soon}"]
        command += [f"--bootstrap-servers={self.broker.address}", "--flush-seconds=0.05", *args]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def count(self, table: str = "events") -> int:
        return self.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    def check_ids(self, ids: Iterable[int]) -> None:
        """Check that each of these ids is in the table once, and no others."""
        found = self.connection.execute("SELECT id FROM events ORDER BY id").fetchall()
        self.assertEqual([row[0] for row in found], sorted(ids))

    def position(self, partition: int = 0) -> int:
        query = "SELECT position FROM pgsluice.load WHERE participant LIKE %s"
        row = self.connection.execute(query, [f"{self.topic}/{partition} %"]).fetchone()
        return -1 if row is None or row[0] is None else int(row[0])

    def position_is_open(self) -> bool:
        query = "SELECT to_regclass('pgsluice.load') IS NOT NULL"
        if not self.connection.execute(query).fetchone()[0]:
            return False
        query = "SELECT count(*) FROM pgsluice.load WHERE participant <> ''"
        return self.connection.execute(query).fetchone()[0] > 0


class Background:
    """A consumer in a thread, with its notices."""

    def __init__(self, topic: str, url: str, options: dict[str, Any]) -> None:
        self.notices: list[str] = []
        self.error: BaseException | None = None
        self.result: Any = None
        self._stopped = threading.Event()
        options = {**options, "stop": self._stopped, "on_notice": self.notices.append}
        self._thread = threading.Thread(target=self._run, args=(topic, url, options))
        self._thread.start()

    def _run(self, topic: str, url: str, options: dict[str, Any]) -> None:
        from pgsluice.kafka import run

        try:
            self.result = run(topic, "events", url, **options)
        except BaseException as error:
            self.error = error

    def ends(self) -> BaseException | None:
        """Wait until it ends by itself; return its error."""
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.error

    def stop(self) -> Any:
        """Stop it in order; return its result."""
        self._stopped.set()
        self._thread.join()
        return self.result


def wait_until(is_so: Callable[[], bool], seconds: float = 120) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} seconds")
        time.sleep(0.05)
