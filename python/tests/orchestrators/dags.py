"""DAGs whose tasks fail, crash and are mapped. The tests run it as a program: `dags.py DAG`.

TABLE has columns `id bigint` and `pad text`; Airflow's connection `shop` leads to it.
"""

import os
import signal
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, get_current_context, task
from dags_of import BEGIN, ROWS
from pgsluice.airflow import PgsluiceHook

PAD = "x" * 1000
RETRIED = {"retries": 2, "retry_delay": timedelta(0)}


def rows(stop: int, last: int = ROWS) -> Iterator[tuple[int, str]]:
    """Yield `last` rows, but fail after `stop` of them."""
    for number in range(last):
        if number == stop:
            raise OSError("the source went away")
        yield number, PAD


def is_first_try() -> bool:
    return get_current_context()["ti"].try_number == 1


with DAG("fails", start_date=BEGIN, schedule=None, default_args=RETRIED) as fails:

    @task
    def stream():
        stop = ROWS * 9 // 10 if is_first_try() else -1
        done = PgsluiceHook("shop").insert_rows("streamed", rows(stop), ["id", "pad"])
        print("ALREADY", done.rows_already_loaded)

    @task
    def whole():
        # Each try has different rows: nothing of the first try remains.
        stop = ROWS * 9 // 10 if is_first_try() else -1
        last = ROWS if is_first_try() else 10
        PgsluiceHook("shop").insert_rows("whole", rows(stop, last), commit_every=0)

    @task
    def calls():
        hook = PgsluiceHook("shop")
        hook.insert_rows("called", [] if is_first_try() else [(0, "late")])
        hook.insert_rows("called", [(1, "a"), (2, "b")])
        if is_first_try():
            raise OSError("between two loads")
        # Its return value becomes an XCom.
        return PgsluiceHook("shop").insert_rows("called", [(3, "c")])

    @task
    def mapped(number: int):
        PgsluiceHook("shop").insert_rows("mapped", [(number, "a")])
        if is_first_try():
            raise OSError("after the load")

    stream()
    whole()
    calls()
    mapped.expand(number=[10, 20, 30])


with DAG("crashes", start_date=BEGIN, schedule=None, default_args=RETRIED) as crashes:

    @task
    def load():
        marker = Path(os.environ["MARKER"])

        def crashing() -> Iterator[tuple[int, str]]:
            for number, text in rows(-1):
                if number == ROWS * 9 // 10 and not marker.exists():
                    marker.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                yield number, text

        PgsluiceHook("shop").insert_rows("crashed", crashing())

    load()


with DAG("refuses", start_date=BEGIN, schedule=None) as refuses:

    @task
    def no_table():
        PgsluiceHook("shop").insert_rows("no_such_table", [(1, "a")])

    @task
    def no_server():
        PgsluiceHook("nowhere").insert_rows("called", [(1, "a")])

    @task
    def no_file():
        PgsluiceHook("shop").bulk_load("called", "/no/such/file")

    @task
    def bad_row():
        PgsluiceHook("shop").insert_rows("called", [("one", "a")])

    for each in (no_table, no_server, no_file, bad_row):
        each()


if __name__ == "__main__":
    {"fails": fails, "crashes": crashes, "refuses": refuses}[sys.argv[1]].test(
        run_after=BEGIN, logical_date=BEGIN
    )
