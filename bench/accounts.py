"""pgbench_accounts as COPY text, written as Parquet.

python -m bench.accounts SOURCE FILE

This is a separate program because the memory of the bench counts in the figures of its clients.
"""

import sys

import pyarrow
from pyarrow import csv, parquet

COLUMNS = {
    "aid": pyarrow.int32(),
    "bid": pyarrow.int32(),
    "abalance": pyarrow.int32(),
    "filler": pyarrow.string(),
}


def main(source: str, file: str) -> None:
    """Write the rows, which contain no NULL and no backslash."""
    table = csv.read_csv(
        source,
        csv.ReadOptions(column_names=list(COLUMNS)),
        csv.ParseOptions(delimiter="\t", quote_char=False),
        csv.ConvertOptions(column_types=COLUMNS),
    )
    parquet.write_table(table, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
