"""`plan`, `verify`, `tree`, `ledger` and `leaf`: functions that inspect and load nothing."""

from typing import Any, Unpack

from pgsluice.data import is_used_up, source_from_batch, source_of
from pgsluice.options import (
    FinishOptions,
    LeafOptions,
    LedgerOptions,
    PlanOptions,
    TreeOptions,
    VerifyOptions,
    signed,
    spec,
)
from pgsluice.relations import refuse_relation
from pgsluice.reports import (
    FinishedLoad,
    LedgerDetails,
    LedgerEntry,
    PlanResult,
    Tree,
    VerifyResult,
)
from pgsluice.running import begin, finish, raw, wait
from pgsluice.typed import typed


@signed(PlanOptions)
def plan(
    data: Any, table: str, conninfo: str | None = None, **options: Unpack[PlanOptions]
) -> PlanResult:
    """Report how `load` would treat the data, and why, from a sample. Load nothing.

    `data` is the same as for `load`, except for data that reading consumes, such as an iterator.
    The options are those of the command line: see `PlanOptions`.

    Raises `Error` or one of its subclasses, including the error that the load would raise.
    """
    if is_used_up(data):
        raise TypeError(
            "plan cannot take an iterator or an open file: a later load would miss the rows that"
            " plan reads. Use a table, a list or a path"
        )
    given, source = spec("plan", PlanOptions, options, conninfo, table), source_of(data)
    source.check(options)
    return typed(PlanResult, finish(begin("plan", given, source), feed=source.feed))


@signed(VerifyOptions)
def verify(
    data: Any, table: str, conninfo: str | None = None, **options: Unpack[VerifyOptions]
) -> VerifyResult:
    """Compare a table with the data that it was loaded from: rows, checksums and leaves.

    `data` is the same as for `load`. An iterator is read to its end. If there is a difference,
    the result is false, and no error is raised. The options are those of the command line: see
    `VerifyOptions`.

    Raises `Error` or one of its subclasses if the comparison fails.
    """
    given, source = spec("verify", VerifyOptions, options, conninfo, table), source_of(data)
    source.check(options)
    return typed(VerifyResult, finish(begin("verify", given, source), feed=source.feed))


@signed(TreeOptions)
def tree(table: str, conninfo: str | None = None, **options: Unpack[TreeOptions]) -> Tree:
    """Return a table with its partitions, their bounds, rows and sizes.

    `depth` limits the number of levels below the table. Raises `Error` or one of its subclasses.
    """
    return typed(Tree, finish(begin("tree", spec("tree", TreeOptions, options, conninfo, table))))


@signed(LedgerOptions)
def ledger(
    conninfo: str | None = None,
    *,
    table: str | None = None,
    **options: Unpack[LedgerOptions],
) -> tuple[LedgerEntry, ...]:
    """Return the loads in the ledger, the newest first: all loads, or those into one table.

    `ledger` is the schema of the ledger. Raises `Error` or one of its subclasses.
    """
    loads = finish(begin("ledger", spec("ledger", LedgerOptions, options, conninfo, table)))
    return tuple(typed(LedgerEntry, load) for load in loads)


@signed(LedgerOptions)
def ledger_show(
    load_id: str, conninfo: str | None = None, **options: Unpack[LedgerOptions]
) -> LedgerDetails:
    """Return one load of the ledger: how its data is read, and which of its rows are committed.

    Raises `Error` or one of its subclasses, also if no load has this id.
    """
    given = spec("ledger_show", LedgerOptions, options, conninfo) | {"id": load_id}
    return typed(LedgerDetails, finish(begin("ledger_show", given)))


@signed(FinishOptions)
def ledger_finish(
    load_id: str, conninfo: str | None = None, **options: Unpack[FinishOptions]
) -> FinishedLoad:
    """Mark a load as finished, once the shares of all its participants are in the table.

    `participants` is the required number of participants. By default it is the number that was
    passed to `load`, if any, and otherwise there is no requirement. `rows_hash` is the required
    sum of the hashes in their `Share`, modulo 2^64, in hexadecimal. If the load is finished
    already, both are only compared.

    Raises `Error` or one of its subclasses, also if the load has other participants or rows. Then
    nothing changes.
    """
    given = spec("ledger_finish", FinishOptions, options, conninfo) | {"id": load_id}
    return typed(FinishedLoad, finish(begin("ledger_finish", given)))


@signed(LeafOptions)
def leaf(
    table: str, batch: Any, conninfo: str | None = None, **options: Unpack[LeafOptions]
) -> Any:
    """Return the leaf of each row of a batch, as a dictionary-encoded array of strings.

    `batch` is an object with Arrow data, such as a pyarrow table or a polars frame. The result is
    a pyarrow array if pyarrow is installed, and otherwise an object with `__arrow_c_array__`. It
    is NULL for a row that no partition accepts. The options are those of the command line: see
    `LeafOptions`.

    Raises `Error` or one of its subclasses, also for a row whose leaf only the server can find.
    """
    refuse_relation(
        "leaf", batch, "To count the rows of each leaf, use pgsluice.plan(..., full=True)."
    )
    given = spec("leaf", LeafOptions, options, conninfo, table)
    running = begin("leaf", given, source_from_batch(batch))
    wait(running)
    array = raw(running)
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
    except ImportError:
        return array
    return pa.array(array)
