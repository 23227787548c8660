"""`plan`, `verify`, `tree`, `ledger` and `leaf`: what is looked at, and loads nothing."""

from typing import Any, Unpack

from pgsluice.data import is_used_up, of_batch, source_of
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
    """Say what `load` would do with the data, and why, from a sample of it. It loads nothing.

    `data` is what `load` takes, but nothing that is used up when it is read, as an iterator. The
    options are those of the command line: see `PlanOptions`.

    Raises `Error`, by its kinds: also that which the load would end in.
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

    `data` is what `load` takes; an iterator is read to its end. A difference is a result that is
    false, and no error. The options are those of the command line: see `VerifyOptions`.

    Raises `Error`, by its kinds, where nothing could be compared.
    """
    given, source = spec("verify", VerifyOptions, options, conninfo, table), source_of(data)
    source.check(options)
    return typed(VerifyResult, finish(begin("verify", given, source), feed=source.feed))


@signed(TreeOptions)
def tree(table: str, conninfo: str | None = None, **options: Unpack[TreeOptions]) -> Tree:
    """Return a table with its partitions, their bounds, rows and sizes.

    `depth` is how many levels below the table there are. Raises `Error`, by its kinds.
    """
    return typed(Tree, finish(begin("tree", spec("tree", TreeOptions, options, conninfo, table))))


@signed(LedgerOptions)
def ledger(
    conninfo: str | None = None,
    *,
    table: str | None = None,
    **options: Unpack[LedgerOptions],
) -> tuple[LedgerEntry, ...]:
    """Return the loads that the ledger has, the newest first: all, or those into one table.

    `ledger` is the schema in which it is kept. Raises `Error`, by its kinds.
    """
    loads = finish(begin("ledger", spec("ledger", LedgerOptions, options, conninfo, table)))
    return tuple(typed(LedgerEntry, load) for load in loads)


@signed(LedgerOptions)
def ledger_show(
    load_id: str, conninfo: str | None = None, **options: Unpack[LedgerOptions]
) -> LedgerDetails:
    """Return one load of the ledger: how its data is read, and which of its rows are in.

    Raises `Error`, by its kinds: also if there is none of this id.
    """
    given = spec("ledger_show", LedgerOptions, options, conninfo) | {"id": load_id}
    return typed(LedgerDetails, finish(begin("ledger_show", given)))


@signed(FinishOptions)
def ledger_finish(
    load_id: str, conninfo: str | None = None, **options: Unpack[FinishOptions]
) -> FinishedLoad:
    """Mark a load as finished, once the shares of all of its participants are in the table.

    `participants` is how many there must be: by default as many as `load` was given, or else any
    number. `rows_hash` is the sum of those of their `Share`, modulo 2^64, in base 16. A load that
    is finished is only compared with both.

    Raises `Error`, by its kinds: also if the load has other participants or rows. Then nothing is
    changed.
    """
    given = spec("ledger_finish", FinishOptions, options, conninfo) | {"id": load_id}
    return typed(FinishedLoad, finish(begin("ledger_finish", given)))


@signed(LeafOptions)
def leaf(
    table: str, batch: Any, conninfo: str | None = None, **options: Unpack[LeafOptions]
) -> Any:
    """Return the leaf of each row of a batch, as a dictionary-encoded array of strings.

    `batch` is an object with Arrow data, as a table of pyarrow or a frame of polars. The array is
    one of pyarrow where that is installed, else an object with `__arrow_c_array__`. A row that no
    partition takes has NULL. The options are those of the command line: see `LeafOptions`.

    Raises `Error`, by its kinds: also for a row whose leaf only the server can find.
    """
    refuse_relation(
        "leaf", batch, "To count the rows of each leaf, use pgsluice.plan(..., full=True)."
    )
    given = spec("leaf", LeafOptions, options, conninfo, table)
    running = begin("leaf", given, of_batch(batch))
    wait(running)
    array = raw(running)
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
    except ImportError:
        return array
    return pa.array(array)
