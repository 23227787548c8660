"""Load data into partitioned PostgreSQL, leaf by leaf.

`load` and `aload` load tables, streams of batches, files and rows. `plan`, `verify`, `tree` and
`ledger` look, and load nothing. `run` is the whole command line, `python -m pgsluice` the program.
All the work is done in Rust, by the extension module `pgsluice._native`.
"""

from pgsluice._native import __version__, run
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
from pgsluice.inspecting import leaf, ledger, ledger_show, plan, tree, verify
from pgsluice.loading import aload, load
from pgsluice.options import (
    ConnectionOptions,
    LeafOptions,
    LedgerOptions,
    Options,
    PlanOptions,
    TreeOptions,
    VerifyOptions,
)
from pgsluice.progress import Progress
from pgsluice.reports import (
    LedgerDetails,
    LedgerEntry,
    LedgerReceipt,
    LedgerRun,
    MissingPartition,
    OfTable,
    PlanResult,
    SelfTest,
    Tree,
    TreeTable,
    VerifiedLeaf,
    VerifyResult,
)
from pgsluice.result import Fallback, Fate, FirstRow, Lanes, LoadResult, OfLeaf

__all__ = [
    "ConnectError",
    "ConnectionOptions",
    "DataError",
    "Error",
    "Fallback",
    "Fate",
    "FirstRow",
    "InputError",
    "InternalError",
    "Lanes",
    "LeafOptions",
    "LedgerDetails",
    "LedgerEntry",
    "LedgerOptions",
    "LedgerReceipt",
    "LedgerRun",
    "LoadError",
    "LoadResult",
    "MissingPartition",
    "OfLeaf",
    "OfTable",
    "Options",
    "PlanOptions",
    "PlanResult",
    "Progress",
    "SelfTest",
    "ServerError",
    "StoppedError",
    "Tree",
    "TreeOptions",
    "TreeTable",
    "UsageError",
    "VerifiedLeaf",
    "VerifyOptions",
    "VerifyResult",
    "__version__",
    "aload",
    "leaf",
    "ledger",
    "ledger_show",
    "load",
    "plan",
    "run",
    "tree",
    "verify",
]
