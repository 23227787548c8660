"""The work of a task: collect its rows, and load them in one transaction under its number."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import TaskContext  # type: ignore[import-not-found]
from pyspark.sql.datasource import WriterCommitMessage  # type: ignore[import-not-found]

import pgsluice
from pgsluice.spark.spool import Spool
from pgsluice.spark.target import Target


@dataclass(frozen=True)
class Share(WriterCommitMessage):  # type: ignore[misc]
    """The message of a task to the driver: its rows are in the table.

    `rows_hash` does not depend on their order. The driver adds up the hashes of all tasks.
    """

    load_id: str
    participant: str
    rows_hash: str


def write_share(
    target: Target, load_id: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> Share:
    """Load the rows of this task's partition, and return the message to the driver.

    If another attempt has loaded the same partition, nothing is loaded.

    Raises `Error` or one of its subclasses, also if the other attempt had other rows.
    """
    participant = str(context().partitionId())
    try:
        target.check_server()
        with Spool(schema, target.memory) as spool:
            for batch in batches:
                spool.add(batch)
            done = _load(target, load_id, participant, spool.data())
    except pgsluice.Error as error:
        error.add_note(f"pgsluice: partition {participant} of load {load_id!r}")
        raise
    return Share(load_id, participant, done.share.rows_hash)


def context() -> Any:
    """Return the context of the task that runs in this process."""
    found = TaskContext.get()
    if found is None:
        raise RuntimeError("a share of a load is written by a task of Spark only")
    return found


def _load(target: Target, load_id: str, participant: str, rows: Any) -> Any:
    options = {**target.options, "load_id": load_id, "memory": target.memory}
    if isinstance(rows, str):
        options["format"] = "arrow"
    options["participant"] = participant
    return target.load(rows, options)
