"""Rows of a Parquet file, or of pgbench_accounts as COPY text, as Arrow IPC that is not compressed.

python -m bench.arrow_files SOURCE FILE

It is a program of its own because the bench's memory counts in what its clients report.
"""

import sys
from pathlib import Path

import pyarrow
from pyarrow import csv, ipc, parquet

ACCOUNTS = {
    "aid": pyarrow.int32(),
    "bid": pyarrow.int32(),
    "abalance": pyarrow.int32(),
    "filler": pyarrow.string(),
}


def main(source: str, file: str) -> None:
    """Write the rows in the batches in which pyarrow reads them."""
    is_parquet = Path(source).suffix == ".parquet"
    table = parquet.read_table(source) if is_parquet else accounts(source)
    with ipc.new_file(file, table.schema) as out:
        out.write_table(table)


def accounts(source: str) -> pyarrow.Table:
    """Read COPY text that has neither NULL nor backslashes."""
    return csv.read_csv(
        source,
        csv.ReadOptions(column_names=list(ACCOUNTS)),
        csv.ParseOptions(delimiter="\t", quote_char=False),
        csv.ConvertOptions(column_types=ACCOUNTS),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
