"""Load data into partitioned PostgreSQL, leaf by leaf.

`load` and `aload` load tables, streams of batches, files and rows; `run` is the whole command
line, `python -m pgsluice` the program. All the work is done in Rust, by the extension module
`pgsluice._native`.
"""

from pgsluice._native import __version__, run
from pgsluice.async_loader import AsyncLoader
from pgsluice.copying import CopyResult, acopy, copy
from pgsluice.errors import (
    ConnectError,
    DataError,
    Error,
    InputError,
    InternalError,
    LoadError,
    ServerError,
    StoppedError,
    UsageError,
)
from pgsluice.loader import Loader, Receipt
from pgsluice.loading import aload, load
from pgsluice.options import CopyOptions, LoaderOptions, Options
from pgsluice.progress import Progress
from pgsluice.result import Fallback, Fate, FirstRow, Lanes, LoadResult, OfLeaf

__all__ = [
    "AsyncLoader",
    "ConnectError",
    "CopyOptions",
    "CopyResult",
    "DataError",
    "Error",
    "Fallback",
    "Fate",
    "FirstRow",
    "InputError",
    "InternalError",
    "Lanes",
    "LoadError",
    "LoadResult",
    "Loader",
    "LoaderOptions",
    "OfLeaf",
    "Options",
    "Progress",
    "Receipt",
    "ServerError",
    "StoppedError",
    "UsageError",
    "__version__",
    "acopy",
    "aload",
    "copy",
    "load",
    "run",
]
