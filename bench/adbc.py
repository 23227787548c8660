"""Load a Parquet file with Arrow's own connector: one COPY BINARY into the root.

python -m bench.adbc FILE TABLE URL
"""

import sys

import adbc_driver_postgresql
import pyarrow
from adbc_driver_postgresql import dbapi
from pyarrow import parquet

ROWS_AT_ONCE = 1 << 16


def main() -> None:
    """Load the file, or print the version."""
    if sys.argv[1:] == ["--version"]:
        print("adbc-driver-postgresql", adbc_driver_postgresql.__version__)
        return
    name, table, url = sys.argv[1:]
    with parquet.ParquetFile(name) as file, dbapi.connect(url) as connection:
        batches = file.iter_batches(ROWS_AT_ONCE)
        reader = pyarrow.RecordBatchReader.from_batches(file.schema_arrow, batches)
        schema, _, table = table.rpartition(".")
        with connection.cursor() as cursor:
            cursor.adbc_ingest(table, reader, mode="append", db_schema_name=schema or None)
        connection.commit()


if __name__ == "__main__":
    main()
