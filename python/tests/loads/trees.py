"""The oracle's trees for types, and their rows as data of Python's libraries.

COPY puts the rows of a case into its table. The stored rows are read as text, and converted to
columns of Arrow's own types, as far as these can represent the values.
"""

import tomllib
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import duckdb
import polars as pl
import psycopg
import pyarrow as pa
from psycopg import sql
from psycopg.conninfo import make_conninfo

TREES = Path(__file__).parents[3] / "tests/trees"
# Trees for single types and for several.
PATTERNS = ("hash_*", "list_*", "range_*", "boolean_*", "expression_*", "four_levels")
COLUMNS = """
    SELECT attname, format_type(atttypid, NULL), typtype FROM pg_attribute
    JOIN pg_type ON pg_type.oid = atttypid WHERE attrelid = 't'::regclass AND attnum > 0
    AND NOT attisdropped ORDER BY attnum
"""
SECONDS = "extract(hour FROM {0}) * 3600 + extract(minute FROM {0}) * 60"
# An interval as its three numbers.
PARTS = (
    "concat_ws(' ', extract(year FROM {0}) * 12 + extract(month FROM {0}), extract(day FROM {0}),"
    f" trunc(({SECONDS}) * 1000000 + extract(microseconds FROM {{0}})))"
)


class Type(NamedTuple):
    """A type of Arrow, and a function that reads its values from PostgreSQL's text."""

    type: pa.DataType | None
    read: Callable[[str], Any]


def _bits(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("\\x"))


def _interval(text: str) -> tuple[int, int, int]:
    months, days, microseconds = map(int, text.split())
    if not -(2**63) <= microseconds * 1000 < 2**63:
        raise ValueError(text)
    return (months, days, microseconds * 1000)


def _finite(text: str) -> Decimal:
    number = Decimal(text)
    # Not all libraries support more than 38 digits, and a column has one scale.
    is_finite = number.is_finite()
    if not is_finite or number.adjusted() >= 20 or number.as_tuple().exponent < -18:
        raise ValueError(text)
    return number


def _naive(text: str) -> datetime:
    return datetime.fromisoformat(text)


TYPES = {
    "smallint": Type(pa.int16(), int),
    "integer": Type(pa.int32(), int),
    "bigint": Type(pa.int64(), int),
    "oid": Type(pa.uint32(), int),
    "real": Type(pa.float32(), float),
    "double precision": Type(pa.float64(), float),
    "numeric": Type(None, _finite),
    "boolean": Type(pa.bool_(), {"true": True, "false": False}.__getitem__),
    "date": Type(pa.date32(), date.fromisoformat),
    "time without time zone": Type(pa.time64("us"), time.fromisoformat),
    "timestamp without time zone": Type(pa.timestamp("us"), _naive),
    "timestamp with time zone": Type(pa.timestamp("us", "UTC"), _naive),
    "interval": Type(pa.month_day_nano_interval(), _interval),
    "bytea": Type(pa.binary(), _bits),
    "uuid": Type(pa.uuid(), lambda text: UUID(text).bytes),
    "integer[]": Type(pa.list_(pa.int32()), lambda text: _items(text, int)),
    "text[]": Type(pa.list_(pa.string()), lambda text: _items(text, str)),
}
# Types that some libraries lack or represent differently: text replaces them.
LACKING = {
    "polars": {"interval", "uuid"},
    "pandas": {"interval", "uuid"},
    "duckdb": set(),
    "pyarrow": set(),
}


def _items(text: str, read: Callable[[str], Any]) -> list:
    if any(sign in text[1:-1] for sign in '{}"\\='):
        raise ValueError(text)
    items = text[1:-1].split(",") if text != "{}" else []
    return [None if item == "NULL" else read(item) for item in items]


class Tree:
    """A case, in its own schema or database, with its rows in the table `t`."""

    def __init__(self, folder: Path, url: str) -> None:
        case = tomllib.loads((folder / "case.toml").read_text())
        name = folder.name
        collation = case.get("database_collation")
        with psycopg.connect(url, autocommit=True) as connection:
            if collation:
                create = sql.SQL("CREATE DATABASE {} TEMPLATE template0 LC_COLLATE {} LC_CTYPE {}")
                names = (sql.Identifier(name), sql.Literal(collation), sql.Literal(collation))
                connection.execute(create.format(*names))
            else:
                connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        settings = {"TimeZone": "UTC", "DateStyle": "ISO"} | case.get("settings", {})
        self.schema = "public" if collation else name
        settings["search_path"] = self.schema
        self.url = make_conninfo(
            url,
            options=" ".join(f"-c {key}={value}" for key, value in settings.items()),
            **({"dbname": name} if collation else {}),
        )
        self.connection = psycopg.connect(self.url, autocommit=True)
        self.connection.execute("SET extra_float_digits = 1; SET bytea_output = hex")
        schema = (folder / "schema.sql").read_text().replace("@side@", self.schema)
        self.connection.execute(schema)
        self._copy(folder)
        self.columns = self.connection.execute(COLUMNS).fetchall()
        self.rows = self._rows()

    def close(self) -> None:
        self.connection.close()

    def unqualified(self, leaf: str) -> str:
        """Return the name of a leaf without the session's schema."""
        return leaf.removeprefix(f"{self.schema}.")

    def stored(self) -> list[tuple[str, str]]:
        """Return the leaf and the text of each stored row."""
        query = sql.SQL("SELECT tableoid::regclass::text, {} FROM t ORDER BY 1, 2")
        return self.connection.execute(query.format(self._row())).fetchall()

    def _row(self) -> sql.Composable:
        """Return a row as text. A column of decimals has one scale for all of them."""
        of_type = {"numeric": sql.SQL("trim_scale({})")}
        columns = [
            of_type.get(kind, sql.SQL("{}")).format(sql.Identifier(name))
            for name, kind, _ in self.columns
        ]
        return sql.SQL("ROW({})::text").format(sql.SQL(", ").join(columns))

    def data(self, library: str) -> tuple[Any, list[tuple[str, str]]]:
        """Return a library's data for the rows that it supports, with their leaves and texts."""
        columns, fits = {}, [True] * len(self.rows)
        for number, (name, kind, what) in enumerate(self.columns):
            texts = [row[2 + number] for row in self.rows]
            known = TYPES.get(kind)
            if library == "text" or known is None or kind in LACKING[library]:
                if kind == "interval":
                    texts = [row[2 + len(self.columns) + number] for row in self.rows]
                as_enum = what == "e" and library != "text"
                columns[name] = partial(_words, texts, as_enum)
                continue
            values = [_read(known.read, text) for text in texts]
            if library == "pandas":
                # That is pandas' NULL.
                values = [... if value != value else value for value in values]
            fits = [fit and value is not ... for fit, value in zip(fits, values, strict=True)]
            columns[name] = partial(_array, values, known.type)
        table = pa.table({name: make(fits) for name, make in columns.items()})
        expected = [(leaf, text) for leaf, text, *_ in compress(self.rows, fits)]
        return LIBRARIES[library](table), expected

    def _copy(self, folder: Path) -> None:
        """Load the rows."""
        query = folder / "rows.sql"
        file = next(folder.glob("rows.[ct][sx][vt]"), None)
        cursor = self.connection.cursor()
        if query.exists():
            with cursor.copy(f"COPY ({query.read_text().rstrip().rstrip(';')}) TO STDOUT") as out:
                text = b"".join(bytes(piece) for piece in out)
            options = ""
        else:
            text = file.read_bytes()
            options = " (FORMAT csv)" if file.suffix == ".csv" else ""
        with cursor.copy(f"COPY t FROM STDIN{options}") as into:
            into.write(text)

    def _rows(self) -> list[tuple]:
        """Return for each row its leaf, its text, and its fields in two spellings."""
        names = [sql.Identifier(name) for name, _, _ in self.columns]
        plain = [sql.SQL("{}::text").format(name) for name in names]
        parts = [
            sql.SQL("CASE WHEN {0} IS NOT NULL THEN " + PARTS + " END").format(name)
            if kind == "interval"
            else own
            for name, own, (_, kind, _) in zip(names, plain, self.columns, strict=True)
        ]
        query = sql.SQL("SELECT tableoid::regclass::text, {}, {} FROM t ORDER BY 1, 2")
        query = query.format(self._row(), sql.SQL(", ").join(parts + plain))
        return self.connection.execute(query).fetchall()


def _read(read: Callable[[str], Any], text: str | None) -> Any:
    """Return a value; an ellipsis stands for one that the type cannot represent."""
    try:
        return None if text is None else read(text)
    except ValueError:
        return ...


def _array(values: Sequence, kind: pa.DataType | None, fits: Sequence[bool]) -> pa.Array:
    some = [*compress(values, fits)]
    if isinstance(kind, pa.BaseExtensionType):
        return kind.wrap_array(pa.array(some, kind.storage_type))
    return pa.array(some, kind)


def _words(texts: Sequence, as_enum: bool, fits: Sequence[bool]) -> pa.Array:
    words = pa.array([*compress(texts, fits)], pa.string())
    return words.dictionary_encode() if as_enum else words


LIBRARIES: dict[str, Callable[[pa.Table], Any]] = {
    "text": lambda table: table,
    "pyarrow": lambda table: table,
    "polars": pl.DataFrame,
    "pandas": lambda table: table.to_pandas(integer_object_nulls=True),
    "duckdb": duckdb.from_arrow,
}


def cases(version: int) -> list[Path]:
    """Return the folders of the trees whose rows COPY accepts unchanged on this server."""
    found = sorted(folder for pattern in PATTERNS for folder in TREES.glob(pattern))
    return [folder for folder in found if _is_plain(folder, version)]


def _is_plain(folder: Path, version: int) -> bool:
    case = tomllib.loads((folder / "case.toml").read_text())
    only = {"about", "expect", "settings", "database_collation", "min_version"}
    return set(case) <= only and case.get("min_version", 0) <= version
