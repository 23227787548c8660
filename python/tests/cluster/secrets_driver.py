"""A driver that writes with a password, and prints all that Spark shows: secrets_driver.py FOLDER.

The password is in the option `password` and in `conninfo`, for a frame and for a stream. Each is
written once with success and once with an error.
"""

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

from pgsluice.spark import register
from pyspark.sql import SparkSession


def main() -> None:
    folder, given = Path(sys.argv[1]), json.loads(sys.argv[2])
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", (folder / "events").as_uri())
        .config("spark.eventLog.compress", "false")
        .config("spark.sql.planChangeLog.level", "WARN")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("DEBUG")
    register(spark)
    for number, options in enumerate(given):
        write_frame(spark, options)
        write_stream(spark, options, folder / f"checkpoint-{number}")
    show_pages(spark.sparkContext.uiWebUrl)
    spark.stop()


def write_frame(spark: SparkSession, options: dict[str, str]) -> None:
    for v, more in (("1", {}), ("1", {"table": "nowhere"}), ("if(id = 5, -1, 0)", {})):
        rows = spark.range(10).selectExpr("id", f"{v} AS v", "'' AS note")
        attempt(rows.write.format("pgsluice").options(**options | more).mode("append").save)


def write_stream(spark: SparkSession, options: dict[str, str], checkpoint: Path) -> None:
    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    for v in (1, -1):
        rows = rate.selectExpr("value AS id", f"{v} AS v", "'' AS note")
        writer = rows.writeStream.format("pgsluice").options(**options)
        query = writer.option("checkpointLocation", f"{checkpoint}-{v}").start()
        attempt(lambda: query.awaitTermination(8))  # noqa: B023
        query.explain(True)
        query.stop()
        print(query.exception(), query.lastProgress, flush=True)


def attempt(what: Any) -> None:
    try:
        what()
    except Exception as error:
        print(f"attempt: {error!r} {error}", flush=True)


def show_pages(place: str) -> None:
    """Print the pages of Spark's interface that show plans and settings."""
    pages = ["SQL/", "environment/", *(f"SQL/execution/?id={number}" for number in range(6))]
    for page in pages:
        with urllib.request.urlopen(f"{place}/{page}", timeout=60) as answer:
            print(f"page: {page} {answer.read().decode()}", flush=True)


if __name__ == "__main__":
    main()
