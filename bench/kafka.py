"""Time events from Kafka into a partitioned table of ids, against a plain consumer.

Run it by `make bench CASE=kafka`. 30 % of the events repeat an id, and each distinct id must be in
the table once. The plain consumer sends 1,000 events at a time with `executemany` of psycopg and
`ON CONFLICT DO NOTHING`, and then commits its offsets in Kafka. After a crash it may repeat events,
which the key hides. The rounds are interleaved; the record contains each.
"""

import argparse
import json
import os
import random
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
from pgsluice_lab import site
from pgsluice_lab.failure import LabError

from bench import goals
from bench.place import ROOT
from bench.rounds import Round, Rounds

EVENTS = 1_000_000
ROUNDS = 5
LEAVES = 64
PARTITIONS = 8
REPEATED = 0.3
TOGETHER = 1000
INSERT = "INSERT INTO events VALUES (%s, %s, %s) ON CONFLICT (id) DO NOTHING"
SETTINGS = ("shared_buffers=2GB", "max_wal_size=16GB", "checkpoint_timeout=1h")
WAYS = {"psycopg": "confluent-kafka and psycopg, `executemany`", "pgsluice": "`pgsluice.kafka.run`"}


def main(args: list[str]) -> int:
    """Measure, write the record if it is the whole benchmark, and return the exit status."""
    parser = argparse.ArgumentParser(prog="make bench CASE=kafka")
    parser.add_argument("--events", type=int, default=EVENTS, help="events of a round")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of each way")
    options = parser.parse_args(args)
    with site.opened(None, None, list(SETTINGS)) as place, ExitStack() as stack:
        os.environ["PGPASSWORD"] = place.env.get("PGPASSWORD", "")
        connection = stack.enter_context(psycopg.connect(place.url, autocommit=True))
        address, version = broker(stack)
        distinct = produce(address, options.events)
        measured = [*measure(place.url, connection, address, options, distinct)]
        parameters = {**vars(options), "distinct": distinct, "leaves": LEAVES}
        parameters |= {"partitions": PARTITIONS}
        programs = {"Kafka": version}
        record = Rounds.from_measured(
            "kafka", place, parameters, programs, WAYS, options.events, measured
        )
    return goals.end(record, is_whole=not args)


def broker(stack: ExitStack) -> tuple[str, str]:
    """Start the broker of the tests; return its address and the version of Kafka."""
    sys.path.insert(0, str(ROOT / "python" / "tests"))
    from cluster.kafka_broker import JARS, Broker

    started = Broker()
    stack.callback(started.remove)
    started.start()
    jar = next(iter(JARS.glob("kafka_2.13-*.jar")))
    return started.address, jar.stem.rpartition("-")[2]


def produce(address: str, events: int) -> int:
    """Produce the events; return the number of distinct ids."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    new = NewTopic("events", num_partitions=PARTITIONS, replication_factor=1)
    admin = AdminClient({"bootstrap.servers": address})
    for future in admin.create_topics([new]).values():
        future.result()
    producer = Producer(
        {"bootstrap.servers": address, "linger.ms": 20, "queue.buffering.max.messages": 1_000_000}
    )
    draw = random.Random(3)
    ids: list[str] = []
    for number in range(events):
        if ids and draw.random() < REPEATED:
            key = draw.choice(ids)
        else:
            key = str(uuid.UUID(int=draw.getrandbits(128), version=4))
            ids.append(key)
        value = {"id": key, "at": f"2026-11-{1 + number % 28:02}T12:00:00Z", "body": f"{number:60}"}
        while True:
            try:
                producer.produce("events", json.dumps(value))
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(300):
        raise LabError("the broker has not taken all events")
    return len(ids)


def make(connection: psycopg.Connection) -> None:
    """Recreate the table."""
    connection.execute("DROP TABLE IF EXISTS events")
    connection.execute(
        "CREATE TABLE events (id uuid PRIMARY KEY, at timestamptz, body text)"
        " PARTITION BY HASH (id)"
    )
    for leaf in range(LEAVES):
        connection.execute(
            f"CREATE TABLE events_{leaf} PARTITION OF events"
            f" FOR VALUES WITH (MODULUS {LEAVES}, REMAINDER {leaf})"
        )
    connection.execute("CHECKPOINT")


def plain(url: str, address: str, group: str, events: int) -> None:
    """Consume in the usual way."""
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["events"])
    left = events
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        while left:
            messages = consumer.consume(min(TOGETHER, left), 1.0)
            rows = []
            for message in messages:
                if message.error():
                    raise LabError(message.error().str())
                value = json.loads(message.value())
                rows.append((value["id"], value["at"], value["body"]))
            if not rows:
                continue
            cursor.executemany(INSERT, rows)
            connection.commit()
            consumer.commit(asynchronous=True)
            left -= len(rows)
    consumer.close()


def own(url: str, address: str, group: str, _: int) -> None:
    from pgsluice.kafka import run

    run(
        "events", "events", url, group=group, bootstrap_servers=address, until_end=True,
        on_conflict="skip", key="id",
    )  # fmt: skip


def measure(
    url: str,
    connection: psycopg.Connection,
    address: str,
    options: argparse.Namespace,
    distinct: int,
) -> Iterator[Round]:
    """Read all events by each way in turn. Fail if the number of rows is wrong."""
    ways: dict[str, Callable[[str, str, str, int], None]] = {"psycopg": plain, "pgsluice": own}
    for number in range(options.rounds):
        for way, consume in ways.items():
            make(connection)
            began = time.perf_counter()
            consume(url, address, f"{way}-{number}", options.events)
            seconds = round(time.perf_counter() - began, 3)
            (rows,) = connection.execute("SELECT count(*) FROM events").fetchone() or (0,)
            if rows != distinct:
                raise LabError(f"{way} has left {rows} rows, not {distinct}")
            print(f"{way:10} {seconds:8.2f} s", flush=True)
            yield Round(way, seconds)


def section(record: Rounds) -> str:
    """Return the ways to read events, in Markdown."""
    given = record.parameters
    text = (
        f"{record.rows:,} events with {given['distinct']:,} ids from {given['partitions']}"
        f" partitions of a topic into {given['leaves']} hash leaves with a primary key, Kafka"
        f" {record.programs['Kafka']}:"
    )
    return f"{text}\n\n{record.table}"
