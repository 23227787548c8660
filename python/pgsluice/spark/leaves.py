"""Repartitioning of rows by leaf before they are written: each leaf in one partition of a frame."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame  # type: ignore[import-not-found]

import pgsluice
from pgsluice.errors import usage_error
from pgsluice.options import ConnectionOptions, LeafOptions, signed, spec

if TYPE_CHECKING:
    from pgsluice.reports import Tree

# Number of rows of a batch. For each batch, the table's partitions are read from the server.
_ROWS = 200_000
_SHUFFLE = "spark.sql.shuffle.partitions"


@signed(LeafOptions)
def repartition_by_leaf(
    df: DataFrame,
    table: str,
    conninfo: str | None = None,
    partitions: int | None = None,
    **options: Unpack[LeafOptions],
) -> DataFrame:
    """Return the frame with all rows of a leaf in one partition.

    The partition of a row depends only on the name of its leaf and on `partitions`, whose default
    is `spark.sql.shuffle.partitions`. Adaptive execution does not change it. Rows that no leaf
    accepts are in one partition, and the load refuses them.

    Raises `Error` or one of its subclasses. Rows whose leaf only the server can find end the job.
    """
    spec("repartition_by_leaf", LeafOptions, options, conninfo, table)
    connection = {k: v for k, v in options.items() if k in ConnectionOptions.__annotations__}
    tree = pgsluice.tree(table, conninfo, **connection)  # type: ignore[arg-type]
    keys = _key_columns(tree, df.columns)
    number = partitions or int(df.sparkSession.conf.get(_SHUFFLE, "200"))
    leaf = _leaf_function(table, conninfo, keys, options)
    return df.repartition(number, leaf(*(_column(df, name) for name in keys)))


def _key_columns(tree: "Tree", columns: Sequence[str]) -> list[str]:
    """Return the columns that partition keys name, and perhaps some others."""
    keys = [each.key for each in tree.tables if each.key is not None]
    if not keys:
        raise usage_error(
            f"table {tree.table} has no partitions",
            "df.repartition(n)",
        )
    # A deparsed identifier has its quotes doubled.
    found = [each for each in columns if any(each.replace('"', '""') in key for key in keys)]
    if not found:
        raise usage_error(
            f"the frame has no column of the partition key of {tree.table}: {keys[0]}",
            "withColumnRenamed() names columns as the table does.",
        )
    return found


def _column(df: DataFrame, name: str) -> Any:
    return df["`" + name.replace("`", "``") + "`"]


def _leaf_function(table: str, conninfo: str | None, keys: Sequence[str], options: Any) -> Any:
    """Return the Spark function from the columns of the key to the name of the leaf."""
    try:
        from pyspark.sql.functions import arrow_udf  # type: ignore[import-not-found]
    except ImportError as error:
        raise usage_error(
            "repartition_by_leaf needs Spark 4.1 or later", "pip install 'pyspark>=4.1'"
        ) from error

    # Spark derives the kind of the function from the types. A batch of several columns is a tuple.
    def leaf(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for group in _groups(batches):
            rows = pa.concat_tables(group)
            found = pgsluice.leaf(table, rows, conninfo, **options).cast(pa.string())
            start = 0
            for each in group:
                yield found.slice(start, each.num_rows)
                start += each.num_rows

    def _groups(batches: Iterator[Any]) -> Iterator[list[pa.Table]]:
        group: list[pa.Table] = []
        for batch in batches:
            arrays = batch if isinstance(batch, tuple) else (batch,)
            group.append(pa.table(list(arrays), names=list(keys)))
            if sum(each.num_rows for each in group) >= _ROWS:
                yield group
                group = []
        if group:
            yield group

    return arrow_udf(leaf, returnType="string")
