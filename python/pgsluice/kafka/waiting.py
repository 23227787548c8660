"""Messages that were polled and whose commit has not started."""

import time
from dataclasses import dataclass, field
from typing import Any

from pgsluice.kafka.messages import batch_of
from pgsluice.kafka.owned import Partition
from pgsluice.writer import Writer


@dataclass
class Waiting:
    """Rows of messages, with the rejected ones and the positions after them."""

    lines: list[bytes] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)
    """The messages of the lines."""
    rejects: list[dict[str, Any]] = field(default_factory=list)
    steps: dict[str, tuple[int | None, int]] = field(default_factory=dict)
    """By participant, the positions before and after the messages."""
    size: int = 0
    """Bytes of the messages."""
    since: float | None = None
    """When the first message came, by the monotonic clock; None if none did."""

    @property
    def messages(self) -> int:
        """The number of messages that become rows or are rejected."""
        return len(self.given) + len(self.rejects)

    def move(self, it: Partition, offset: int, size: int) -> None:
        """Advance a partition past a message of this size."""
        first, _ = self.steps.get(it.participant, (it.position, 0))
        self.steps[it.participant] = (first, offset + 1)
        it.position, it.at_end = offset + 1, False
        self.size += size
        if self.since is None:
            self.since = time.monotonic()

    def give(self, writer: Writer) -> None:
        """Pass everything to the writer."""
        batch = batch_of(self.lines, self.given)
        writer.write(batch, positions=self.steps, rejects=self.rejects)
