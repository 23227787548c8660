"""`to_sql` of a pandas frame, with COPY as its method: the function in pandas' own manual."""

import csv
from collections.abc import Iterator
from io import StringIO

import pandas
import psycopg
import pyarrow
import sqlalchemy

from bench.ways import Target

VERSION = f"pandas {pandas.__version__}, SQLAlchemy {sqlalchemy.__version__}"
# The CSV of all rows at once, and their values as objects, would take many GiB.
ROWS_AT_ONCE = 100_000


def ready(table: pyarrow.Table) -> pandas.DataFrame:
    """Return the table as a frame, converted by pandas."""
    return table.to_pandas()


def load(frame: pandas.DataFrame, to: Target) -> None:
    """Load in one transaction."""
    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(to.url)
    )
    frame.to_sql(
        to.name,
        engine,
        schema=to.schema,
        if_exists="append",
        index=False,
        chunksize=ROWS_AT_ONCE,
        method=copy,
    )


def copy(table: object, connection: object, keys: list[str], rows: Iterator[tuple]) -> None:
    """Send rows as CSV."""
    with connection.connection.cursor() as cursor:
        buffer = StringIO()
        csv.writer(buffer).writerows(rows)
        columns = ", ".join(f'"{key}"' for key in keys)
        statement = f'COPY "{table.schema}"."{table.name}" ({columns}) FROM STDIN WITH CSV'
        with cursor.copy(statement) as stream:
            stream.write(buffer.getvalue())
