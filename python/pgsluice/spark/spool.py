"""The rows of a task, collected before its transaction begins: in memory, then in a file.

While Spark still computes rows, the server holds no snapshot and no lock for them.
"""

import os
import re
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pyarrow as pa  # type: ignore[import-untyped]

from pgsluice.errors import usage_error

DEFAULT_MEMORY = "128MB"
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_SIZE = re.compile(r"(\d+)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE | re.ASCII)
# The directory through which a file without a name can be opened again.
_DESCRIPTORS = Path("/proc/self/fd")


def bytes_of(size: int | str) -> int:
    """Return a size as a number of bytes. Its units are powers of two, as on the command line.

    Raises `UsageError` if it is not a size.
    """
    found = _SIZE.fullmatch(str(size).strip())
    if found is None:
        raise usage_error(f'invalid size for memory: "{size}"', '.option("memory", "128MB")')
    number, unit = found.groups()
    return int(number) << _UNITS[unit.lower()]


class Spool:
    """Collects record batches, with at most `memory` bytes of them in memory.

    The rest goes to an Arrow file in one of Spark's local directories, compressed with lz4. On
    Linux that file has no name and vanishes with the process, however the process ends.
    """

    def __init__(self, schema: pa.Schema, memory: int) -> None:
        self._schema = schema
        self._memory = memory
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self._open = ExitStack()
        self._file: Any = None
        self._writer: pa.RecordBatchFileWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._batches.clear()
        self._open.close()

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch. Raises OSError if the directory's disk is full."""
        self._schema = batch.schema
        if self._writer is None and self._bytes + batch.nbytes <= self._memory:
            self._bytes += batch.nbytes
            self._batches.append(batch)
            return
        if self._writer is None:
            self._writer = self._begin_file()
            for early in self._batches:
                self._writer.write_batch(early)
            self._batches.clear()
        self._writer.write_batch(batch)

    def data(self) -> pa.Table | str:
        """Return all rows, in a form that `pgsluice.load` can read more than once.

        It is a table in memory, or the path of an Arrow file.
        """
        if self._writer is None:
            return pa.Table.from_batches(self._batches, self._schema)
        self._writer.close()
        self._file.flush()
        return str(self._path())

    def _begin_file(self) -> pa.RecordBatchFileWriter:
        folder = local_directory()
        make = tempfile.TemporaryFile if _DESCRIPTORS.is_dir() else tempfile.NamedTemporaryFile
        self._file = self._open.enter_context(make(dir=folder, prefix="pgsluice-"))
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        return pa.ipc.new_file(self._file, self._schema, options=options)

    def _path(self) -> Path:
        if isinstance(self._file.name, str):
            return Path(self._file.name)
        return _DESCRIPTORS / str(self._file.fileno())


def local_directory() -> str:
    """Return one of the directories that Spark gives its tasks for temporary files."""
    folders = [each for each in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if each]
    return folders[os.getpid() % len(folders)] if folders else tempfile.gettempdir()
