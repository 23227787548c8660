"""`write_database` of a polars frame, with ADBC below it."""

import adbc_driver_postgresql
import polars
import pyarrow

from bench.ways import Target

VERSION = (
    f"polars {polars.__version__}, adbc-driver-postgresql {adbc_driver_postgresql.__version__}"
)


def ready(table: pyarrow.Table) -> polars.DataFrame:
    """Return the table as a frame."""
    return polars.from_arrow(table)


def load(frame: polars.DataFrame, to: Target) -> None:
    """Load in one transaction."""
    frame.write_database(to.table, to.url, engine="adbc", if_table_exists="append")
