"""The results of `plan`, `verify`, `tree` and `ledger`, with the names that `--json` prints.

The manual's page on JSON explains each number.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pgsluice.result import Fallback, RowCounts

Action = Literal["error", "skip", "update", "delete"]


@dataclass(frozen=True, kw_only=True)
class TableReceipts:
    """The number of rows for a table."""

    table: str
    rows: int


@dataclass(frozen=True, kw_only=True)
class SelfTest:
    """Keys that the server routes to the same leaf, and the levels of partitions above it."""

    keys: int
    levels: int


@dataclass(frozen=True, kw_only=True)
class MissingPartition:
    """A partition that rows need and the table lacks, with the statements that create it."""

    table: str
    rows: int
    ddl: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class PlanResult:
    """The plan of a load."""

    table: str
    leaves: int
    columns: tuple[str, ...]
    format: str
    delimiter: str
    null: str
    notes: tuple[str, ...]
    extra_names: tuple[str, ...]
    extra_names_count: int
    wire: Literal["binary", "text"]
    jobs: int
    memory: int
    exchangeable: int | None
    change: str | None
    is_full: bool
    rows: int
    rows_routed: int
    rows_by_leaf: tuple[TableReceipts, ...]
    fallbacks: tuple[Fallback, ...]
    self_test: SelfTest | None
    missing: tuple[MissingPartition, ...]
    impossible: tuple[Fallback, ...]

    def __repr__(self) -> str:
        rows = "rows" if self.is_full else "rows of a sample"
        parts = [f"{self.rows_routed:,} of {self.rows:,} {rows} routed", f"wire {self.wire}"]
        parts += [f"fallback {each.what}: {each.why}" for each in self.fallbacks]
        parts += [f"missing {each.table}" for each in self.missing]
        parts += [f"missing and cannot be created, {each.what}" for each in self.impossible]
        return f"<PlanResult: {self.table}, {_leaves(self.leaves)}: {'; '.join(parts)}>"


@dataclass(frozen=True, kw_only=True)
class VerifiedLeaf:
    """A leaf that has rows or should have rows."""

    leaf: str
    rows: int
    checksum: str
    surplus: int
    missing: int
    misplaced: int


@dataclass(frozen=True, kw_only=True, repr=False)
class VerifyResult:
    """The result of `verify`.

    It is true if the table holds the rows of the data, each in its leaf.
    """

    table: str
    on_conflict: Action
    equal: bool
    subset: bool
    replaced: bool
    rows_input: int
    rows_table: int
    checksum_input: str
    checksum_table: str
    rows_left_out: int
    rows_unkeyed: int
    rows_missing: int
    rows_surplus: int
    rows_misplaced: int
    missing_unlocated: int
    leaves_unchecked: int
    extra_names: tuple[str, ...]
    extra_names_count: int
    leaves: tuple[VerifiedLeaf, ...]

    def __bool__(self) -> bool:
        return self.equal

    def __repr__(self) -> str:
        parts = ["equal" if self.equal else "different"]
        parts.append(f"{self.rows_input:,} rows of data, {self.rows_table:,} of {self.table}")
        differences = {
            "missing": self.rows_missing,
            "too many": self.rows_surplus,
            "in the wrong leaf": self.rows_misplaced,
        }
        parts += [f"{rows:,} {what}" for what, rows in differences.items() if rows]
        return f"<VerifyResult: {', '.join(parts)}>"


@dataclass(frozen=True, kw_only=True)
class TreeTable:
    """A table of a partition tree."""

    table: str
    parent: str | None
    level: int
    is_leaf: bool
    bound: str | None
    key: str | None
    rows_estimated: int
    is_counted: bool
    bytes: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Tree:
    """A table and its partitions, each after its parent."""

    table: str
    tables: tuple[TreeTable, ...]

    def __repr__(self) -> str:
        leaves = _leaves(sum(each.is_leaf for each in self.tables))
        rows = f"{'' if self.tables[0].is_counted else 'over '}{self.tables[0].rows_estimated:,}"
        return f"<Tree: {self.table}, {leaves}, {rows} rows estimated>"


@dataclass(frozen=True, kw_only=True)
class LedgerRun:
    """A run of a load, as it described itself."""

    user: str
    host: str
    pid: int
    program: str
    since: str
    token: str


@dataclass(frozen=True, kw_only=True, repr=False)
class LedgerEntry:
    """A load in the ledger."""

    id: str
    table: str
    state: Literal["running", "unfinished", "finished"]
    attempts: int
    begun: str
    ended: str | None
    rows: int
    sources: tuple[str, ...]
    participants: int | None
    run: LedgerRun

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<{name}: {self.id!r} into {self.table}, {self.state}, {self.rows:,} rows>"


@dataclass(frozen=True, kw_only=True)
class LedgerReceipt:
    """The committed rows of one table.

    These are the rows before `upto`, which is the number of a source and a position in it, and
    the rows in `ranges`.
    """

    table: str
    rows: int
    counts: RowCounts
    upto: tuple[int, int]
    ranges: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class LedgerDetails(LedgerEntry):
    """A load in the ledger, with all details."""

    terms: Mapping[str, str]
    counts: RowCounts
    receipts: tuple[LedgerReceipt, ...]
    position: Any
    """The position of a `Writer` that its program has stored; None for a load."""
    positions: Mapping[str, Any]
    """The positions of participants by their names, if several writers share the load."""


@dataclass(frozen=True, kw_only=True)
class FinishedLoad:
    """A finished load, with the sums of its participants."""

    load_id: str
    participants: int
    rows_read: int
    counts: RowCounts
    rows_hash: str
    already_finished: bool


def _leaves(number: int) -> str:
    return "1 leaf" if number == 1 else f"{number:,} leaves"
