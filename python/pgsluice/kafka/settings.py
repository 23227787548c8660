"""The settings of a consumer: its topics, its table, and the options of the Kafka client."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pgsluice.errors import usage_error
from pgsluice.options import check_names

# Properties on which exactly-once storage depends, with what to use instead.
_RESERVED = {
    "group.id": "Name the group with group.",
    "enable.auto.commit": "Leave it out: the ledger has the offsets.",
    "enable.auto.offset.store": "Leave it out: the ledger has the offsets.",
    "enable.partition.eof": "Leave it out.",
    "auto.offset.reset": "Say with start where a partition without a position begins.",
    "isolation.level": "Leave it out: only committed messages are read.",
    "partition.assignment.strategy": "Leave it out: rebalances are cooperative.",
    "group.protocol": "Leave it out.",
}
_META = ("key", "headers", "timestamp", "topic", "partition", "offset")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The checked settings of `pgsluice.kafka.run`."""

    topics: tuple[str, ...]
    table: str
    conninfo: str | None
    client: Mapping[str, Any] = field(repr=False)
    """The configuration of the Kafka client, which may have secrets."""
    group: str
    start: Literal["earliest", "latest"]
    columns: Mapping[str, str]
    """The columns of what a message has beside its value: key, headers and so on."""
    reject_table: str | None
    tombstones: Literal["reject", "skip"]
    skip_lost: bool
    until_end: bool
    flush_rows: int
    flush_bytes: int
    flush_seconds: float
    on_notice: Callable[[str], object]
    options: Mapping[str, Any]
    """Options of the `Writer`."""

    @property
    def place(self) -> str:
        """The name of the cluster in messages."""
        return str(self.client["bootstrap.servers"])

    @property
    def needs_order(self) -> bool:
        """Return whether the result depends on the order of messages with the same key."""
        changes = self.options.get("on_conflict") == "update" or self.options.get("delete_when")
        return bool(changes) and not self.options.get("newer")


def client_config(
    config: Mapping[str, Any] | None, bootstrap_servers: str | None, group: str
) -> dict[str, Any]:
    """Return the configuration of the client. Refuse properties that would break exactly-once."""
    given = dict(config or {})
    for name in given:
        if name in _RESERVED:
            raise usage_error(f"config cannot set {name}", _RESERVED[name])
    if bootstrap_servers is not None:
        given["bootstrap.servers"] = bootstrap_servers
    if "metadata.broker.list" in given:
        given.setdefault("bootstrap.servers", given.pop("metadata.broker.list"))
    if not given.get("bootstrap.servers"):
        raise usage_error(
            "no Kafka cluster given",
            "Name a broker: bootstrap_servers=HOST:PORT (--bootstrap-servers HOST:PORT).",
        )
    # Notice soon that a topic was created again.
    given.setdefault("topic.metadata.refresh.interval.ms", 10_000)
    return given | {
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        # A position that the topic does not have is an error, and is never replaced by another one.
        "auto.offset.reset": "error",
        "isolation.level": "read_committed",
        "partition.assignment.strategy": "cooperative-sticky",
    }


def topic_names(topics: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of topics, at least one."""
    names = (topics,) if isinstance(topics, str) else tuple(topics)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise usage_error("no topic given", "Name at least one topic.")
    if any(name.startswith("^") for name in names):
        raise usage_error("topics cannot be a pattern", "List the topics by their names.")
    return names


def meta_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns for the other parts of messages, in a fixed order."""
    for name in columns:
        if name not in _META:
            raise usage_error(f"a message has no {name}", f"Use one of these: {', '.join(_META)}.")
    return {name: columns[name] for name in _META if name in columns}


def checked(table: str, conninfo: str | None, settings: Settings) -> Settings:
    """Refuse contradictory settings."""
    check_names("run", table, conninfo)
    if settings.start not in ("earliest", "latest"):
        raise usage_error(f"start cannot be {settings.start!r}", 'Use "earliest" or "latest".')
    if settings.tombstones not in ("reject", "skip"):
        raise usage_error(
            f"tombstones cannot be {settings.tombstones!r}", 'Use "reject" or "skip".'
        )
    if settings.options.get("no_ledger"):
        raise usage_error("positions are kept in the ledger", "Leave out no_ledger.")
    if settings.options.get("on_conflict") == "update" and not settings.options.get("update"):
        raise usage_error(
            "an update needs the names of its columns, because a message may lack some",
            "Name them: update=NAMES (--update NAMES). A name that a message lacks then sets NULL.",
        )
    if settings.flush_rows < 1 or settings.flush_bytes < 1 or settings.flush_seconds <= 0:
        raise usage_error("the limits of a flush must be positive", "Leave them out.")
    return settings
