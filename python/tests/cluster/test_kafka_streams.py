"""Consumers of Kafka that are killed, rebalanced, fenced and cut off: each message is in once.

KILLS is the number of kills, and EVENTS the number of events that are de-duplicated.
"""

import os
import random
import re
import signal
import time
import unittest
from itertools import count
from unittest.mock import patch

import pgsluice
from formats.place import server
from loads.own_server import OwnServer
from pgsluice.kafka.cluster import Cluster

from .kafka_broker import Broker
from .kafka_place import SOON, TABLE, Background, OnKafka, Topics, wait_until

KILLS = int(os.environ.get("KILLS", "6"))
EVENTS = int(os.environ.get("EVENTS", "20000"))


class Killed(OnKafka):
    limit = 240 + 20 * KILLS

    def test_consumers_that_are_killed(self):
        """Two consumers, one of them killed at a random moment."""
        self.make_topic(4)
        draw = random.Random(11)
        written = 0
        consumers = [self.start_process(), self.start_process()]
        for kill in range(KILLS):
            more = draw.randrange(500, 3000)
            self.produce({"id": number} for number in range(written, written + more))
            written += more
            time.sleep(draw.uniform(0, 1.5))
            victim = kill % 2
            consumers[victim].send_signal(signal.SIGKILL)
            consumers[victim].wait()
            consumers[victim] = self.start_process()
        wait_until(lambda: self.count() >= written, 120)
        for consumer in consumers:
            consumer.send_signal(signal.SIGTERM)
        for consumer in consumers:
            # Python does not handle the signal while it is still starting.
            self.assertIn(consumer.wait(60), (0, -signal.SIGTERM), consumer.stderr.read())
        self.check_ids(range(written))

    def test_a_consumer_that_is_stopped_flushes(self):
        self.make_topic()
        consumer = self.start_process("--flush-seconds=60")
        self.produce({"id": number} for number in range(100))
        # Messages wait in the consumer, which has its partition assigned.
        wait_until(lambda: self.position_is_open(), 60)
        time.sleep(2)
        self.assertEqual(self.count(), 0)
        consumer.send_signal(signal.SIGINT)
        self.assertEqual(consumer.wait(30), 0, consumer.stderr.read())
        self.check_ids(range(100))


class Shared(OnKafka):
    def test_consumers_share_partitions(self):
        self.make_topic(6)
        first = self.in_background()
        written = 0

        def more(number: int) -> None:
            nonlocal written
            self.produce({"id": each} for each in range(written, written + number))
            written += number

        more(2000)
        wait_until(lambda: self.count() == written)
        second = self.in_background()
        for _ in range(10):
            more(500)
            time.sleep(0.3)
        wait_until(lambda: self.count() >= written)
        done = second.stop()
        more(1000)
        wait_until(lambda: self.count() >= written)
        first.stop()
        self.assertEqual((first.error, second.error), (None, None))
        self.assertGreater(done.messages, 0)
        self.check_ids(range(written))

    def test_another_group_with_the_same_load_is_fenced(self):
        """The last one to open a partition works; the other one ends with an error."""
        self.make_topic()
        self.produce({"id": number} for number in range(100))
        load_id = {"load_id": f"shared-{self.topic}"}
        stale = self.in_background(**load_id)
        wait_until(lambda: self.count() == 100)
        result = self.consume(group="another", **load_id)
        self.assertEqual(result.messages, 0)
        self.produce({"id": number} for number in range(100, 200))
        error = stale.ends()
        self.assertIsInstance(error, pgsluice.Error)
        self.assertIn(f"another consumer has taken over partition {self.topic}/0", error.message)
        self.check_ids(range(100))
        self.consume(group="another", **load_id)
        self.check_ids(range(200))

    def test_a_topic_that_is_deleted_and_created_again(self):
        self.make_topic(2)
        self.check_created_again(self.in_background(), range(1000, 1500), partitions=2)

    def test_a_topic_that_is_created_again_with_fewer_messages(self):
        """The client cannot read on at its offset, and stops reading."""
        self.make_topic()
        self.check_created_again(self.in_background(), range(1000, 1030), removed=100)

    def test_a_topic_that_is_created_again_has_only_new_messages(self):
        self.make_topic()
        consumer = self.in_background(start="latest")
        wait_until(lambda: self.position_is_open() and self.position() == 0)
        self.check_created_again(consumer, range(1000, 1030), removed=100)

    def check_created_again(
        self, consumer: Background, ids: range, partitions: int = 1, removed: int = 0
    ) -> None:
        """Create the topic again while it is read, after some of its messages were removed."""
        self.produce({"id": number} for number in range(100))
        wait_until(lambda: self.count() == 100 or consumer.error is not None)
        self.remove_before(removed)
        self.delete_topic()
        self.make_topic(partitions)
        self.produce({"id": number} for number in ids)
        wait_until(lambda: self.count() >= 100 + len(ids) or consumer.error is not None)
        consumer.stop()
        self.assertIsNone(consumer.error)
        self.check_ids([*range(100), *ids])

    def test_messages_that_are_removed_while_a_consumer_waits(self):
        self.make_topic()
        # The client fetches few messages ahead.
        little = {"queued.min.messages": 1, "fetch.message.max.bytes": 200}
        consumer = self.in_background(skip_lost=True, flush_rows=5, config=SOON | little)
        self.produce([{"id": 0}])
        wait_until(lambda: self.count() == 1 or consumer.error is not None)
        with self.connection.transaction():
            self.connection.execute("LOCK TABLE events")
            for number in range(1, 100):
                self.produce([{"id": number}])
            self.remove_before(90)
        wait_until(lambda: self.position() == 100 or consumer.error is not None)
        consumer.stop()
        self.assertIsNone(consumer.error)
        first = int(re.search(r"offsets (\d+) to 89 are skipped", consumer.notices[0])[1])
        self.check_ids([*range(first), *range(90, 100)])

    def test_a_broker_that_hears_of_a_topic_late(self):
        """The group may assign partitions of a topic that the broker does not know yet."""
        self.make_topic(2)
        self.produce({"id": number} for number in range(100))
        asked, ask = count(1), Cluster._try_topics

        def late(cluster, names):
            return {} if next(asked) == 2 else ask(cluster, names)

        with patch.object(Cluster, "_try_topics", late):
            consumer = self.in_background()
            wait_until(lambda: self.count() == 100 or consumer.error is not None)
            consumer.stop()
        self.assertIsNone(consumer.error)
        self.check_ids(range(100))

    def test_a_topic_is_created_again_while_nobody_reads(self):
        self.make_topic()
        self.produce({"id": number} for number in range(100))
        self.consume()
        self.delete_topic()
        self.make_topic()
        self.produce({"id": number} for number in range(200, 350))
        self.consume()
        self.check_ids([*range(100), *range(200, 350)])


class Distinct(OnKafka):
    limit = 240 + EVENTS // 2000

    def test_events_with_repeated_ids(self):
        """Two consumers write overlapping ids: each distinct id is in once, without deadlocks."""
        self.connection.execute("ALTER TABLE events ADD PRIMARY KEY (id)")
        self.make_topic(4)
        draw = random.Random(5)
        ids = [number if draw.random() < 0.7 else draw.randrange(number + 1)
               for number in range(EVENTS)]  # fmt: skip
        self.produce({"id": number} for number in ids)
        query = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        before = self.connection.execute(query).fetchone()
        both = [self.in_background(on_conflict="skip", key="id", flush_rows=2000) for _ in "ab"]
        distinct = set(ids)
        wait_until(lambda: self.count() == len(distinct), self.limit - 60)
        # The ids of the last messages may all exist.
        sums = "SELECT sum(position::bigint) FROM pgsluice.load WHERE participant <> ''"
        wait_until(lambda: self.connection.execute(sums).fetchone()[0] == EVENTS)
        results = [each.stop() for each in both]
        self.assertEqual([each.error for each in both], [None, None])
        self.assertEqual(sum(result.counts.inserted for result in results), len(distinct))
        self.check_ids(distinct)
        self.assertEqual(self.connection.execute(query).fetchone(), before)


class Restarted(Topics, OwnServer):
    """The broker and PostgreSQL go away in turns."""

    limit = 300
    settings = ("fsync=off",)

    def test_the_broker_and_the_server_are_restarted(self):
        broker = Broker()
        self.addCleanup(broker.remove)
        broker.start()
        self.use(broker)
        with self.connect() as connection:
            connection.execute(TABLE)
        self.make_topic(2)
        consumer = Background(self.topic, self.url, self.options(wait="60s"))
        self.addCleanup(consumer.stop)
        written = 0
        for what in (broker.kill, self.restart, broker.stop, self.crash):
            self.produce({"id": number} for number in range(written, written + 300))
            written += 300
            time.sleep(0.3)
            what()
            if what in (broker.kill, broker.stop):
                time.sleep(1)
                broker.start()
            wait_until(lambda rows=written: self.ask("SELECT count(*) FROM events")[0] >= rows, 90)
        consumer.stop()
        self.assertIsNone(consumer.error)
        found = self.ask("SELECT count(*), count(DISTINCT id), max(id) FROM events")
        self.assertEqual(found, (written, written, written - 1))


class Unreachable(unittest.TestCase):
    def test_a_cluster_that_does_not_answer_is_waited_for(self):
        import threading

        from pgsluice.kafka import run

        from .kafka_broker import free_ports

        (port,) = free_ports(1)
        stopped, notices = threading.Event(), []

        def note(notice: str) -> None:
            notices.append(notice)
            stopped.set()

        config = {"sasl.password": "s3cret", "socket.connection.setup.timeout.ms": 1000}
        result = run(
            "any", "events", server(), group="g", bootstrap_servers=f"127.0.0.1:{port}",
            config=config, stop=stopped, on_notice=note,
        )  # fmt: skip
        self.assertEqual(result.messages, 0)
        self.assertIn(f"waiting for Kafka at 127.0.0.1:{port}", notices[0])
        self.assertNotIn("s3cret", notices[0])


if __name__ == "__main__":
    unittest.main()
