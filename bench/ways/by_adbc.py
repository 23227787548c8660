"""ADBC's `adbc_ingest` of an Arrow table: one COPY BINARY into the root."""

import adbc_driver_postgresql
import pyarrow
from adbc_driver_postgresql import dbapi

from bench.ways import Target

VERSION = f"adbc-driver-postgresql {adbc_driver_postgresql.__version__}"


def ready(table: pyarrow.Table) -> pyarrow.Table:
    """Return the table unchanged."""
    return table


def load(table: pyarrow.Table, to: Target) -> None:
    """Load in one transaction."""
    with dbapi.connect(to.url) as connection:
        with connection.cursor() as cursor:
            cursor.adbc_ingest(to.name, table, mode="append", db_schema_name=to.schema)
        connection.commit()
