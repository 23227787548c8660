"""Messages of Kafka as rows and rejects, their positions, and errors that name the place."""

import json
import tempfile
import unittest
from pathlib import Path

import pgsluice
from formats.place import server

from .kafka_place import OnKafka, wait_until


class Reads(OnKafka):
    def test_messages_become_rows_once(self):
        self.make_topic(3)
        self.produce({"id": number, "body": f"é{number}"} for number in range(500))
        self.assertEqual(self.consume().messages, 500)
        self.check_ids(range(500))
        self.assertEqual(self.consume().messages, 0)
        self.produce({"id": number} for number in range(500, 700))
        result = self.consume()
        self.assertEqual((result.messages, result.counts.inserted), (200, 200))
        self.check_ids(range(700))
        query = "SELECT sum(position::int) FROM pgsluice.load WHERE participant <> ''"
        self.assertEqual(self.connection.execute(query).fetchone(), (700,))
        (load,) = pgsluice.ledger(server())
        self.assertEqual((load.id, load.rows), (f"kafka-{self.topic}", 700))

    def test_metadata_of_messages(self):
        self.connection.execute(
            "ALTER TABLE events ADD k text, ADD h jsonb, ADD at timestamptz, ADD t text,"
            ' ADD p int, ADD "offset" bigint'
        )
        self.make_topic(retention_ms="-1")
        producer = self.producer()
        producer.produce(
            self.topic, "{ }", key="schlüssel", headers=[("a", b"1"), ("b", None)], timestamp=1001
        )
        producer.produce(self.topic, '{"id": 5, "body": "x}\\n"}\n', timestamp=-1)
        producer.produce(self.topic, '{\n"id": 6,\r\n "body": "two lines"}', timestamp=2000)
        producer.flush()
        columns = {"key": "k", "headers": "h", "timestamp": "at", "topic": "t", "partition": "p"}
        result = self.consume(message_columns={**columns, "offset": "offset"})
        self.assertEqual(result.counts.inserted, 3)
        query = """SELECT k, h, extract(epoch FROM at)::float, t = %s, p, "offset", id, body
                   FROM events ORDER BY "offset" """
        rows = self.connection.execute(query, [self.topic]).fetchall()
        self.assertEqual(
            rows[0], ("schlüssel", {"a": "1", "b": None}, 1.001, True, 0, 0, None, None)
        )
        self.assertEqual(rows[1][5:], (1, 5, "x}\n"))
        self.assertEqual(rows[2][5:], (2, 6, "two lines"))

    BAD = (b"", b"nothing", b"[1]", b'{"id": 1', b'{"id": 1} {"id": 2}', b'{"id": "x"}', None,
           b'{"id": 1,}', b'{"id": 1}\n{"id": 2}', b'{"id": 99999999999999999999}', b"\xff{}",
           b'{"body": "\xff"}', b'{"id": 1, "body": "\\u0000d2026-01-01"}')  # fmt: skip

    def test_poison_messages_go_to_a_table(self):
        self.make_topic()
        values = [each for bad in self.BAD for each in (bad, {"id": 7})]
        self.produce(values, key=b"\x00\xff")
        result = self.consume(reject_table="rejects")
        self.assertEqual((result.counts.inserted, result.counts.rejected), (len(self.BAD),) * 2)
        self.assertEqual((self.count(), self.position()), (len(self.BAD), len(values)))
        query = """SELECT topic = %s, partition, "offset", key, value, sqlstate IS NOT NULL,
                          message <> '', at IS NOT NULL
                   FROM rejects ORDER BY "offset" """
        rows = self.connection.execute(query, [self.topic]).fetchall()
        expected = [
            (True, 0, 2 * number, b"\x00\xff", bad, True, True, True)
            for number, bad in enumerate(self.BAD)
        ]
        self.assertEqual(rows, expected)

    def test_a_poison_message_ends_a_run_without_a_table_for_it(self):
        for bad, reason in ((b"x", "not a JSON object"), ({"id": "x"}, "invalid input syntax")):
            with self.subTest(bad):
                self.topic += "x"
                self.make_topic()
                self.produce([{"id": 1}, bad, {"id": 2}])
                error = self.fail_to_consume()
                self.assertIsInstance(error, pgsluice.DataError)
                self.assertIn(reason, error.message)
                self.assertIn(f"at offset 1 of {self.topic}/0", error.message)
                self.assertEqual(self.count(), 0)

    def test_the_lag_is_in_the_metrics(self):
        self.make_topic()
        good = [{"id": number} for number in range(500)]
        self.produce([*good[:300], b"x", *good[300:]])
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "run.prom"

            def lag() -> int:
                name = "\npgsluice_lag_messages "
                return int(file.read_text().partition(name)[2].split()[0])

            self.fail_to_consume(flush_rows=100, metrics=file)
            committed = self.count()
            self.assertIn(committed, (100, 200, 300))
            # The last of these flushes may have been under way when the message was read.
            self.assertIn(lag(), (501 - committed, 601 - committed))
            self.consume(flush_rows=100, metrics=file, reject_table="rejects")
            self.assertEqual(lag(), 0)

    def test_a_row_without_a_partition_is_rejected(self):
        self.connection.execute(
            "DROP TABLE events; CREATE TABLE events (id bigint) PARTITION BY RANGE (id);"
            "CREATE TABLE events_0 PARTITION OF events FOR VALUES FROM (0) TO (10)"
        )
        self.make_topic()
        self.produce({"id": number} for number in (1, 11, 2))
        result = self.consume(reject_table="public.rejects")
        self.assertEqual((result.counts.inserted, result.counts.rejected), (2, 1))
        row = self.connection.execute('SELECT sqlstate, "offset" FROM rejects').fetchone()
        self.assertEqual(row, ("23514", 1))

    def test_a_name_without_a_column_ends_a_run(self):
        self.make_topic()
        self.produce([{"id": 1}, {"id": 2, "other": 1}])
        error = self.fail_to_consume(reject_table="rejects")
        self.assertIn('field "other"', error.message)
        self.consume(reject_table="rejects", ignore_extra=True)
        self.check_ids([1, 2])

    def test_tombstones_are_skipped_on_request(self):
        self.make_topic()
        self.produce([{"id": 1}, None, {"id": 2}, None])
        self.assertEqual(self.consume(tombstones="skip").counts.rejected, 0)
        self.assertEqual((self.count(), self.position()), (2, 4))

    def test_start_at_the_latest_message(self):
        self.make_topic()
        self.produce({"id": number} for number in range(5))
        self.assertEqual(self.consume(start="latest").messages, 0)
        self.produce({"id": number} for number in range(5, 8))
        self.assertEqual(self.consume(start="latest").messages, 3)
        self.check_ids(range(5, 8))

    def test_gaps_of_transactions(self):
        """Control records take offsets, and messages of aborted transactions are never seen."""
        self.make_topic()
        producer = self.producer(**{"transactional.id": self.topic})
        producer.init_transactions()
        ids = []
        for number in range(30):
            producer.begin_transaction()
            producer.produce(self.topic, json.dumps({"id": number}))
            if number % 3 == 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
                ids.append(number)
        self.assertEqual(self.consume(flush_rows=4).messages, 20)
        self.check_ids(ids)
        self.assertEqual(self.consume().messages, 0)

    def test_gaps_of_compaction(self):
        self.make_topic(
            cleanup_policy="compact",
            segment_ms="100",
            min_cleanable_dirty_ratio="0.01",
            min_compaction_lag_ms="0",
            max_compaction_lag_ms="100",
        )
        for number in range(20):
            self.produce([{"id": number}], key="same")
        self.consume(flush_rows=2)
        before = self.position()
        self.assertEqual(before, 20)
        for number in range(20, 60):
            self.produce([{"id": number}], key="same")
        # A segment is compacted once another one has begun.
        wait_until(lambda: self.compacted(before), 90)
        self.consume()
        found = self.connection.execute("SELECT max(id), count(*) FROM events").fetchone()
        self.assertEqual(found[0], 59)
        self.assertLess(found[1], 60)
        self.assertEqual(self.consume().messages, 0)

    def compacted(self, position: int) -> bool:
        """Whether messages after this position are gone; a message begins a new segment."""
        from confluent_kafka import Consumer, TopicPartition

        self.produce([{"id": 59}], key="same")
        config = {"bootstrap.servers": self.broker.address, "group.id": "look", "log_level": 0}
        consumer = Consumer(config)
        consumer.assign([TopicPartition(self.topic, 0, position)])
        first = consumer.poll(10)
        consumer.close()
        return first is not None and first.offset() > position

    def test_messages_that_were_removed_unread(self):
        self.make_topic()
        self.produce({"id": number} for number in range(10))
        self.consume()
        self.produce({"id": number} for number in range(10, 30))
        self.remove_before(25)
        error = self.fail_to_consume()
        self.assertIsInstance(error, pgsluice.InputError)
        self.assertEqual(
            error.message,
            f"15 messages of {self.topic}/0 are lost: offsets 10 to 24 were removed before they"
            " were read",
        )
        self.check_ids(range(10))
        notices: list[str] = []
        self.consume(skip_lost=True, on_notice=notices.append)
        self.check_ids([*range(10), *range(25, 30)])
        self.assertIn("15 messages", notices[0])
        self.assertEqual(self.position(), 30)

    def test_updates_over_several_partitions_need_a_newer_column(self):
        self.connection.execute("ALTER TABLE events ADD at int, ADD PRIMARY KEY (id)")
        self.make_topic(2)
        error = self.fail_to_consume(on_conflict="update")
        self.assertIn("update=NAMES", str(error))
        error = self.fail_to_consume(on_conflict="update", update="body,at")
        self.assertIsInstance(error, pgsluice.UsageError)
        self.assertIn("newer", str(error))
        self.produce([{"id": 1, "body": "new", "at": 2}], partition=0)
        self.produce([{"id": 1, "body": "old", "at": 1}, {"id": 2, "at": 1}], partition=1)
        self.consume(on_conflict="update", update="body,at", newer="at")
        rows = self.connection.execute("SELECT id, body FROM events ORDER BY id").fetchall()
        self.assertEqual(rows, [(1, "new"), (2, None)])

    def test_updates_in_the_order_of_one_partition(self):
        self.connection.execute("ALTER TABLE events ADD PRIMARY KEY (id)")
        self.make_topic(1)
        self.produce({"id": number % 7, "body": str(number)} for number in range(100))
        self.consume(on_conflict="update", update="body", flush_rows=9)
        rows = dict(self.connection.execute("SELECT id, body::int FROM events").fetchall())
        self.assertEqual(rows, {key: max(range(key, 100, 7)) for key in range(7)})


class Mistakes(OnKafka):
    def test_a_topic_that_does_not_exist(self):
        error = self.fail_to_consume()
        self.assertIn(f"topic {self.topic} does not exist", error.message)

    def test_a_table_that_does_not_exist(self):
        from pgsluice.kafka import run

        self.make_topic()
        with self.assertRaises(pgsluice.Error) as caught:
            run(self.topic, "missing", server(), **self.options(until_end=True))
        self.assertEqual(caught.exception.sqlstate, "42P01")

    def test_a_reject_table_that_does_not_exist(self):
        self.make_topic()
        self.produce([b"x"])
        error = self.fail_to_consume(reject_table="nowhere")
        self.assertEqual(error.message, 'relation "nowhere" does not exist')
        create = error.hint.removeprefix("Create it: ")
        self.connection.execute(create)
        self.assertEqual(self.consume(reject_table="nowhere").counts.rejected, 1)
        self.connection.execute("DROP TABLE nowhere")

    def test_a_mistake_does_not_take_the_load_id(self):
        self.make_topic()
        self.produce([{"id": 1}])
        self.assertIn("column ie", str(self.fail_to_consume(on_conflict="skip", key="ie")))
        self.assertEqual(self.consume().messages, 1)
        error = self.fail_to_consume(on_conflict="skip", key="id")
        self.assertIn("was opened without", error.message)

    def test_properties_that_would_break_the_promise(self):
        for name in ("enable.auto.commit", "auto.offset.reset", "group.id"):
            error = self.fail_to_consume(config={name: "true"})
            self.assertIsInstance(error, pgsluice.UsageError)
            self.assertIn(name, error.message)
        error = self.fail_to_consume(config={"no.such": "s3cret"})
        self.assertIsInstance(error, pgsluice.UsageError)
        self.assertNotIn("s3cret", str(error))

    def test_a_line_without_a_name_in_a_file_of_properties(self):
        """It may be a password, so it is not printed."""
        from pgsluice.kafka.__main__ import properties

        with tempfile.NamedTemporaryFile("w") as file:
            file.write("# secrets\nsasl.password:s3cret\n")
            file.flush()
            with self.assertRaises(pgsluice.UsageError) as caught:
                properties(Path(file.name))
        self.assertIn(f"line 2 of {file.name} has no =", caught.exception.message)
        self.assertNotIn("s3cret", str(caught.exception))

    def test_a_load_of_something_else(self):
        self.make_topic()
        self.produce([{"id": 1}])
        with pgsluice.Writer("events", server(), load_id="taken") as writer:
            writer.write([{"id": 2}], position=1)
        self.assertIn("taken", self.fail_to_consume(load_id="taken").message)


if __name__ == "__main__":
    unittest.main()
