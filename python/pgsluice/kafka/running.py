"""`run`: read topics into a table until stopped."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Unpack

from pgsluice.errors import Error, python_error, usage_error
from pgsluice.inspecting import tree
from pgsluice.kafka.result import KafkaResult
from pgsluice.kafka.settings import (
    Settings,
    checked,
    client_config,
    meta_columns,
    topic_names,
)
from pgsluice.options import ConnectionOptions, WriterOptions
from pgsluice.result import RowCounts

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run(
    topics: str | Sequence[str],
    table: str,
    conninfo: str | None = None,
    *,
    group: str,
    bootstrap_servers: str | None = None,
    config: Mapping[str, Any] | None = None,
    start: Literal["earliest", "latest"] = "earliest",
    message_columns: Mapping[str, str] | None = None,
    reject_table: str | None = None,
    tombstones: Literal["reject", "skip"] = "reject",
    skip_lost: bool = False,
    until_end: bool = False,
    flush_rows: int = 10_000,
    flush_bytes: int = 8 << 20,
    flush_seconds: float = 1.0,
    stop: threading.Event | None = None,
    on_notice: Callable[[str], object] | None = None,
    **options: Unpack[WriterOptions],
) -> KafkaResult:
    """Write the messages of topics into a table, each exactly once, until stopped.

    Values are JSON objects, whose names are mapped to columns. `message_columns` names columns
    for other parts of a message: `key`, `headers`, `timestamp`, `topic`, `partition`, `offset`.

    Messages that arrive together are stored in one transaction, together with the offsets after
    them, under `load_id` (by default "kafka-" and the group). Consumers of one group share the
    partitions. A partition without a position starts at `start`.

    A message that does not fit the table goes to `reject_table`, in the same transaction. Without
    a reject table it ends the run. `config` has additional properties of the Kafka client, such
    as those for SASL. `skip_lost` continues after messages that the topic removed before they
    were read. `until_end` returns when all messages were read. SIGTERM, SIGINT and `stop` end the
    run cleanly.

    Raises `Error` or one of its subclasses, `InputError` for problems with Kafka.
    """
    named = {"load_id": f"kafka-{group}", **{k: v for k, v in options.items() if v is not None}}
    settings = Settings(
        topics=topic_names(topics),
        table=table,
        conninfo=conninfo,
        client=client_config(config, bootstrap_servers, group),
        group=group,
        start=start,
        columns=meta_columns(message_columns or {}),
        reject_table=reject_table,
        tombstones=tombstones,
        skip_lost=skip_lost,
        until_end=until_end,
        flush_rows=flush_rows,
        flush_bytes=flush_bytes,
        flush_seconds=flush_seconds,
        on_notice=on_notice or _print,
        options=named,
    )
    stopped = threading.Event() if stop is None else stop
    return _run(checked(table, conninfo, settings), stopped)


def _run(settings: Settings, stopped: threading.Event) -> KafkaResult:
    try:
        from pgsluice.kafka.cluster import Cluster
        from pgsluice.kafka.pump import Pump
    except ModuleNotFoundError as missing:
        if missing.name != "confluent_kafka":
            raise
        raise usage_error(
            "confluent-kafka is not installed", "Install it: pip install 'pgsluice[kafka]'"
        ) from None
    with _signals(stopped) as on_second:
        cluster = Cluster(settings, stopped)
        nothing = KafkaResult(messages=0, counts=_none(), flushes=0)
        if not cluster.connect():
            return nothing
        found = cluster.topics(settings.topics)
        if found is None:
            return nothing
        missing_topics = [name for name in settings.topics if name not in found]
        if missing_topics:
            raise python_error(
                "input",
                f"topic {missing_topics[0]} does not exist in Kafka at {settings.place}",
                "Create it, or correct its name.",
            )
        partitions = sum(topic.partitions for topic in found.values())
        if settings.needs_order and partitions > 1:
            raise usage_error(
                f"the order of messages decides what an update leaves, and {partitions} partitions"
                " have no common order",
                "Name a column that grows with each change: newer=COLUMN (--newer COLUMN).",
            )
        _check_rejects(settings)
        pump = Pump(settings, cluster, stopped)
        on_second.append(pump.interrupt)
        return pump.run()


def _check_rejects(settings: Settings) -> None:
    """Refuse a reject table that does not exist, before a message is read."""
    table = settings.reject_table
    if table is None:
        return
    names = ConnectionOptions.__annotations__
    connection: Any = {k: v for k, v in settings.options.items() if k in names}
    try:
        tree(table, settings.conninfo, **connection)
    except Error as error:
        if error.sqlstate != "42P01":
            raise
        raise python_error(
            "server",
            error.message,
            f'Create it: CREATE TABLE {table} (topic text, partition int, "offset" bigint,'
            " key bytea, value bytea, sqlstate text, message text)",
            sqlstate=error.sqlstate,
            detail="Rejected messages are to be stored there.",
        ) from None


def _none() -> RowCounts:
    return RowCounts(**dict.fromkeys(RowCounts.__annotations__, 0))


def _print(notice: str) -> None:
    print(f"pgsluice.kafka: {notice}", file=sys.stderr, flush=True)


@contextmanager
def _signals(stopped: threading.Event) -> Iterator[list[Callable[[], object]]]:
    """Set `stopped` at the first signal, and call the functions in the list at the second one."""
    on_second: list[Callable[[], object]] = []
    if threading.current_thread() is not threading.main_thread():
        yield on_second
        return

    def handle(*_: Any) -> None:
        if stopped.is_set():
            for call in on_second:
                call()
        stopped.set()

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield on_second
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
