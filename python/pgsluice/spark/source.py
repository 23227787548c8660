"""The data source: the methods that Spark calls on the driver, and the writers in the tasks."""

import logging
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import SparkSession, datasource  # type: ignore[import-not-found]
from pyspark.sql.pandas.types import to_arrow_schema  # type: ignore[import-not-found]
from pyspark.sql.types import StructType  # type: ignore[import-not-found]

import pgsluice
from pgsluice.errors import usage_error
from pgsluice.spark.share import Share, context, write_share
from pgsluice.spark.target import Target, target_of

# Spark 4.0 does not have this class, so its streams are refused.
_STREAMS = "DataSourceStreamArrowWriter"
_StreamWriter: Any = getattr(datasource, _STREAMS, object)
_log = logging.getLogger("pgsluice.spark")
_QUERY = "sql.streaming.queryId"
_BATCH = "streaming.sql.batchId"
# The modulus of sums of row hashes.
_HASHES = 1 << 64


def register(spark: SparkSession) -> None:
    """Register `format("pgsluice")` with a session."""
    spark.dataSource.register(PgsluiceSource)


class PgsluiceSource(datasource.DataSource):  # type: ignore[misc]
    """The format `pgsluice`, to which frames and streams can be appended."""

    @classmethod
    def name(cls) -> str:
        return "pgsluice"

    def schema(self) -> Any:
        raise usage_error(
            "the format pgsluice is written, not read",
            'spark.read.format("jdbc").option("url", "jdbc:postgresql:...").load()',
        )

    def writer(self, schema: StructType, overwrite: bool) -> "BatchWriter":
        """Return the writer of a frame. Called on the driver, once for each job.

        Raises `Error` or one of its subclasses, before a task runs.
        """
        target, arrow = self._target(schema, overwrite)
        load_id = target.options.get("load_id")
        if load_id is None:
            load_id = f"spark-{uuid.uuid4()}"
        _log.info("pgsluice: load %s into %s", load_id, target.table)
        return BatchWriter(target, arrow, load_id)

    def streamWriter(self, schema: StructType, overwrite: bool) -> "StreamWriter":  # noqa: N802
        """Return the writer of a stream. Called on the driver, also for each commit.

        Raises `Error` or one of its subclasses, before a task runs.
        """
        if not hasattr(datasource, _STREAMS):
            raise usage_error("streams need Spark 4.1 or later", "pip install 'pyspark>=4.1'")
        target, arrow = self._target(schema, overwrite)
        if "load_id" in target.options:
            raise usage_error(
                "the option load_id is not for streams",
                "A stream's loads are named by its query and its batches.",
            )
        return StreamWriter(target, arrow)

    def _target(self, schema: StructType, overwrite: bool) -> tuple[Target, pa.Schema]:
        if overwrite:
            raise usage_error(
                "the format pgsluice appends rows, and cannot overwrite a table",
                '.mode("append"), or .outputMode("append") for a stream',
            )
        target = target_of(self.options)
        target.check_server()
        arrow = to_arrow_schema(schema, timezone="UTC")
        target.check_columns(arrow)
        return target, arrow


@dataclass(frozen=True)
class BatchWriter(datasource.DataSourceArrowWriter):  # type: ignore[misc]
    """The writer of a frame. It is pickled on the driver, so all attempts share its load id."""

    target: Target
    arrow: pa.Schema
    load_id: str

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Share:
        """Load the rows of a partition. Called in a task."""
        return write_share(self.target, self.load_id, self.arrow, iterator)

    def commit(self, messages: Sequence[Any]) -> None:
        """Mark the load as finished if the ledger has exactly these partitions.

        Called on the driver.
        """
        _finish(self.target, self.load_id, messages)

    def abort(self, messages: Sequence[Any]) -> None:
        """Report how to finish the job. Called on the driver. Nothing is undone."""
        done = sum(message is not None for message in messages)
        _log.warning(
            "pgsluice: the job of load %s into %s has failed; committed tasks known to Spark: %d."
            ' To load the rest: fix the cause, and run the same job, with the same rows, with'
            ' .option("load_id", "%s")',
            self.load_id, self.target.table, done, self.load_id,
        )  # fmt: skip


@dataclass(frozen=True)
class StreamWriter(_StreamWriter):  # type: ignore[misc]
    """The writer of a stream. Each micro-batch of a query is a separate load."""

    target: Target
    arrow: pa.Schema

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Share:
        """Load the rows of a partition of a micro-batch. Called in a task."""
        task = context()
        query, batch = (task.getLocalProperty(name) for name in (_QUERY, _BATCH))
        if not query or not batch:
            raise RuntimeError("Spark names no query and batch for this task")
        return write_share(self.target, f"{query}/{batch}", self.arrow, iterator)

    def commit(self, messages: Sequence[Any], batchId: int) -> None:  # noqa: N803
        """Mark the load of a micro-batch as finished. Called on the driver."""
        ids = {message.load_id for message in messages if isinstance(message, Share)}
        if len(ids) != 1:
            raise RuntimeError(f"the tasks of micro-batch {batchId} name {len(ids)} loads, not 1")
        _finish(self.target, ids.pop(), messages)

    def abort(self, messages: Sequence[Any], batchId: int) -> None:  # noqa: N803
        """Report how to finish the micro-batch. Called on the driver. Nothing is undone."""
        done = sum(message is not None for message in messages)
        _log.warning(
            "pgsluice: micro-batch %d into %s is not finished; committed tasks known to Spark: %d."
            " To load the rest: start the query again from its checkpoint",
            batchId, self.target.table, done,
        )  # fmt: skip


def _finish(target: Target, load_id: str, messages: Sequence[Any]) -> None:
    """Mark a load as finished, with exactly the partitions and the rows of these messages."""
    rows_hash = sum(int(message.rows_hash, 16) for message in messages) % _HASHES
    done = pgsluice.ledger_finish(
        load_id,
        target.conninfo,
        participants=len(messages),
        rows_hash=f"{rows_hash:x}",
        **target.ledger(),
    )
    _log.info("pgsluice: load %s is finished: %s", load_id, done.counts)
    if done.counts.rejected:
        _log.warning(
            "pgsluice: %d rows of load %s were rejected: see table %s",
            done.counts.rejected, load_id, target.options.get("reject_table"),
        )  # fmt: skip
