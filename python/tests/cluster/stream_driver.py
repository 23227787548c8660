"""A driver of a streaming query, which a test stops and kills: stream_driver.py SETTINGS.

A line on its standard input stops the query, and another one starts it again from its checkpoint.
It ends when the stream has no more files.
"""

import json
import os
import sys
import threading
from typing import Any

from pgsluice.spark import register
from pyspark.sql import SparkSession

PARTITIONS = 3


def main() -> None:
    settings = json.loads(sys.argv[1])
    builder = SparkSession.builder.master(settings["master"])
    for name, value in settings["spark"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    is_over = False
    while not is_over:
        query = start(spark, settings)
        print("started", flush=True)
        stopper = Stopper(query)
        query.awaitTermination()
        is_over = not stopper.has_stopped
        if stopper.has_stopped:
            print("stopped", flush=True)
            sys.stdin.readline()
    print("done", flush=True)
    spark.stop()


def start(spark: SparkSession, settings: dict[str, Any]) -> Any:
    """Start the query, or resume it from its checkpoint."""
    rows = spark.readStream.schema("id long, v int, note string").option("maxFilesPerTrigger", 1)
    rows = rows.parquet(settings["files"]).repartition(settings.get("partitions", PARTITIONS), "id")
    writer = rows.writeStream.format("pgsluice").option("table", "events")
    writer = writer.option("conninfo", settings["conninfo"]).trigger(availableNow=True)
    if "participants" in settings:
        writer = writer.option("participants", settings["participants"])
    return writer.option("checkpointLocation", settings["checkpoint"]).start()


class Stopper:
    """Stops a query when a line arrives."""

    def __init__(self, query: Any) -> None:
        self.has_stopped = False
        self._query = query
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        if not sys.stdin.readline():
            os._exit(1)  # The test is gone.
        self.has_stopped = True
        self._query.stop()


if __name__ == "__main__":
    main()
