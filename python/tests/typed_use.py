"""Uses of the package that type checkers must accept or reject. It is not run."""
# pyright: reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Iterator
from typing import assert_type

import pgsluice
import pgsluice.pandas


def batches() -> Iterator[object]:
    yield object()


def takes() -> None:
    done = pgsluice.load(
        batches(), "orders", "dbname=shop", on_conflict="update", key=["id"], map={"a": "b"}
    )
    assert_type(done, pgsluice.LoadResult)
    assert_type(done.counts.updated, int)
    planned = pgsluice.plan([(1, "a")], "orders", full=True)
    assert_type(planned, pgsluice.PlanResult)
    assert_type(planned.missing, tuple[pgsluice.MissingPartition, ...])
    assert_type(pgsluice.verify("orders.csv", "orders", subset=True).equal, bool)
    assert_type(pgsluice.load("may.csv", "orders", exchange="replace").replaced, int)
    assert_type(pgsluice.tree("orders", depth=1).tables[0].bound, str | None)
    assert_type(pgsluice.ledger(table="orders"), tuple[pgsluice.LedgerEntry, ...])
    assert_type(pgsluice.ledger_finish("march", participants=3), pgsluice.FinishedLoad)
    assert_type(pgsluice.ledger_show("march", ledger="own").receipts[0].counts, pgsluice.RowCounts)
    assert_type(pgsluice.pandas.method(object(), object(), ["id"], iter([(1,)])), int)
    pgsluice.leaf("orders", object(), ignore_extra=True, wait=5.0)
    old = pgsluice.relation("public.orders_old", "dbname=archive", where="id > 7")
    assert_type(old, pgsluice.Relation)
    assert_type(pgsluice.load(old, "orders", "dbname=shop", jobs=4), pgsluice.LoadResult)
    assert_type(pgsluice.verify(old, "orders", subset=True), pgsluice.VerifyResult)
    with pgsluice.Writer("orders", durability="flush", on_reject=keeps) as writer:
        assert_type(writer.write([(1, "a")], position={"offset": 1}), pgsluice.Receipt | None)
        assert_type(writer.discard(bad_only=True), int)


def keeps(row: object, error: pgsluice.DataError) -> None:
    assert_type(row, object)
    assert_type(
        (error.row, error.batch, error.row_of_batch), tuple[int | None, int | None, int | None]
    )


async def waits() -> None:
    assert_type(await pgsluice.aload("orders.csv", "orders", header=True), pgsluice.LoadResult)
    async with pgsluice.AsyncWriter("orders") as writer:
        assert_type(await writer.flush(), pgsluice.Receipt)


def refuses() -> None:
    pgsluice.load("orders.csv", "orders", on_conflict="upsert")  # type: ignore[arg-type]
    pgsluice.load("orders.csv", "orders", once="yes")  # type: ignore[arg-type]
    pgsluice.load("orders.csv", "orders", jbos=2)  # type: ignore[call-arg]
    pgsluice.verify("orders.csv", "orders", jobs=2)  # type: ignore[call-arg]
    pgsluice.tree("orders", depth="1")  # type: ignore[arg-type]
    pgsluice.load("orders.csv", "orders", from_table="old")  # type: ignore[call-arg]
    pgsluice.relation("old", "dbname=archive", "id > 7")  # type: ignore[call-arg]
    pgsluice.relation(["old"])  # type: ignore[arg-type]
    pgsluice.load("orders.csv")  # type: ignore[call-arg]
    pgsluice.Writer("orders", on_reject="keep")  # type: ignore[arg-type]
