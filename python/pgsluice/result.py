"""The results of loads and flushes. Those of loads have the names that `--json` prints."""

from dataclasses import dataclass, fields
from typing import Any, Literal, Self

from pgsluice.typed import typed


@dataclass(frozen=True, kw_only=True)
class RowCounts:
    """Row counts by outcome. Each row counts once. The manual's page on changes explains them."""

    inserted: int
    updated: int
    deleted: int
    unchanged: int
    not_newer: int
    not_found: int
    duplicate: int
    skipped: int
    dropped: int
    rejected: int


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """The rows of a flush. They are in the table, except for the rejected ones."""

    rows: int
    """Rows that were sent, or rejected; `counts` says how many."""
    rows_inserted: int
    """Rows that are new: all, unless a trigger drops some, or some were there already."""
    counts: RowCounts
    """The number of rows by outcome."""
    position: Any
    """The position after them, if the writer keeps one."""
    method: str | None
    """The statement that sent them: `arrays` or `copy`, or `conflict` or `stage` if some exist
    already; None if no row was sent."""


@dataclass(frozen=True, kw_only=True)
class LeafCounts(RowCounts):
    """Row counts of one leaf."""

    table: str


@dataclass(frozen=True, kw_only=True)
class FirstRow:
    """The elapsed time and the CPU time of this process until the first row was sent."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, kw_only=True)
class Lanes:
    """The number of rows by the way in which their leaf was found."""

    routed_natively: int
    routed_by_query: int
    routed_by_server: int


@dataclass(frozen=True, kw_only=True)
class Fallback:
    """A fallback to a slower method, its reason, and the number of rows."""

    what: str
    why: str
    rows: int


@dataclass(frozen=True, kw_only=True)
class Share:
    """The share of a load that one participant has loaded.

    `rows_hash` is the sum of the hashes of its rows modulo 2^64, in hexadecimal. It does not
    depend on their order.
    """

    participant: str
    rows_hash: str
    load_finished: bool


@dataclass(frozen=True, kw_only=True, repr=False)
class LoadResult:
    """A finished load. The manual's page on JSON explains each number."""

    load_id: str
    table: str
    rows_read: int
    on_conflict: Literal["error", "skip", "update", "delete"]
    rows_loaded: int
    rows_rejected: int
    rows_dropped: int
    rows_already_loaded: int
    rows_inserted: int
    counts: RowCounts
    by_leaf: tuple[LeafCounts, ...]
    bytes_read: int
    seconds: float
    first_row: FirstRow | None
    jobs: int
    leaves: int
    exchanged: int
    replaced: int
    partitions_created: tuple[str, ...]
    wire: Literal["binary", "text"]
    lanes: Lanes
    fallbacks: tuple[Fallback, ...]
    extra_names: tuple[str, ...]
    extra_names_count: int
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    share: Share | None
    already_finished: bool

    @classmethod
    def from_summary(cls, summary: dict[str, Any]) -> Self:
        """Return the result for the object that `--json` prints."""
        return typed(cls, summary)

    def __repr__(self) -> str:
        counts = {field.name: getattr(self.counts, field.name) for field in fields(RowCounts)}
        outcome = ", ".join(f"{rows:,} {name}" for name, rows in counts.items() if rows)
        return (
            f"<LoadResult: {outcome or 'no row'} into {self.table}"
            f" in {self.seconds:.2f} s, load_id {self.load_id!r}>"
        )
