"""Time the load of a Spark frame into a partitioned table, against Spark's JDBC writer.

Run it by `make bench CASE=spark`. The frame is cached before the first round. The JDBC writer has
its best settings: `reWriteBatchedInserts` and batches of 10,000 rows.
"""

import argparse
import json
import os
import subprocess
from pathlib import Path

import psycopg
from pgsluice_lab import site
from pgsluice_lab.failure import LabError
from psycopg.conninfo import conninfo_to_dict

from bench import goals
from bench.place import ROOT
from bench.rounds import Round, Rounds
from bench.writing import make

ENVIRONMENT = ROOT / ".cache" / "cluster"
SETTINGS = ("shared_buffers=2GB", "max_wal_size=16GB", "checkpoint_timeout=1h")
ROUNDS = 5
# The others are compared with the first way.
WAYS = {
    "jdbc": "Spark's JDBC writer, `reWriteBatchedInserts`, `batchsize` 10,000",
    "pgsluice": '`format("pgsluice")`',
    "by-leaf": '`repartition_by_leaf`, then `format("pgsluice")`',
}


def main(args: list[str]) -> int:
    """Measure, write the record if it is the whole benchmark, and return the exit status."""
    parser = argparse.ArgumentParser(prog="make bench CASE=spark", description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the frame")
    parser.add_argument("--leaves", type=int, default=800, help="leaves of the table")
    parser.add_argument("--partitions", type=int, default=8, help="partitions of the frame")
    parser.add_argument("--cores", type=int, default=os.cpu_count(), help="tasks at once")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of each way")
    options = parser.parse_args(args)
    with site.opened(None, None, list(SETTINGS)) as place:
        measured, programs = measure(place.url, place.env, options)
        record = Rounds.from_measured(
            "spark", place, vars(options), programs, WAYS, options.rows, measured
        )
    return goals.end(record, is_whole=not args)


def measure(
    url: str, environment: dict[str, str], options: argparse.Namespace
) -> tuple[list[Round], dict[str, str]]:
    """Run the driver, which reports when it is ready for a way and how long that took.

    The table is recreated before each way. Returns the rounds and the versions of the programs.
    """
    jar = next((ENVIRONMENT / "jars").glob("postgresql-*.jar"), None)
    if jar is None:
        raise LabError("Spark is not there", hint="make bench CASE=spark")
    server = {"password": environment.get("PGPASSWORD", ""), **conninfo_to_dict(url)}
    settings = {"server": server, "jar": str(jar), "ways": list(WAYS), **vars(options)}
    driver = subprocess.Popen(
        [ENVIRONMENT / "bin" / "python", Path(__file__).with_name("spark_driver.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={
            **os.environ,
            **environment,
            "PYTHONPATH": str(ROOT / "python"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
    )  # fmt: skip
    measured: list[Round] = []
    with driver, psycopg.connect(url, password=environment.get("PGPASSWORD")) as connection:
        connection.autocommit = True
        assert driver.stdin and driver.stdout
        driver.stdin.write(json.dumps(settings) + "\n")
        driver.stdin.flush()
        programs = json.loads(driver.stdout.readline() or "{}")
        for line in driver.stdout:
            done = Round(**json.loads(line)) if line.startswith("{") else None
            if done is not None:
                check(connection, done.way, options.rows)
                print(f"{done.way:10} {done.seconds:8.2f} s", flush=True)
                measured.append(done)
            make(connection, options.leaves)
            driver.stdin.write("go\n")
            driver.stdin.flush()
    if driver.returncode:
        raise LabError(f"the driver of Spark ended with status {driver.returncode}")
    return measured, programs


def check(connection: psycopg.Connection, way: str, rows: int) -> None:
    """Fail if a way has not stored each row once."""
    found = connection.execute("SELECT count(*), count(DISTINCT aid) FROM accounts").fetchone()
    if found != (rows, rows):
        raise LabError(f"{way} has left {found} rows, not {rows}")


def section(record: Rounds) -> str:
    """Return the ways to write a frame, in Markdown."""
    given = record.parameters
    text = (
        f"{record.rows:,} rows of `pgbench_accounts` from a cached frame of"
        f" {given['partitions']} partitions into {given['leaves']} hash leaves, by"
        f" {given['cores']} tasks at once, Spark {record.programs['Spark']}:"
    )
    return f"{text}\n\n{record.table}"
