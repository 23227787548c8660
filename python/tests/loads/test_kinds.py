"""Each kind of data equals COPY, with all types of its library."""

import io
import unittest
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import ip_address
from uuid import UUID

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
from formats import test_duckdb, test_polars, test_pyarrow

from .place import Loads, MemoryMatrix

ROWS = [(1, "a", Decimal("1.50")), (2, None, None), (3, 'ž "\\N', Decimal("-0.01"))]
TABLE = pa.table(
    {
        "id": pa.array([number for number, _, _ in ROWS], pa.int64()),
        "name": [name for _, name, _ in ROWS],
        "amount": [amount for _, _, amount in ROWS],
    }
)

COLUMNS = {
    "b": "boolean", "f": "double precision", "n": "numeric", "t": "text", "y": "bytea",
    "d": "date", "c": "time", "z": "timestamptz", "i": "interval", "u": "uuid",
    "a": "inet", "l": "text[]", "m": "int[]", "j": "jsonb",
}  # fmt: skip
VALUES = (
    True, float("-inf"), Decimal("1E+3"), "\t\\N\n\"',{", b"\x00\xff", date(1, 2, 3),
    time(1, 2, 3, 4), datetime(2026, 1, 2, 3, 4, 5, 6, UTC), timedelta(-1, 5, 7), UUID(int=5),
    ip_address("::1"), ["a,b", None, '"', "\\", ""], [[1, 2], [3, None]],
    {"k": [1.5, None, "x"]},
)  # fmt: skip


class Types(MemoryMatrix):
    def test_pyarrow(self):
        lines = test_pyarrow.BOTH + test_pyarrow.IPC
        self.assert_in_memory(lines, test_pyarrow.table, "binary")
        self.assert_in_memory(lines, test_pyarrow.table, "text")
        self.assert_in_memory(test_pyarrow.AS_TEXT + test_pyarrow.EXTENSIONS, test_pyarrow.table)

    def test_pyarrow_in_slices(self):
        def sliced(ids, lines):
            table = test_pyarrow.table(ids, lines)
            return iter([table.slice(at, 7) for at in range(0, len(table), 7)])

        lines = test_pyarrow.BOTH + test_pyarrow.IPC
        self.assert_in_memory(lines, sliced, "binary", least=200)

    def test_polars(self):
        lines = test_polars.ALL + test_polars.NOT_JSON
        self.assert_in_memory(lines, test_polars.frame, "binary")
        self.assert_in_memory(lines, test_polars.frame, "binary", least=500)

    def test_pandas(self):
        def frame(ids, lines):
            return test_pyarrow.table(ids, lines).to_pandas(types_mapper=pd.ArrowDtype)

        self.assert_in_memory(test_pyarrow.BOTH, frame, "binary")

    def test_duckdb(self):
        def relation(ids, lines):
            self.database = test_duckdb.connect()
            return self.database.sql(test_duckdb.select(ids, lines))

        lines = test_duckdb.ALL + test_duckdb.NOT_JSON + test_duckdb.NOT_PARQUET
        self.assert_in_memory(lines, relation, "binary")


class Kinds(Loads):
    """Equal rows, in the forms that users have."""

    def setUp(self):
        super().setUp()
        self.make(name="text", amount="numeric(8,2)")
        self.copy(ROWS)

    def assert_goes_in(self, data, **options):
        self.empty("loaded")
        done = self.put(data, **options)
        self.assertEqual(done.rows_inserted, len(ROWS))
        self.assert_same()

    def test_arrow(self):
        reader = pa.RecordBatchReader.from_batches
        frame = pd.DataFrame({"id": [1, 2, 3], "name": [row[1] for row in ROWS]})
        frame["amount"] = [row[2] for row in ROWS]
        relation = duckdb.from_arrow(TABLE)
        for data in (
            TABLE,
            TABLE.to_batches()[0],
            TABLE.to_batches(),
            TABLE.to_reader(),
            reader(TABLE.schema, iter(TABLE.to_batches(max_chunksize=1))),
            [TABLE.slice(0, 1), TABLE.slice(1)],
            (TABLE.slice(at, 1) for at in range(3)),
            TABLE.to_struct_array(),
            pl.DataFrame(TABLE),
            [pl.DataFrame(TABLE).slice(at, 1) for at in range(3)],
            frame,
            relation,
            iter([relation]),
        ):
            with self.subTest(type(data).__name__):
                self.assert_goes_in(data)

    def test_rows(self):
        self.assert_goes_in(ROWS)
        self.assert_goes_in([list(row) for row in ROWS])
        self.assert_goes_in([row[::-1] for row in ROWS], columns=["amount", "name", "id"])
        names = TABLE.column_names
        self.assert_goes_in([dict(zip(names, row, strict=True)) for row in ROWS])
        self.assert_goes_in(
            [{name: value for name, value in row.items() if value} for row in TABLE.to_pylist()]
        )

    def test_files(self):
        text = '1,a,1.50\n2,,\n3,"ž ""\\N",-0.01\n'
        file = self.folder / "rows.csv"
        file.write_text(text)
        pa.parquet.write_table(TABLE, self.folder / "rows.parquet")
        half = self.folder / "first.csv"
        half.write_text("".join(text.splitlines(keepends=True)[:2]))
        rest = self.folder / "last.csv"
        rest.write_text(text.splitlines(keepends=True)[2])
        for data in (str(file), file, [half, str(rest)], f"{self.folder}/*st.csv"):
            self.assert_goes_in(data)
        with file.open("rb") as opened:
            self.assert_goes_in(opened)
        self.assert_goes_in(io.BytesIO(text.encode()), format="csv")
        with (self.folder / "rows.parquet").open("rb") as opened:
            self.assert_goes_in(opened, format="parquet")
        self.assert_goes_in(self.folder / "rows.parquet")

    def test_nothing(self):
        self.empty("copied")
        for data in ([], iter([]), TABLE.slice(0, 0), iter([TABLE.slice(0, 0)]), io.BytesIO()):
            done = self.put(data)
            self.assertEqual(done.rows_inserted, 0)
            self.assertIn("the input has no rows", done.warnings)
        self.assert_same()

    def test_changes(self):
        """Data that may meet existing rows is read twice, streams from a file."""
        for table in ("loaded", "copied"):
            self.connection.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (id)")
        for data in (TABLE, iter(TABLE.to_batches()), pl.DataFrame(TABLE), iter([TABLE, TABLE])):
            self.connection.execute("TRUNCATE loaded; INSERT INTO loaded VALUES (2, 'old', 1)")
            done = self.put(data, on_conflict="update")
            self.assertEqual((done.counts.inserted, done.counts.updated), (2, 1))
            self.assert_same()
            self.assertEqual(sum(leaf.inserted for leaf in done.by_leaf), 2)


class Values(Loads):
    """Python's values, compared with COPY's."""

    def test_values(self):
        self.make(**COLUMNS)
        read = [*VALUES]
        read[8] = "-1 days +00:00:05.000007"
        read[-1] = '{"k": [1.5, null, "x"]}'
        none = [None] * len(read)
        self.copy([[1, *read], [2, *none]])
        self.put([(1, *VALUES), (2, *none)])
        self.assert_same()
        self.empty("loaded")
        names = ["id", *COLUMNS]
        self.put([dict(zip(names, row, strict=True)) for row in ((1, *VALUES), (2, *none))])
        self.assert_same()


if __name__ == "__main__":
    unittest.main()
