"""Read a file with a library of Python and load it, as in the library's manual.

    python -m bench.correctness.library LIBRARY FILE TABLE URL --form FORM [OPTIONS]

Options of a library keep their defaults, unless a file of this form needs one.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import psycopg
import pyarrow
from psycopg import sql
from psycopg.types.json import Jsonb
from pyarrow import parquet

from bench.ways import Target

Options = argparse.Namespace


def main() -> None:
    """Load, or print the version."""
    parser = argparse.ArgumentParser(prog="library", description=__doc__.splitlines()[0])
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("file", nargs="?")
    parser.add_argument("table", nargs="?")
    parser.add_argument("url", nargs="?")
    parser.add_argument("--form", choices=("csv", "text", "ndjson", "parquet"))
    parser.add_argument("--encoding", default="utf-8")
    parser.add_argument("--load-id")
    parser.add_argument("--atomic", action="store_true")
    parser.add_argument("--version", action="store_true")
    options = parser.parse_args()
    if options.version:
        print(import_module(f"bench.ways.by_{options.library}").VERSION)
        return
    LIBRARIES[options.library](options)


def target(options: Options) -> Target:
    return Target(options.table, options.url, jobs=2, memory=512)


def by_load(options: Options) -> None:
    """Load a file by its name, and Parquet as a table in memory."""
    import pgsluice

    data: object = options.file
    given: dict[str, object] = {"jobs": 2, "load_id": options.load_id, "atomic": options.atomic}
    if options.form == "parquet":
        data = parquet.read_table(options.file)
    if options.form == "csv":
        given |= {"header": "map", "encoding": options.encoding}
    pgsluice.load(data, options.table, options.url, **given)


def by_adbc(options: Options) -> None:
    """Load files that pyarrow reads."""
    from pyarrow import csv
    from pyarrow import json as ndjson

    from bench.ways import by_adbc

    def read_csv() -> pyarrow.Table:
        return csv.read_csv(
            options.file,
            csv.ReadOptions(encoding=options.encoding),
            csv.ParseOptions(newlines_in_values=True),
        )

    readers = {
        "csv": read_csv,
        "ndjson": lambda: ndjson.read_json(options.file),
        "parquet": lambda: parquet.read_table(options.file),
    }
    by_adbc.load(readers[options.form](), target(options))


def by_polars(options: Options) -> None:
    """Load a frame of polars."""
    import polars

    from bench.ways import by_polars

    encoding = "utf8" if options.encoding == "utf-8" else options.encoding
    readers = {
        "csv": lambda: polars.read_csv(options.file, encoding=encoding, try_parse_dates=True),
        "ndjson": lambda: polars.read_ndjson(options.file),
        "parquet": lambda: polars.read_parquet(options.file),
    }
    by_polars.load(readers[options.form](), target(options))


def by_pandas(options: Options) -> None:
    """Load a frame of pandas."""
    import pandas

    from bench.ways import by_pandas

    readers = {
        "csv": lambda: pandas.read_csv(options.file, encoding=options.encoding),
        "ndjson": lambda: pandas.read_json(options.file, lines=True),
        "parquet": lambda: pandas.read_parquet(options.file),
    }
    by_pandas.load(readers[options.form](), target(options))


def by_psycopg(options: Options) -> None:
    """Send CSV and text unchanged, and other files row by row."""
    schema, _, name = options.table.rpartition(".")
    into = sql.Identifier(schema, name)
    with psycopg.connect(options.url) as connection, connection.cursor() as cursor:
        if options.form in ("csv", "text"):
            send_bytes(cursor, into, options)
        else:
            send_rows(cursor, into, options)


def send_bytes(cursor: psycopg.Cursor, into: sql.Identifier, options: Options) -> None:
    data = Path(options.file).read_bytes()
    columns, form = sql.SQL(""), sql.SQL("FORMAT text")
    if options.form == "csv":
        names = data.partition(b"\n")[0].decode("utf-8-sig").strip().split(",")
        columns = sql.SQL("({})").format(sql.SQL(", ").join(map(sql.Identifier, names)))
        form = sql.SQL("FORMAT csv, HEADER, ENCODING {}").format(options.encoding)
    statement = sql.SQL("COPY {} {} FROM STDIN ({})").format(into, columns, form)
    with cursor.copy(statement) as stream:
        for start in range(0, len(data), 1 << 16):
            stream.write(data[start : start + (1 << 16)])


def send_rows(cursor: psycopg.Cursor, into: sql.Identifier, options: Options) -> None:
    names, rows = rows_of(options)
    columns = sql.SQL(", ").join(map(sql.Identifier, names))
    with cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(into, columns)) as stream:
        for row in rows:
            stream.write_row([Jsonb(each) if isinstance(each, dict) else each for each in row])


def rows_of(options: Options) -> tuple[list[str], Iterator[tuple]]:
    """Return the columns and the rows of NDJSON or Parquet, as Python reads them."""
    if options.form == "ndjson":
        objects = [json.loads(line) for line in Path(options.file).read_text().splitlines()]
        names = list(dict.fromkeys(name for each in objects for name in each))
        return names, (tuple(each.get(name) for name in names) for each in objects)
    table = parquet.read_table(options.file)
    columns = (column.to_pylist() for column in table.columns)
    return table.column_names, zip(*columns, strict=True)


LIBRARIES: dict[str, Callable[[Options], None]] = {
    "load": by_load,
    "adbc": by_adbc,
    "polars": by_polars,
    "psycopg": by_psycopg,
    "pandas": by_pandas,
}


if __name__ == "__main__":
    main()
