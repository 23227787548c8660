"""`PgsluiceHook`: Airflow's PostgresHook, which loads rows and files with `pgsluice.load`.

The load id is derived from the task instance, so a retry loads only the missing rows.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import chain
from os import PathLike
from typing import Any, BinaryIO, Unpack

from airflow.providers.common.sql.hooks.lineage import (  # pyright: ignore[reportMissingImports]
    send_sql_hook_lineage,
)
from airflow.providers.postgres.hooks.postgres import (  # pyright: ignore[reportMissingImports]
    PostgresHook,
)
from airflow.sdk import get_current_context  # pyright: ignore[reportMissingImports]

from pgsluice.drivers import conninfo_from
from pgsluice.loading import load
from pgsluice.options import Options
from pgsluice.result import LoadResult

# Maximum number of characters of a load id.
_LONGEST = 200
# Extras that are arguments of psycopg's or psycopg2's connect(), but not libpq parameters.
_OF_DRIVERS = {
    "autocommit",
    "connection_factory",
    "context",
    "cursor_factory",
    "prepare_threshold",
    "row_factory",
}
# Number of calls of a hook in this process, by try of a task instance.
_calls: Counter[tuple[Any, int]] = Counter()


class PgsluiceHook(PostgresHook):  # type: ignore[misc]
    """A PostgresHook whose `bulk_load`, `insert_rows` and `upsert_rows` use pgsluice.

    Each call in a task is a load whose id is the same in all tries of the task: `DAG/RUN/TASK`,
    or `DAG/RUN/TASK[INDEX]` for a mapped task. From the second call of a try on, `#2`, `#3`, ...
    is appended. A retry must make the same calls in the same order. Outside of a task, each load
    has a new id.
    """

    def bulk_load(
        self, table: str, tmp_file: str | PathLike[str] | BinaryIO, **options: Unpack[Options]
    ) -> LoadResult:
        """Load a file.

        Like `PostgresHook`, it expects COPY's text format, unless `format` is given.
        `format=None` detects the format. If each try writes the file again, pass it as an open
        file: then its content must be the same in a retry. Otherwise its modification time must
        be too.

        Raises `pgsluice.InputError` if the file does not exist.
        """
        return self._load(tmp_file, table, {"format": "text", **options})

    def insert_rows(
        self,
        table: str,
        rows: Iterable[Any],
        target_fields: str | Iterable[str] | None = None,
        commit_every: int = 1000,
        replace: bool = False,
        *,
        executemany: bool = False,  # noqa: ARG002
        fast_executemany: bool = False,  # noqa: ARG002
        autocommit: bool = False,  # noqa: ARG002
        replace_index: str | Iterable[str] | None = None,
        replace_target: str | Iterable[str] | None = None,
        **options: Unpack[Options],
    ) -> LoadResult:
        """Load rows: an iterable of tuples or of dicts, or an object with Arrow data.

        `commit_every=0` loads all rows in one transaction. With any other number, pgsluice
        chooses the size of transactions. `replace` updates rows whose key exists: the key is
        `replace_index` or the primary key, and the updated columns are `replace_target` or all
        others. If there is no column to update, it skips these rows. Without rows, the ledger
        records no load.

        `executemany`, `fast_executemany` and `autocommit` have no effect.
        """
        found = _peek(rows)
        if found is None:
            # Count this call, because a later try may have rows.
            _load_id()
            return load([], table, self._conninfo(), no_ledger=True)
        given: dict[str, Any] = {}
        if commit_every == 0:
            given["atomic"] = True
        if target_fields is not None:
            target_fields = _split_names(target_fields)
            given["columns"] = self._as_sql(target_fields)
        if replace:
            given |= self._changes(target_fields, replace_index, replace_target)
        return self._load(found, table, given | options)

    def _changes(
        self,
        target_fields: list[str] | None,
        replace_index: str | Iterable[str] | None,
        replace_target: str | Iterable[str] | None,
    ) -> dict[str, Any]:
        """Return the options for `replace`, with PostgresHook's meaning."""
        key = None if replace_index is None else _split_names(replace_index)
        update = None if replace_target is None else _split_names(replace_target)
        if update is None and key and target_fields:
            update = [name for name in target_fields if name not in key]
        given = {"on_conflict": "skip" if update == [] else "update"}
        if key:
            given["key"] = self._as_sql(key)
        if update:
            given["update"] = self._as_sql(update)
        return given

    def _as_sql(self, names: Iterable[str]) -> str:
        """Return names as PostgresHook writes them into a statement."""
        return ", ".join(self.dialect.escape_word(name) for name in names)

    def _load(self, data: Any, table: str, options: dict[str, Any]) -> LoadResult:
        if not options.get("no_ledger") and options.get("load_id") is None:
            options["load_id"] = _load_id()
        done = load(data, table, self._conninfo(), **options)
        self.log.info("%s%s", done, ", already finished before" if done.already_finished else "")
        send_sql_hook_lineage(
            context=self, sql=f"COPY {table} FROM STDIN", row_count=done.rows_loaded
        )
        return done

    def _conninfo(self) -> str:
        """Return a conninfo string for the connection of `get_conn`, with the password."""
        connection = self.connection
        login, password, port = connection.login, connection.password, connection.port
        if connection.extra_dejson.get("iam", False):
            login, password, port = self.get_iam_token(connection)
        settings = {
            "host": connection.host,
            "user": login,
            "password": password,
            "dbname": self.database or connection.schema,
            "port": port,
            "options": self.options,
        }
        others = self.ignored_extra_options | _OF_DRIVERS
        extra = {key: it for key, it in connection.extra_dejson.items() if key not in others}
        return conninfo_from(settings | extra)


def _peek(rows: Iterable[Any]) -> Iterable[Any] | None:
    """Return the rows, all of them still unread, or None if there are no rows."""
    if hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
        return rows
    if isinstance(rows, Sequence):
        return rows if len(rows) else None
    items = iter(rows)
    return next((chain([first], items) for first in items), None)


def _split_names(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _load_id() -> str | None:
    """Return the load id for the next call in this try of the task, or None outside of a task."""
    try:
        task = get_current_context()["ti"]
    except RuntimeError:
        return None
    mapped = f"[{task.map_index}]" if task.map_index is not None and task.map_index >= 0 else ""
    this_try = task.id, task.try_number
    _calls[this_try] += 1
    number = f"#{_calls[this_try]}" if _calls[this_try] > 1 else ""
    return _shorten(f"{task.dag_id}/{task.run_id}/{task.task_id}{mapped}{number}")


def _shorten(name: str) -> str:
    """Return a load id for any name. The end of a long name is replaced by a hash of the name."""
    if len(name) <= _LONGEST:
        return name
    end = "~" + sha256(name.encode()).hexdigest()[:32]
    return name[: _LONGEST - len(end)] + end
