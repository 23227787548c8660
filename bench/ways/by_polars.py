"""`write_database` of a polars frame, with ADBC below it."""

import adbc_driver_postgresql
import polars
import pyarrow
from adbc_driver_postgresql import dbapi

from bench.ways import Target

VERSION = (
    f"polars {polars.__version__}, adbc-driver-postgresql {adbc_driver_postgresql.__version__}"
)


def ready(table: pyarrow.Table) -> polars.DataFrame:
    """Return the table as a frame."""
    return polars.from_arrow(table)


def load(frame: polars.DataFrame, to: Target) -> None:
    """Load in one transaction."""
    with dbapi.connect(to.url) as connection:
        frame.write_database(to.table, connection, engine="adbc", if_table_exists="append")
        connection.commit()
