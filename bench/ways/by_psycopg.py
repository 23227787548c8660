"""psycopg's `copy` of an Arrow table, in COPY BINARY, row by row as in its manual."""

import psycopg
import pyarrow
from psycopg import sql

from bench.ways import Target

VERSION = f"psycopg {psycopg.__version__}"
# COPY BINARY needs the types. All kinds of text have the same form.
TYPES = {
    pyarrow.int32(): "int4",
    pyarrow.int64(): "int8",
    pyarrow.date32(): "date",
    pyarrow.string(): "text",
    pyarrow.string_view(): "text",
}
ROWS_AT_ONCE = 1 << 16


def ready(table: pyarrow.Table) -> pyarrow.Table:
    """Return the table unchanged."""
    return table


def load(table: pyarrow.Table, to: Target) -> None:
    """Load in one transaction. Rows are converted to Python's values one batch at a time."""
    into = sql.SQL("COPY {}.{} ({}) FROM STDIN (FORMAT BINARY)").format(
        sql.Identifier(to.schema),
        sql.Identifier(to.name),
        sql.SQL(", ").join(map(sql.Identifier, table.column_names)),
    )
    with (
        psycopg.connect(to.url) as connection,
        connection.cursor() as cursor,
        cursor.copy(into) as stream,
    ):
        stream.set_types([type_of(each) for each in table.schema.types])
        for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                stream.write_row(row)


def type_of(column: pyarrow.DataType) -> str:
    """Return the server's name for the type of a column."""
    return "numeric" if pyarrow.types.is_decimal(column) else TYPES[column]
