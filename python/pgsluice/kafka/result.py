"""The result of a run."""

from dataclasses import dataclass

from pgsluice.result import RowCounts


@dataclass(frozen=True, kw_only=True)
class KafkaResult:
    """The result of one `run`."""

    messages: int
    """Messages whose rows, or rejects, were committed."""
    counts: RowCounts
    """Their outcomes."""
    flushes: int
    """The transactions."""
