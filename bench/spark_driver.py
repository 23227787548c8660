"""The driver of the benchmark: it writes a cached frame in each way, on request.

It reads its settings, and then a line before each way. It prints the version of Spark, a line when
it is ready, and after each way a line with its seconds.
"""

import json
import sys
import time

import pyspark
from pgsluice.spark import register, repartition_by_leaf
from pyspark.sql import DataFrame, SparkSession

BATCH = 10_000


def main() -> None:
    settings = json.loads(sys.stdin.readline())
    spark = session(settings)
    register(spark)
    frame = accounts(spark, settings["rows"], settings["partitions"]).cache()
    frame.count()
    print(json.dumps({"Spark": pyspark.__version__}), flush=True)
    print("ready", flush=True)
    for _ in range(settings["rounds"]):
        for way in settings["ways"]:
            sys.stdin.readline()
            began = time.perf_counter()
            WAYS[way](frame, settings)
            done = {"way": way, "seconds": round(time.perf_counter() - began, 3)}
            print(json.dumps(done), flush=True)
    sys.stdin.readline()
    spark.stop()


def session(settings: dict) -> SparkSession:
    builder = SparkSession.builder.master(f"local[{settings['cores']}]")
    builder = builder.config("spark.driver.memory", "4g").config("spark.ui.enabled", False)
    builder = builder.config("spark.log.level", "ERROR")
    builder = builder.config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.ui.showConsoleProgress", False)
    return builder.config("spark.jars", settings["jar"]).getOrCreate()


def accounts(spark: SparkSession, rows: int, partitions: int) -> DataFrame:
    """Return the rows of pgbench_accounts, in the order of their ids."""
    return spark.range(1, rows + 1, 1, partitions).selectExpr(
        "id as aid",
        "cast((id - 1) div 100000 + 1 as int) as bid",
        "0 as abalance",
        "repeat(' ', 84) as filler",
    )


def jdbc(frame: DataFrame, settings: dict) -> None:
    server = settings["server"]
    url = f"jdbc:postgresql://{server['host']}:{server['port']}/{server['dbname']}"
    writer = frame.write.format("jdbc").mode("append").option("dbtable", "accounts")
    writer = writer.option("url", f"{url}?reWriteBatchedInserts=true")
    writer = writer.option("batchsize", BATCH).option("driver", "org.postgresql.Driver")
    writer.option("user", server["user"]).option("password", server["password"]).save()


def pgsluice(frame: DataFrame, settings: dict) -> None:
    writer = frame.write.format("pgsluice").mode("append").option("table", "accounts")
    writer.option("conninfo", conninfo(settings)).save()


def by_leaf(frame: DataFrame, settings: dict) -> None:
    partitions = settings["partitions"]
    pgsluice(repartition_by_leaf(frame, "accounts", conninfo(settings), partitions), settings)


def conninfo(settings: dict) -> str:
    # No value of the embedded server needs quotes.
    return " ".join(f"{name}={value}" for name, value in settings["server"].items() if value)


WAYS = {"jdbc": jdbc, "pgsluice": pgsluice, "by-leaf": by_leaf}

if __name__ == "__main__":
    main()
