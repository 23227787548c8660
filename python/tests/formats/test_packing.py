"""Rows in any packing of a file: pages, groups, encodings, codecs, batches."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import product
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
from pyarrow import feather, ipc, parquet

from .place import OnServer

COUNT = 1_500
COLUMNS = {
    "number": "integer",
    "word": "text",
    "share": "double precision",
    "is_so": "boolean",
    "day": "date",
    "at": "timestamptz",
    "amount": "numeric(12,2)",
    "code": "bytea",
    "many": "integer[]",
}
SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "number": pa.int32(),
        "word": pa.string(),
        "share": pa.float64(),
        "is_so": pa.bool_(),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "amount": pa.decimal128(12, 2),
        "code": pa.binary(4),
        "many": pa.list_(pa.int32()),
    }
)
START = datetime(2026, 1, 1, tzinfo=UTC)
DELTAS = {"number": "DELTA_BINARY_PACKED", "id": "DELTA_BINARY_PACKED", "is_so": "RLE"}
SPLIT = dict.fromkeys(("id", "number", "share", "code"), "BYTE_STREAM_SPLIT")

CODECS = ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]
PARQUET = [
    *(
        {"compression": codec, "data_page_version": version, "use_dictionary": dictionary}
        for codec, version, dictionary in product(CODECS, ["1.0", "2.0"], [True, False])
    ),
    {"row_group_size": 3},
    {"row_group_size": 100, "data_page_size": 64},
    {"row_group_size": COUNT - 1, "use_dictionary": ["word"], "dictionary_pagesize_limit": 20},
    {"use_dictionary": False, "column_encoding": DELTAS | {"word": "DELTA_LENGTH_BYTE_ARRAY"}},
    {"use_dictionary": False, "column_encoding": DELTAS | {"word": "DELTA_BYTE_ARRAY"}},
    {"use_dictionary": False, "column_encoding": SPLIT | {"word": "PLAIN"}},
    {"version": "1.0"},
    {"version": "2.4", "store_schema": False, "write_statistics": False},
    {"use_deprecated_int96_timestamps": True},
    {"coerce_timestamps": "ms", "allow_truncated_timestamps": False},
    {"write_page_checksum": True, "write_page_index": True},
    {"store_decimal_as_integer": True},
    {"use_compliant_nested_type": False},
]
DUCKDB = [
    "COMPRESSION uncompressed",
    "COMPRESSION snappy, PARQUET_VERSION v2",
    "COMPRESSION gzip",
    "COMPRESSION brotli",
    "COMPRESSION lz4_raw",
    "COMPRESSION zstd, COMPRESSION_LEVEL 9, PARQUET_VERSION v2",
    "ROW_GROUP_SIZE 2048, DICTIONARY_SIZE_LIMIT 1",
]
POLARS = [
    {"compression": "uncompressed", "statistics": False},
    {"compression": "snappy", "row_group_size": 77},
    {"compression": "gzip"},
    {"compression": "brotli"},
    {"compression": "lz4", "data_page_size": 100},
    {"compression": "zstd", "compression_level": 10},
]
NDJSON = ["rows.json", "rows.json.gz", "rows.json.zst"]


def rows(count: int = COUNT) -> list[tuple]:
    """Return rows that differ from their neighbours, with some NULLs."""
    return [
        (
            n * 7919 % 100_003,
            None if n % 11 == 0 else n % 100 - 50,
            None if n % 13 == 0 else f"word {n % 17}" * (n % 3),
            n / 7 - 100,
            n // 40 % 2 == 0,
            date(2026, 1, 1) + timedelta(n),
            START + timedelta(milliseconds=n * 12_345),
            None if n % 5 == 0 else Decimal(n * 37) / 100 - 400,
            n.to_bytes(4, "big"),
            None if n % 19 == 0 else [*range(n % 4)] + [None] * (n % 2),
        )
        for n in range(count)
    ]


def table(of: Iterable[tuple] | None = None) -> pa.Table:
    """Return rows as a table of pyarrow."""
    columns = zip(*(rows() if of is None else of), strict=True)
    arrays = [pa.array(values, ty) for values, ty in zip(columns, SCHEMA.types, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


def write_ipc(file: Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema, **options) -> None:
    """Write a stream or a file of Arrow, depending on the name."""
    new = ipc.new_stream if file.suffix == ".arrows" else ipc.new_file
    with new(file, schema, options=ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write(batch)


def copy_by_duckdb(rows: pa.Table, to: str) -> None:
    """Write rows by DuckDB's COPY."""
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"COPY (SELECT * FROM rows) TO {to}")


class Packing(OnServer):
    def setUp(self):
        super().setUp()
        self.make(**COLUMNS)
        self.table = table()
        self.copy(rows())
        self.expected = self.rows("copied")

    def assert_packed(self, file: Path, **how: object) -> None:
        """Load a file that has all rows."""
        with self.subTest(file=file.name, **how):
            self.empty("loaded")
            self.load_whole(file)
            self.assertTrue(self.rows("loaded") == self.expected)

    def test_parquet_of_pyarrow(self):
        file = self.folder / "rows.parquet"
        for options in PARQUET:
            parquet.write_table(self.table, file, **options)
            self.assert_packed(file, **options)

    def test_parquet_of_duckdb(self):
        file = self.folder / "rows.parquet"
        for options in DUCKDB:
            copy_by_duckdb(self.table, f"'{file}' (FORMAT parquet, {options})")
            self.assert_packed(file, options=options)

    def test_parquet_of_polars(self):
        file = self.folder / "rows.parquet"
        frame = pl.from_arrow(self.table)
        for options in POLARS:
            frame.write_parquet(file, **options)
            self.assert_packed(file, **options)

    def test_arrow_of_pyarrow(self):
        batches = self.table.to_batches(max_chunksize=999)
        for name, codec in product(["rows.arrow", "rows.arrows"], [None, "lz4", "zstd"]):
            file = self.folder / name
            write_ipc(file, batches, SCHEMA, compression=codec)
            self.assert_packed(file, compression=codec)
        feather.write_feather(self.table, self.folder / "rows.feather")
        self.assert_packed(self.folder / "rows.feather")

    def test_arrow_of_polars(self):
        frame = pl.from_arrow(self.table)
        for codec in ("uncompressed", "lz4", "zstd"):
            frame.write_ipc(self.folder / "rows.ipc", compression=codec, record_batch_size=300)
            self.assert_packed(self.folder / "rows.ipc", compression=codec)
            frame.write_ipc_stream(self.folder / "rows.arrows", compression=codec)
            self.assert_packed(self.folder / "rows.arrows", compression=codec)

    def test_slices_of_arrays(self):
        more = table(rows(7)[:3] + rows() + rows(9))
        sliced = more.combine_chunks().slice(3, COUNT)
        for name in ("rows.arrow", "rows.arrows"):
            write_ipc(self.folder / name, sliced.to_batches(), SCHEMA)
            self.assert_packed(self.folder / name)
        parquet.write_table(sliced, self.folder / "rows.parquet")
        self.assert_packed(self.folder / "rows.parquet")

    def test_dictionaries_that_grow_or_are_replaced(self):
        place = SCHEMA.get_field_index("word")

        def encoded(batch: pa.RecordBatch, before: list[str]) -> pa.RecordBatch:
            before.extend(sorted({*batch["word"].to_pylist()} - {*before, None}))
            index = {word: n for n, word in enumerate(before)} | {None: None}
            indices = pa.array([index[word] for word in batch["word"].to_pylist()], pa.int8())
            words = pa.DictionaryArray.from_arrays(indices, before)
            return batch.set_column(place, "word", words)

        grown: list[str] = []
        growing = [encoded(batch, grown) for batch in self.table.to_batches(max_chunksize=6)]
        replaced = [encoded(batch, []) for batch in self.table.to_batches(max_chunksize=500)]
        stream = self.folder / "rows.arrows"
        for deltas in (True, False):
            write_ipc(stream, growing, growing[0].schema, emit_dictionary_deltas=deltas)
            self.assert_packed(stream, deltas=deltas)
        write_ipc(stream, replaced, replaced[0].schema)
        self.assert_packed(stream, replaced=True)
        file = self.folder / "rows.arrow"
        write_ipc(file, growing, growing[0].schema, emit_dictionary_deltas=True)
        self.assert_packed(file, deltas=True)
        write_ipc(file, replaced, replaced[0].schema, unify_dictionaries=True)
        self.assert_packed(file, unified=True)

    def test_ndjson_of_duckdb(self):
        rows = self.table.set_column(8, "code", self.as_hex())
        for name in NDJSON:
            copy_by_duckdb(rows, f"'{self.folder / name}'")
            self.assert_packed(self.folder / name)

    def test_ndjson_of_polars(self):
        rows = self.table.set_column(8, "code", self.as_hex())
        pl.from_arrow(rows).write_ndjson(self.folder / "rows.ndjson")
        self.assert_packed(self.folder / "rows.ndjson")

    def as_hex(self) -> pa.Array:
        """Return the bytes in the server's input form, because JSON has no bytes."""
        return pa.array([f"\\x{code.hex()}" for code in self.table["code"].to_pylist()])

    def test_many_files(self):
        for n, batch in enumerate(self.table.to_batches(max_chunksize=499)):
            parquet.write_table(pa.Table.from_batches([batch]), self.folder / f"part-{n}.parquet")
        parquet.write_table(self.table.slice(0, 0), self.folder / "part-empty.parquet")
        self.load_whole("part-*.parquet")
        self.assert_same()

    def test_files_without_rows(self):
        self.empty("copied")
        none = self.table.slice(0, 0)
        parquet.write_table(none, self.folder / "none.parquet")
        pl.from_arrow(none).write_parquet(self.folder / "polars.parquet")
        write_ipc(self.folder / "none.arrow", [], SCHEMA)
        write_ipc(self.folder / "none.arrows", [], SCHEMA)
        write_ipc(self.folder / "empty.arrow", none.to_batches() or [*none.to_batches()], SCHEMA)
        (self.folder / "none.ndjson").touch()
        for file in sorted(self.folder.glob("*.*")):
            with self.subTest(file=file.name):
                self.load_whole(file)
                self.assert_same()

    def test_verify_finds_the_rows_in_their_leaves(self):
        parquet.write_table(self.table, self.folder / "rows.parquet", row_group_size=700)
        write_ipc(self.folder / "rows.arrow", self.table.to_batches(), SCHEMA)
        self.load_whole("rows.parquet")
        for name in ("rows.parquet", "rows.arrow"):
            done = self.run_program("verify", name, "-t", "loaded")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.connection.execute("UPDATE loaded SET number = 7 WHERE id = 7919")
        done = self.run_program("verify", "rows.parquet", "-t", "loaded")
        self.assertEqual(done.returncode, 1, done.stderr)
