"""Common parts of all tests of Spark: one server, one cluster with one session, and a table."""

import atexit
import os
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from formats.place import server
from loads.place import Limited
from pgsluice.spark import register
from pyspark.sql import DataFrame, SparkSession

from .spark_cluster import Cluster

LEAVES = 4
# The sizes of one test run: `make cluster` runs more than `make test`.
JOBS = int(os.environ.get("JOBS") or 6)
RESTARTS = int(os.environ.get("RESTARTS") or 3)
JDBC = "org.postgresql:postgresql:42.7.14"
# The numbers of the tests' databases.
_NUMBERS = count(1)


@cache
def cluster() -> Cluster:
    """Return the cluster that all these tests share; it ends with the process."""
    started = Cluster()
    atexit.register(started.close)
    return started


@cache
def session() -> SparkSession:
    """Return the session that all these tests share."""
    spark = cluster().session(**{"spark.jars": str(jdbc_driver())})
    atexit.register(spark.stop)
    register(spark)
    return spark


def jdbc_driver() -> Path:
    """Return the jar of PostgreSQL's JDBC driver, which `make` fetches."""
    name = "postgresql-" + JDBC.rpartition(":")[2] + ".jar"
    return Path(os.environ["PGSLUICE_JARS"], name).resolve(strict=True)


class OnCluster(Limited):
    """A test with the table `events`, and an equal table `events_jdbc`."""

    limit = 600

    def setUp(self):
        self._database = self.enterContext(ExitStack())
        self.use_database()

    def use_database(self) -> None:
        """Use a new database, in place of the former one.

        An attempt at a task may outlive its job. If the next job had the same table and a new
        ledger, such an attempt would add its rows to the table.
        """
        self._database.close()
        name = f"test_{next(_NUMBERS)}"
        execute_on_server(f"CREATE DATABASE {name}")
        self._database.callback(execute_on_server, f"DROP DATABASE {name} WITH (FORCE)")
        self.url = urlsplit(server())._replace(path=f"/{name}").geturl()
        self.connection = self._database.enter_context(psycopg.connect(self.url, autocommit=True))

    def make(self, columns: str = "id bigint NOT NULL, v int, note text", key: str = "id") -> None:
        """Create both tables, with hash partitions."""
        for table in ("events", "events_jdbc"):
            self.connection.execute(f"DROP TABLE IF EXISTS {table}")
            self.connection.execute(f"CREATE TABLE {table} ({columns}) PARTITION BY HASH ({key})")
            for leaf in range(LEAVES):
                self.connection.execute(
                    f"CREATE TABLE {table}_{leaf} PARTITION OF {table}"
                    f" FOR VALUES WITH (MODULUS {LEAVES}, REMAINDER {leaf})"
                )

    def ask(self, query: str) -> tuple:
        return self.connection.execute(query).fetchone()

    def count(self, table: str = "events") -> int:
        return self.ask(f"SELECT count(*) FROM {table}")[0]

    def sums(self, table: str = "events") -> tuple:
        """Return figures that distinguish sets of rows: their number, distinct ids, and sums."""
        return self.ask(
            f"SELECT count(*), count(DISTINCT id), min(id), max(id), sum(id), sum(v),"
            f" sum(hashtext(note)::bigint) FROM {table}"
        )


def execute_on_server(statement: str) -> None:
    """Execute a statement outside of the databases of the tests."""
    with psycopg.connect(server(), autocommit=True) as connection:
        connection.execute(statement)


def frame(rows: int, partitions: int) -> DataFrame:
    """Return rows with the ids from 0 on."""
    events = session().range(0, rows, 1, partitions)
    return events.selectExpr(
        "id", "cast(id % 1009 as int) v", "repeat(concat('note ', id), 20) note"
    )


def expected(connection: psycopg.Connection, rows: int) -> tuple:
    """Return the sums of that frame, computed by the server from a series."""
    query = (
        "SELECT count(*), count(DISTINCT id), min(id), max(id), sum(id), sum(id %% 1009),"
        " sum(hashtext(repeat('note ' || id, 20))::bigint) FROM generate_series(0, %s - 1) AS id"
    )
    return connection.execute(query, (rows,)).fetchone()
