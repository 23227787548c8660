"""The options of a write: checked on the driver, and passed to the tasks.

They have the names and meanings of `pgsluice.load`. In Spark every value is a string.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any
from urllib.parse import quote

import pgsluice
from pgsluice.errors import usage_error
from pgsluice.loading import load_for
from pgsluice.options import LedgerOptions, PlanOptions, SparkOptions, TreeOptions, spec
from pgsluice.spark.spool import DEFAULT_MEMORY, bytes_of

# The variables that name a server. Without them, a load would start an embedded server on each
# machine.
_NAMING = ("DATABASE_URL", "PGDATABASE", "PGHOST", "PGHOSTADDR", "PGPORT", "PGSERVICE", "PGUSER")
_PER_TASK = "each task of Spark commits by itself"
_FRAME = "rows come from the frame: change it there, as with select() or withColumnRenamed()"
_ONE = "a task has one connection: Spark runs as many tasks at once as the executors have cores"
# Spark also passes its own options for streams.
_OF_STREAMS = {"checkpointlocation", "queryname"}
# Options of `load`, of Spark and of its JDBC writer that are not supported, with the reasons.
_REFUSED = {
    "atomic": f"{_PER_TASK}, and all of them together cannot be one transaction",
    "batchsize": "rows are sent by COPY; memory limits what a task collects",
    "columns": _FRAME,
    "create_partitions": f"{_PER_TASK}, and several would create the same partition. "
    "Create the partitions that rows need before the job: pgsluice plan --full prints the DDL",
    "database": "the name of the option is conninfo",
    "dbname": "the name of the option is conninfo",
    "dbtable": "the name of the option is table",
    "driver": "pgsluice connects without JDBC",
    "exchange": f"{_PER_TASK}, and leaves are exchanged when all rows are there",
    "isolationlevel": "each task is one transaction of READ COMMITTED",
    "jobs": _ONE,
    "map": _FRAME,
    "no_ledger": "the ledger is what keeps a task that runs again from loading its rows again",
    "numpartitions": _ONE,
    "once": "load_id names the rows of a job",
    "path": 'a frame is written by save() without a path; the table is .option("table", ...)',
    "reject_file": "the files would be on the disks of the executors; reject_table takes the rows",
    "truncate": "Spark's tasks run again, and would remove the rows of others",
    "url": "the name of the option is conninfo, without jdbc:",
    "user": "the name of the option is username",
}


@dataclass(frozen=True)
class Target:
    """A table, its server, and the options of the load into it."""

    table: str
    conninfo: str | None = field(repr=False)
    options: Mapping[str, Any] = field(repr=False)
    names_server: bool
    """Whether the options do; otherwise the variables of each machine must."""

    @property
    def memory(self) -> int:
        """The number of bytes of rows that a task keeps in memory."""
        return bytes_of(self.options.get("memory", DEFAULT_MEMORY))

    def chosen(self, known: Any) -> dict[str, Any]:
        """Return the options that another function accepts too."""
        names = known.__annotations__
        return {name: value for name, value in self.options.items() if name in names}

    def ledger(self) -> dict[str, Any]:
        """Return the options that name the ledger."""
        return self.chosen(LedgerOptions)

    def check_server(self) -> None:
        """Refuse a load without a named server, on this machine.

        Raises `UsageError`.
        """
        if not self.names_server and not any(os.environ.get(name) for name in _NAMING):
            raise usage_error(
                "no option and no environment variable names the server on this machine",
                'Name it for driver and executors: .option("conninfo", "service=shop")',
            )

    def check_columns(self, schema: Any) -> None:
        """Refuse a table, columns or changes with which no task could load a row.

        `schema` is the Arrow schema of the rows. Raises `Error` or one of its subclasses.
        """
        # A load, even without rows, would run statement triggers and wait for max_lag.
        if (rejects := self.options.get("reject_table")) is not None:
            pgsluice.tree(rejects, self.conninfo, **self.chosen(TreeOptions))
        pgsluice.plan(schema.empty_table(), self.table, self.conninfo, **self.chosen(PlanOptions))

    def load(self, rows: Any, options: Mapping[str, Any]) -> pgsluice.LoadResult:
        """Load rows, with errors whose hints name only Spark options.

        Raises `Error` or one of its subclasses.
        """
        return load_for(SparkOptions.__annotations__, rows, self.table, self.conninfo, options)


def target_of(given: Mapping[str, str]) -> Target:
    """Return the target that Spark options name.

    Raises `UsageError` for an option that does not exist or is not supported in Spark.
    """
    options = {name: value for name, value in given.items() if name not in _OF_STREAMS}
    table, conninfo = options.pop("table", None), options.pop("conninfo", None)
    names_server = bool(conninfo) or "host" in options
    if (password := options.pop("password", None)) is not None:
        conninfo = with_password(conninfo, password)
    for name in options:
        if (reason := _REFUSED.get(name)) is not None:
            raise usage_error(f"the option {name} is not for Spark", reason)
        if name not in SparkOptions.__annotations__:
            raise _unknown(name)
    if not table:
        raise usage_error("the option table is missing", '.option("table", "public.events")')
    read = {name: _read(name, value) for name, value in options.items()}
    spec("pgsluice", SparkOptions, read, conninfo, table)
    if ("reject_table" in read) != ("max_rejects" in read):
        raise usage_error(
            "the options reject_table and max_rejects go together",
            '.option("reject_table", "bad_rows").option("max_rejects", 100)',
        )
    target = Target(table, conninfo, read, names_server)
    bytes_of(target.memory)
    return target


def with_password(conninfo: str | None, password: str) -> str:
    """Return a conninfo string or URL with a password."""
    if conninfo is not None and conninfo.startswith(("postgresql://", "postgres://")):
        return f"{conninfo}{'&' if '?' in conninfo else '?'}password={quote(password, safe='')}"
    word = f"password={_quote(password)}"
    if not conninfo:
        return word
    return f"{conninfo} {word}" if "=" in conninfo else f"dbname={_quote(conninfo)} {word}"


def _quote(value: str) -> str:
    """Return a value quoted for a conninfo string."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _unknown(name: str) -> pgsluice.Error:
    known = ["table", "conninfo", "password", *SparkOptions.__annotations__]
    squeezed = {each.replace("_", ""): each for each in known}
    near = squeezed.get(name.replace("_", "")) or next(
        iter(get_close_matches(name, known, n=1)), None
    )
    hint = f'.option("{near}", ...)' if near else f"The options are {', '.join(sorted(known))}."
    return usage_error(f'unknown option "{name}"', hint)


def _read(name: str, value: str) -> Any:
    annotation = SparkOptions.__annotations__[name]
    if annotation == int | None:
        if not value.strip().isdecimal():
            raise usage_error(
                f'the option {name} is a number, not "{value}"', f'.option("{name}", 8)'
            )
        return int(value)
    if annotation is not bool:
        return value
    word = value.strip().lower()
    if word not in ("true", "false"):
        raise usage_error(
            f'the option {name} is true or false, not "{value}"', f'.option("{name}", True)'
        )
    return word == "true"
