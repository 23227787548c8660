"""A data source whose tasks die: the writers of `pgsluice`, with faults at planned places.

It is imported on the executors. A plan is a file, beside which each fault leaves its own file, so
that a test can count the faults.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from pgsluice.spark import PgsluiceSource
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter

# The faults of a task: the point at which its Python process or its whole executor dies, or at
# which it is so slow that Spark starts its twin.
PHASES = ("before", "while", "after")
KINDS = ("worker", "executor")
SLOW = ("slow-before", "slow-after")
FAULTS = tuple(f"{kind}-{phase}" for kind in KINDS for phase in PHASES) + SLOW
# Seconds of a slow task; its twin is started after a second.
_SLOW = 5.0
_COPYING = """
    SELECT count(*) FROM pg_stat_progress_copy JOIN pg_stat_activity USING (pid)
    WHERE application_name = %s AND tuples_processed > 0
"""


class FaultySource(PgsluiceSource):
    """The source `pgsluice` with the option `faults`, the folder of the plan."""

    def __init__(self, options: Any) -> None:
        options = options.copy()
        self.folder = options.pop("faults")
        super().__init__(options)

    @classmethod
    def name(cls) -> str:
        return "faulty"

    def writer(self, schema: Any, overwrite: bool) -> DataSourceArrowWriter:
        return FaultyWriter(super().writer(schema, overwrite), self.folder)

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802
        return FaultyStreamWriter(super().streamWriter(schema, overwrite), self.folder)


class _Faulty:
    def __init__(self, inner: Any, folder: str) -> None:
        self.inner = inner
        self.folder = Path(folder)

    def write(self, batches: Iterator[Any]) -> Any:
        fault, done = self._next_fault()
        kind, _, phase = fault.partition("-")
        os.environ["PGAPPNAME"] = f"task {os.getpid()}"
        if phase == "before":
            happen(kind, done)
        if phase == "while":
            url = self.inner.target.conninfo
            threading.Thread(target=happen_in_copy, args=(kind, done, url), daemon=True).start()
        message = self.inner.write(batches)
        if phase == "after":
            happen(kind, done)
        return message

    def commit(self, *args: Any) -> None:
        self.inner.commit(*args)

    def abort(self, *args: Any) -> None:
        self.inner.abort(*args)

    def _next_fault(self) -> tuple[str, Path]:
        """Return the next fault of this partition that no attempt has had, or None."""
        task = TaskContext.get()
        partition = str(task.partitionId())
        (self.folder / f"{partition}.{task.taskAttemptId()}.begun").touch()
        plan = json.loads((self.folder / "plan.json").read_text())
        for number, fault in enumerate(plan.get(partition, ())):
            taken = self.folder / f"{partition}-{number}.taken"
            try:
                taken.touch(exist_ok=False)
            except FileExistsError:
                continue
            return fault, taken.with_suffix(f".{fault}.done")
        return "", Path()


class FaultyWriter(_Faulty, DataSourceArrowWriter):
    pass


class FaultyStreamWriter(_Faulty, DataSourceStreamArrowWriter):
    pass


def happen(kind: str, done: Path) -> None:
    """Cause the fault, and leave its file."""
    done.touch()
    if kind == "slow":
        time.sleep(_SLOW)
        return
    if kind == "executor":
        os.kill(executor(), signal.SIGKILL)
    os._exit(9)


def happen_in_copy(kind: str, done: Path, url: str) -> None:
    """Cause the fault as soon as the server has uncommitted rows of this process.

    A process whose executor is killed goes on: Spark has given it up, and starts another attempt.
    """
    name = os.environ["PGAPPNAME"]
    with psycopg.connect(url, application_name="fault", autocommit=True) as connection:
        while not connection.execute(_COPYING, (name,)).fetchone()[0]:
            pass
    done.touch()
    if kind == "executor":
        os.kill(executor(), signal.SIGKILL)
    else:
        os._exit(9)


def executor() -> int:
    """Return the process of the executor: the parent of the daemon that forked this one."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
