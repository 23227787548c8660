"""pgbench_accounts as COPY text, written as Parquet.

python -m bench.accounts SOURCE FILE

It is a program of its own because the bench's memory counts in what its clients report.
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
    """Write the rows, of which none has NULL or a backslash."""
    table = csv.read_csv(
        source,
        csv.ReadOptions(column_names=list(COLUMNS)),
        csv.ParseOptions(delimiter="\t", quote_char=False),
        csv.ConvertOptions(column_types=COLUMNS),
    )
    parquet.write_table(table, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
